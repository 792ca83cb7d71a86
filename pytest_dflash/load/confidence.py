"""What a handful of repeats proves of their mean, however often one looks.

Law: numbers in, an interval out; no clock, no name of a measure. The interval holds at all looks together, so
that whoever measures may stop as soon as it has decided.

A t interval holds at one look that was chosen beforehand. Looking after each repeat and stopping at the first
good one is wrong far more often than it says. This one is the inverse of a test martingale, the Bayes factor of
a normal effect with unknown variance: by Ville's inequality it exceeds 1/alpha with a chance of alpha at most,
ever. Sources: T. L. Lai, On confidence sequences, Annals of Statistics 4 (1976); Perez-Ortiz et al., E-statistics,
group invariance and anytime-valid testing (2022); Wang and Ramdas, Anytime-valid t-tests (2023).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

ERROR = 0.05
"""The chance that a run is wrong about any of its bounds, all looks together; each side of it."""

EFFECT = 1.0
"""Where the test looks hardest: a mean that is off by one spread of the repeats."""

MOST = 100_000
"""Repeats that nobody makes: more are not counted out."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean and its two one-sided bounds, in the unit of the values.

    Attributes:
        repeats: How many values it rests on.
        mean: Their mean.
        spread: Their standard deviation; 0 for a single one.
        low: At least so much; -inf while too few repeats bound nothing.
        high: At most so much; inf likewise.
    """

    repeats: int
    mean: float
    spread: float
    low: float
    high: float


def interval(values: Sequence[float], error: float = ERROR) -> Interval:
    """The mean of repeats between its bounds.

    Args:
        values: One number a repeat, at least one.
        error: The chance that `low` is too high at any look; the same again for `high`.
    """
    count = len(values)
    mean = math.fsum(values) / count
    squares = math.fsum((value - mean) ** 2 for value in values)
    spread = math.sqrt(squares / (count - 1)) if count > 1 else 0.0
    reach = _reach(count, error)
    half = 0.0 if spread == 0 and reach < math.inf else reach * spread if spread else math.inf
    return Interval(count, mean, spread, mean - half, mean + half)


def repeats_for(distance: float, spread: float, error: float = ERROR) -> int | None:
    """How many repeats tell a mean from a line that is `distance` away, at this spread; None where no number does."""
    if not (distance > 0 and math.isfinite(distance) and math.isfinite(spread)):
        return None
    low, high = 2, MOST
    if _reach(high, error) * spread > distance:
        return None
    while low < high:  # the reach falls with each repeat
        middle = (low + high) // 2
        if _reach(middle, error) * spread <= distance:
            high = middle
        else:
            low = middle + 1
    return low


def _reach(count: int, error: float) -> float:
    """Half the interval's width in spreads: inf as long as so few values exclude nothing.

    With t the usual statistic, n values and r = 1 + n EFFECT^2, the Bayes factor is
    r^-1/2 ((1 + t^2/(n-1)) / (1 + t^2/(r (n-1))))^(n/2); this solves it for the t at which it is 1/(2 error).
    """
    if count < 2:
        return math.inf
    ratio = 1 + count * EFFECT**2
    grown = (math.sqrt(ratio) / (2 * error)) ** (2 / count)
    if grown >= ratio:
        return math.inf
    t_squared = (count - 1) * (grown - 1) / (1 - grown / ratio)
    return math.sqrt(t_squared / count)
