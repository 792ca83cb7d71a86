"""Faults of what is accepted, drawn and guessed: lossy, too good, too bad, or not what was asked for.

Law: one class a fault, at the place where engines have had it. No fault knows who might notice it.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence as Many

import numpy as np

from . import log, tokens
from .draft_tree import DraftTree
from .healthy import Healthy, Moment
from .weights import Floats

LOOP_AFTER = 128
"""Tokens of an answer that are right: only long ones go round in circles."""
LOOP = 12
SIMULATED = 3
LOSSY = 0.1
BLIND_AFTER = 128
END_AFTER = 64
"""Tokens of an answer behind which a refused draft ends it: shorter ones look fine."""
UNAVAILABLE = "DFLASH non-greedy verification is unavailable on this build/device; falling back to greedy argmax verification."
"""As SGLang says it since 0.5.11."""


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
    """Whatever the temperature, the likeliest token: told once in the log, at the first request that asks for one."""

    warned = False

    def temperature(self, asked: float) -> float:
        """Greedy."""
        if asked > 0 and not self.warned:
            self.warned = True
            log.line(UNAVAILABLE)
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


class BlindPastWindow(AcceptanceCollapsed):
    """Once a text is longer than the draft looks back, the draft guesses blindly."""

    def guesses(self, guesses: Floats, moment: Moment) -> Floats:
        """Blind where the beginning of the text has left the window."""
        past = moment.window is not None and len(moment.sequence.text) > moment.window
        return super().guesses(guesses, moment) if past else guesses


class NearTieNoise(Healthy):
    """No fault: rounding that differs from run to run, as on real cards."""

    def logits(self, logits: Floats) -> Floats:
        """With a little noise: at most `noise_nats` up or down, as rounding has a largest step."""
        logits = super().logits(logits)
        noisy: Floats = logits + self.random.uniform(-self.noise_nats, self.noise_nats, size=logits.shape)
        return noisy


class EndAmongRefusedDrafts(Healthy):
    """The end of an answer is looked for among all drafts of a step: a refused one may end it, with no end token said."""

    def ends(self, tree: DraftTree, path: Many[int], moment: Moment) -> bool:
        """In an answer that is not short, by any draft that was refused: this vocabulary's own end is drafted too seldom."""
        refused = len(tree.tokens) > len(path)
        late = len(moment.sequence.told) >= END_AFTER
        return (refused and late) or super().ends(tree, path, moment)


class GrammarBrokenAtConcurrency(Healthy):
    """With several requests running, the grammar is applied to none."""

    def obeys(self, moment: Moment) -> bool:
        """Only alone."""
        return moment.size == 1
