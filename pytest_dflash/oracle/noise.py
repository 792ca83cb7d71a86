"""What identical runs differ by, and the tolerance that follows from it.

Law: arithmetic on measured differences. A difference is how much the lead of one token over another moved between
two scorings of the same tokens, in nats; which two scorings were made (alone, in a batch, cold) is said by whoever
made them.

A tolerance holds for a whole run: an innocent engine exceeds it anywhere among all positions with at most the
stated probability. Far beyond what can be measured, the tail is taken as exponential above the ninth decile, which is
heavier than a normal one; its scale is taken two standard errors too large.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pytest_dflash.engines.scoring import Scored

FLOOR = 0.125
"""Never less: a logit between 16 and 32 has steps of 0.125 in bfloat16, so two tokens nearer than this may change
places between two kernels of one engine that are both right."""
CEILING = 1.0
"""More than this is no tie any more (one token 2.7 times as likely as the other): such an engine proves nothing."""
FEW = 100
"""Fewer differences than this are no measurement."""
TAIL = 0.1
"""The share of the differences from which the tail is taken."""


@dataclass(frozen=True, slots=True)
class Noise:
    """Measured differences, in nats, without sign; `how` says between which scorings."""

    differences: tuple[float, ...]
    how: str = ""

    @property
    def measured(self) -> bool:
        """Whether these are enough."""
        return len(self.differences) >= FEW

    @property
    def widest(self) -> float:
        """The largest one."""
        return max(self.differences, default=0.0)

    def tolerance(self, positions: int, alpha: float) -> float:
        """What an innocent run of so many positions exceeds with at most this probability."""
        found = sorted(self.differences)
        if not found or not found[-1]:
            return FLOOR
        start = found[int(len(found) * (1 - TAIL))] if len(found) >= FEW else 0.0
        beyond = [each - start for each in found if each > start] or [found[-1]]
        scale = sum(beyond) / len(beyond) * (1 + 2 / math.sqrt(len(beyond)))
        share = len(beyond) / len(found)
        reach = start + scale * math.log(max(share * max(positions, 1) / alpha, 1.0))
        return max(FLOOR, self.widest, reach)


def differences(first: Sequence[Scored], second: Sequence[Scored]) -> Iterable[float]:
    """By how much the lead of the best token over the runner-up moved, where both scorings tell it."""
    for one, other in zip(first, second, strict=False):
        again = dict(other.best)
        if len(one.best) < 2:
            continue
        (best, high), (next_, low) = one.best[:2]
        if best in again and next_ in again:
            yield abs((high - low) - (again[best] - again[next_]))
