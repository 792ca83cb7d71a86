"""The oracle for engines that tell no logprobs: one token from a prefill, which no draft has touched.

Law: arithmetic on pairs of tokens. Nobody tells how near two tokens were, so single disagreements prove nothing:
they are counted, and compared with how often the engine disagrees with itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pytest_dflash.oracle.alarm import binomial_tail, more_often

TIES = 0.01
"""The share of positions that are ties in an innocent engine, at the least that is assumed: 1 in 100."""
CEILING = 0.1
"""Where more of the positions than this differ, or of an engine's repeats, these are no ties any more: nothing is proven."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One position: what was said under speculation, and what a prefill says there. Ids, or texts.

    `ended`: the answer ended here, and `said` is the token that ended it. `drawn`: what a prefill says there at the
    temperature of the answer; None where it was not asked.
    """

    label: str
    index: int
    said: int | str
    told: int | str
    ended: bool = False
    drawn: int | str | None = None

    @property
    def agrees(self) -> bool:
        """Whether both are the same; a text may continue the other."""
        if isinstance(self.said, str) and isinstance(self.told, str):
            return self.said.startswith(self.told) or self.told.startswith(self.said)
        return self.said == self.told


@dataclass(frozen=True, slots=True)
class Agreement:
    """What became of all samples.

    Attributes:
        probability: Of at least so many disagreements, were the engine innocent.
        own: The share of positions at which a prefill disagreed with itself.
    """

    samples: int
    disagreements: tuple[Sample, ...]
    own: float
    probability: float

    @property
    def share(self) -> float:
        """The share of samples that disagree."""
        return len(self.disagreements) / self.samples if self.samples else 0.0


def agreement(samples: Sequence[Sample], self_disagreements: int, repeats: int) -> Agreement:
    """How likely the disagreements are, when the engine's own repeats differed so many times.

    Innocent are ties at the least rate that is assumed, and as many disagreements as the engine has with itself: the
    likelier of both counts. What a few repeats cannot exclude is not taken for the engine's rate.
    """
    differing = tuple(each for each in samples if not each.agrees)
    by_ties = binomial_tail(len(differing), len(samples), TIES)
    by_repeats = (
        more_often(len(differing), len(samples), self_disagreements, repeats) if self_disagreements else 0.0
    )
    own = self_disagreements / repeats if repeats else 0.0
    return Agreement(len(samples), differing, own, max(by_ties, by_repeats))
