"""The oracle for engines that tell no logprobs: one token from a prefill, which no draft has touched.

Law: arithmetic on pairs of tokens. Nobody tells how near two tokens were, so single disagreements prove nothing:
they are counted, and compared with how often the engine disagrees with itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pytest_dflash.oracle.alarm import binomial_tail, upper_rate

TIES = 0.01
"""The share of positions that are ties in an innocent engine, at the least that is assumed: 1 in 100."""
DOUBT = 1e-3
"""The rate of ties is taken as high as the measured self-disagreement allows with this confidence."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One position: what was said under speculation, and what a prefill says there. Ids, or texts."""

    label: str
    index: int
    said: int | str
    told: int | str

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
        ties: The rate of ties that was assumed.
    """

    samples: int
    disagreements: tuple[Sample, ...]
    ties: float
    probability: float


def agreement(samples: Sequence[Sample], self_disagreements: int, repeats: int) -> Agreement:
    """How likely the disagreements are, when the engine's own repeats differed so many times."""
    differing = tuple(each for each in samples if not each.agrees)
    measured = upper_rate(self_disagreements, repeats, DOUBT) if self_disagreements else 0.0
    ties = max(TIES, measured)
    return Agreement(len(samples), differing, ties, binomial_tail(len(differing), len(samples), ties))
