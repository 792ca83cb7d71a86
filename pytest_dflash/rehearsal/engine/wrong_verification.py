"""Faults of masks, places and caches: the answer is not what the target would have said.

Law: one class a fault, at the place where engines have had it. No fault knows who might notice it.
"""

from __future__ import annotations

from collections.abc import Sequence as Many

import numpy as np

from .draft_tree import DraftTree
from .healthy import Healthy, Moment
from .masking import Mask
from .sequence import Sequence
from .weights import Floats, Whole

PAGE = 64


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
    """The newest entries taken from the prefix cache are those of the tokens before.

    Prompts of different texts may begin with the same few words: what is less than a page is taken as it is.
    """

    PAGE = 16

    def loaded(self, entries: Floats) -> Floats:
        """The last three are one off."""
        entries = super().loaded(entries)
        if len(entries) < self.PAGE:
            return entries
        return np.concatenate([entries[:-3], entries[-4:-1]])


class BonusDropped(Healthy):
    """The token that the target itself adds to an accepted path never reaches the client."""

    def told(self, said: list[int], moment: Moment) -> list[int]:
        """All but the last, where something was accepted."""
        said = super().told(said, moment)
        return said[:-1] if len(said) > 1 else said
