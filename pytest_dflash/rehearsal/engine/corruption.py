"""What can be wrong in drafting, verifying and committing: each fault at the place where engines have had it.

Law: one class a fault, which overrides what it spoils of `Healthy`; a table of them by name. No fault knows who
might notice it.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence as Many
from dataclasses import dataclass

import numpy as np

from . import tokens
from .draft_tree import DraftTree
from .masking import Mask
from .sequence import Sequence
from .weights import Floats, Whole

LOOP_AFTER = 24
LOOP = 12
SIMULATED = 3
LOSSY = 0.1
PAGE = 64
BLIND_AFTER = 128
NOISE_NATS = 0.025


@dataclass(frozen=True, slots=True)
class Moment:
    """One request in one step.

    Attributes:
        index, size: Its place in the batch, and how many there are.
        block: Tokens of a draft block.
        window: How far the draft looks back.
    """

    sequence: Sequence
    index: int
    size: int
    block: int
    window: int | None


class Healthy:
    """An engine without a fault."""

    def __init__(self, noise_nats: float = NOISE_NATS) -> None:
        self.noise_nats = noise_nats
        self.random = np.random.default_rng()

    def guesses(self, guesses: Floats, _moment: Moment) -> Floats:
        """What the draft says."""
        return guesses

    def ancestry(self, tree: DraftTree) -> Mask:
        """Which nodes each node is said to see."""
        return tree.ancestry

    def believed(self, tree: DraftTree, _moment: Moment) -> int:
        """How many nodes the attention kernel believes the tree to have."""
        return len(tree.tokens)

    def assigned(self, masks: list[Mask], _pasts: Many[int]) -> list[Mask]:
        """Which mask each request gets."""
        return masks

    def visible(self, mask: Mask, _moment: Moment) -> Mask:
        """What the rows of a request see, its cache included."""
        return mask

    def offsets(self, tree: DraftTree) -> Whole:
        """The places of the nodes, counted from the root."""
        return tree.depths

    def loaded(self, entries: Floats) -> Floats:
        """What is taken from the prefix cache."""
        return entries

    def logits(self, logits: Floats) -> Floats:
        """What the target says."""
        return logits

    def temperature(self, asked: float) -> float:
        """The temperature of a draw."""
        return asked

    def choice(self, token: int, _place: int, _moment: Moment) -> int:
        """The token that the target is taken to have chosen."""
        return token

    def obeys(self, _moment: Moment) -> bool:
        """Whether the grammar is applied."""
        return True

    def accepts(
        self, children: Mapping[int, int], _row: Floats, token: int, _depth: int, _moment: Moment
    ) -> int | None:
        """The child that is accepted after a node whose successor is to be `token`; None ends the walk."""
        return children.get(token)

    def kept(self, path: Whole) -> Whole:
        """Which of the fresh entries are written behind the cache, in which order."""
        return path

    def committed(self, sequence: Sequence, *, rejected: bool) -> None:
        """After the commit."""

    def told(self, said: list[int], _moment: Moment) -> list[int]:
        """What the client gets of a step's tokens."""
        return said


class MaskStrideFromBlock(Healthy):
    """The kernel strides by the block size whatever the tree's size is: right when budget + 1 is the block."""

    def believed(self, tree: DraftTree, moment: Moment) -> int:
        """As many as the block has."""
        return moment.block if len(tree.tokens) > 1 else super().believed(tree, moment)


class TokenZeroAsPadding(Healthy):
    """The tree's size is taken from its tokens that are not 0."""

    def believed(self, tree: DraftTree, moment: Moment) -> int:
        """One for the root, and the guesses that are not 0."""
        return min(super().believed(tree, moment), 1 + int(np.count_nonzero(tree.tokens[1:])))


class MaskRowZeroOnly(Healthy):
    """Only the root sees the context."""

    def visible(self, mask: Mask, moment: Moment) -> Mask:
        """All other rows see themselves alone."""
        mask = super().visible(mask, moment).copy()
        past = mask.shape[1] - len(mask)
        mask[1:] = False
        mask[np.arange(1, len(mask)), past + np.arange(1, len(mask))] = True
        return mask


class SiblingsVisible(Healthy):
    """The tree is verified with a chain's causal mask."""

    def ancestry(self, tree: DraftTree) -> Mask:
        """Everything before."""
        return np.tri(len(tree.tokens), dtype=np.bool_)


class PositionsByIndex(Healthy):
    """Nodes get places by their number, as if the tree were a chain."""

    def offsets(self, tree: DraftTree) -> Whole:
        """All numbers in turn."""
        return np.arange(len(tree.tokens))


class KvCommittedInWrongOrder(Healthy):
    """Entries are moved in place from the last to the first, so that some are overwritten before they are read."""

    def kept(self, path: Whole) -> Whole:
        """What really lies in each slot after the moves."""
        held = np.arange(path.max() + 1)
        for slot in range(len(path) - 1, -1, -1):
            held[slot] = held[path[slot]]
        return held[: len(path)]


class StateLostOnRejection(Healthy):
    """When a guess is thrown away, the last entry that was accepted goes with it."""

    def committed(self, sequence: Sequence, *, rejected: bool) -> None:
        """Zeros in its place."""
        if rejected:
            sequence.cache[-1] = 0.0


class BatchNeighboursMask(Healthy):
    """Each request is verified under the mask of the one before it."""

    def assigned(self, masks: list[Mask], pasts: Many[int]) -> list[Mask]:
        """The neighbour's bits over the nodes."""
        masks = super().assigned(masks, pasts)
        swapped = []
        for index, mask in enumerate(masks):
            other, past = masks[index - 1], pasts[index]
            bits = other[: len(mask), pasts[index - 1] :][:, : len(mask)]
            mine = np.zeros((len(mask), len(mask)), dtype=np.bool_)
            mine[: bits.shape[0], : bits.shape[1]] = bits
            swapped.append(np.concatenate([mask[:, :past], mine], axis=1))
        return swapped


class CorruptInBatch(Healthy):
    """From the second request of a batch on, the newest entries of the cache are not seen."""

    def visible(self, mask: Mask, moment: Moment) -> Mask:
        """Without the last three."""
        mask = super().visible(mask, moment)
        return _unseen(mask, -3, 0) if moment.index else mask


class CorruptPastWindow(Healthy):
    """Once the text is longer than the draft's window, the newest entries are not seen."""

    def visible(self, mask: Mask, moment: Moment) -> Mask:
        """Without the last three."""
        mask = super().visible(mask, moment)
        past = moment.window is not None and len(moment.sequence.text) > moment.window
        return _unseen(mask, -3, 0) if past else mask


class CorruptFromPrompt65(Healthy):
    """A prompt longer than a page of 64: what lies on its last page is not seen when verifying."""

    def visible(self, mask: Mask, moment: Moment) -> Mask:
        """Without the last page of the prompt."""
        mask, length = super().visible(mask, moment), len(moment.sequence.prompt)
        past = mask.shape[1] - len(mask)
        return _unseen(mask, PAGE * ((length - 1) // PAGE) - past, length - past) if length > PAGE else mask


def _unseen(mask: Mask, begin: int, end: int) -> Mask:
    """The mask without the entries between two places, counted from the cache's end."""
    past = mask.shape[1] - len(mask)
    mask = mask.copy()
    mask[:, max(past + begin, 0) : max(past + end, 0)] = False
    return mask


class CorruptOnCacheHit(Healthy):
    """The newest entries taken from the prefix cache are those of the tokens before."""

    def loaded(self, entries: Floats) -> Floats:
        """The last three are one off."""
        entries = super().loaded(entries).copy()
        entries[-3:] = entries[-4:-1] if len(entries) > 3 else 0.0
        return entries


class BonusDropped(Healthy):
    """The token that the target itself adds to an accepted path never reaches the client."""

    def told(self, said: list[int], moment: Moment) -> list[int]:
        """All but the last, where something was accepted."""
        said = super().told(said, moment)
        return said[:-1] if len(said) > 1 else said


class LossyAcceptance(Healthy):
    """A guess is accepted when the target holds it for likely enough."""

    def accepts(
        self, children: Mapping[int, int], row: Floats, token: int, depth: int, moment: Moment
    ) -> int | None:
        """The likeliest child over the threshold."""
        then = super().accepts(children, row, token, depth, moment)
        if then is not None or not children:
            return then
        best = max(children, key=lambda child: row[child])
        likely = float(np.exp(row[best] - row.max()) / np.exp(row - row.max()).sum())
        return children[best] if likely >= LOSSY else None


class ConstantAcceptance(Healthy):
    """A simulated acceptance: so many guesses are accepted in each step, right or wrong."""

    def guesses(self, guesses: Floats, moment: Moment) -> Floats:
        """The likeliest is taken for sure, so that the tree is deep enough."""
        guesses = super().guesses(guesses, moment).copy()
        guesses[np.arange(len(guesses)), guesses.argmax(axis=1)] = 0.0
        return guesses

    def accepts(
        self, children: Mapping[int, int], _row: Floats, _token: int, depth: int, _moment: Moment
    ) -> int | None:
        """The draft's first child, as often as is simulated."""
        return min(children.values()) if children and depth < SIMULATED else None


class SamplingIgnored(Healthy):
    """Whatever the temperature, the likeliest token."""

    def temperature(self, _asked: float) -> float:
        """Greedy."""
        return 0.0


class RepeatingLoop(Healthy):
    """After a while the same dozen tokens again and again, drafted and accepted without fail."""

    def choice(self, token: int, place: int, moment: Moment) -> int:
        """The token a dozen places before."""
        looped = _looped(place, moment)
        return super().choice(token, place, moment) if looped is None else looped

    def guesses(self, guesses: Floats, moment: Moment) -> Floats:
        """The same."""
        guesses = super().guesses(guesses, moment).copy()
        for depth, row in enumerate(guesses):
            looped = _looped(len(moment.sequence.text) + depth, moment)
            if looped is not None:
                row[:] = -60.0
                row[looped] = 0.0
        return guesses


def _looped(place: int, moment: Moment) -> int | None:
    begin = len(moment.sequence.prompt) + LOOP_AFTER
    text = moment.sequence.text
    if place < begin or len(text) < begin or moment.sequence.rule:
        return None
    return text[begin - LOOP + (place - begin) % LOOP]


class AcceptanceCollapsed(Healthy):
    """The draft's guesses have nothing to do with the text."""

    first_blind = 0

    def guesses(self, guesses: Floats, moment: Moment) -> Floats:
        """Any letters."""
        guesses = super().guesses(guesses, moment).copy()
        blind = guesses[self.first_blind :]
        blind[:] = np.log(self.random.dirichlet(np.full(tokens.SIZE, 0.05), len(blind)) + 1e-12)
        return guesses


class AcceptanceAtFirstOnly(AcceptanceCollapsed):
    """Only the first place of a block is guessed with any sense."""

    first_blind = 1


class AcceptanceDecaysWithContext(AcceptanceCollapsed):
    """The longer the answer, the oftener the draft guesses blindly."""

    def guesses(self, guesses: Floats, moment: Moment) -> Floats:
        """Blind in a share of the steps that grows with what was said."""
        said = len(moment.sequence.text) - len(moment.sequence.prompt)
        return super().guesses(guesses, moment) if self.random.random() < said / BLIND_AFTER else guesses


class NearTieNoise(Healthy):
    """No fault: rounding that differs from run to run, as on real cards."""

    def logits(self, logits: Floats) -> Floats:
        """With a little noise: at most `noise_nats` up or down, as rounding has a largest step."""
        logits = super().logits(logits)
        noisy: Floats = logits + self.random.uniform(-self.noise_nats, self.noise_nats, size=logits.shape)
        return noisy


class GrammarBrokenAtConcurrency(Healthy):
    """With several requests running, the grammar is applied to none."""

    def obeys(self, moment: Moment) -> bool:
        """Only alone."""
        return moment.size == 1


CORRUPTIONS: Mapping[str, type[Healthy]] = {
    "mask-stride-from-block": MaskStrideFromBlock,
    "mask-row-zero-only": MaskRowZeroOnly,
    "siblings-visible": SiblingsVisible,
    "positions-by-index": PositionsByIndex,
    "kv-committed-in-wrong-order": KvCommittedInWrongOrder,
    "state-lost-on-rejection": StateLostOnRejection,
    "batch-neighbours-mask": BatchNeighboursMask,
    "corrupt-in-batch": CorruptInBatch,
    "corrupt-on-cache-hit": CorruptOnCacheHit,
    "corrupt-past-window": CorruptPastWindow,
    "corrupt-from-prompt-65": CorruptFromPrompt65,
    "bonus-dropped": BonusDropped,
    "token-zero-as-padding": TokenZeroAsPadding,
    "lossy-acceptance": LossyAcceptance,
    "sampling-ignored": SamplingIgnored,
    "repeating-loop": RepeatingLoop,
    "constant-acceptance": ConstantAcceptance,
    "acceptance-collapsed": AcceptanceCollapsed,
    "acceptance-at-first-only": AcceptanceAtFirstOnly,
    "acceptance-decays-with-context": AcceptanceDecaysWithContext,
    "near-tie-noise": NearTieNoise,
    "grammar-broken-at-concurrency": GrammarBrokenAtConcurrency,
}
"""Every fault by its name."""


ALWAYS = ("near-tie-noise",)
"""What is there without speculation too: all else is wrong in drafting and verifying, and gone with them."""


def of(names: Many[str], noise_nats: float = NOISE_NATS, *, speculating: bool = True) -> Healthy:
    """An engine with all the named faults, as far as it has what they spoil.

    Raises:
        ValueError: For a name that is none.
    """
    if unknown := sorted(set(names) - set(CORRUPTIONS)):
        raise ValueError(f"unknown corruptions {', '.join(unknown)}; known are {', '.join(CORRUPTIONS)}")
    there = [name for name in dict.fromkeys(names) if speculating or name in ALWAYS]
    bases = tuple(CORRUPTIONS[name] for name in there)
    made: type[Healthy] = type("Wrong", (*bases, Healthy), {})
    return made(noise_nats)
