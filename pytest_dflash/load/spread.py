"""How measured values lie: outliers, two modes, starts that are alike and starts that are not.

Law: numbers in, numbers out. Nothing is ever dropped: an outlier is shown and stays in every mean.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, median, pstdev

OUTLYING = 4.5
"""Robust spreads from the median; of a thousand normal values one lies so far out by chance in 150 runs."""
MAD_TO_SPREAD = 1.4826
"""The median absolute deviation of normal values to their standard deviation. Source: Rousseeuw and Croux (1993)."""

FEWEST_OF_A_MODE = 3
FEWEST_WITH_MODES = 10
APART = 4.0
"""The gap between two modes in spreads of the wider one: normal repeats look like two in less than one run of 100."""

UNLIKE = 0.05
"""Starts that differ by less than this share of the faster one are alike, however surely they differ."""
SLOW_MODE = 0.25
"""A start that is slower by this share must not hide in the noise: where it could, starts are not called alike."""
SURE = 3.0
"""Standard errors beyond the difference that was seen: with a dozen repeats the true one is larger in 1 run of 100."""


@dataclass(frozen=True, slots=True)
class Modes:
    """Two kinds of repeats with nothing between them: as when a process lands in one of two states.

    Attributes:
        low: The repeats of the lower kind, ascending. high: of the upper one.
    """

    low: tuple[float, ...]
    high: tuple[float, ...]

    def __str__(self) -> str:
        return (
            f"{fmean(self.low):.4g} ({len(self.low)} repeats) and {fmean(self.high):.4g} ({len(self.high)})"
        )


def outliers(values: Sequence[float]) -> tuple[int, ...]:
    """Where the values stand that lie far from the others, by position; none where more than half are equal."""
    if len(values) < 4:
        return ()
    middle = median(values)
    scale = MAD_TO_SPREAD * median(abs(value - middle) for value in values)
    if scale == 0:
        return ()
    return tuple(at for at, value in enumerate(values) if abs(value - middle) > OUTLYING * scale)


def modes(values: Sequence[float]) -> Modes | None:
    """The two kinds of repeats, where the widest gap parts them clearly."""
    if len(values) < FEWEST_WITH_MODES:
        return None
    ordered = sorted(values)
    cuts = range(FEWEST_OF_A_MODE, len(ordered) - FEWEST_OF_A_MODE + 1)
    cut = max(cuts, key=lambda at: ordered[at] - ordered[at - 1])
    low, high = tuple(ordered[:cut]), tuple(ordered[cut:])
    gap = high[0] - low[-1]
    return Modes(low, high) if gap > 0 and gap >= APART * max(pstdev(low), pstdev(high)) else None


def slow_starts(starts: Sequence[Sequence[float]]) -> tuple[int, ...]:
    """Which process starts landed in the slower of two modes, by position; () where all are alike.

    Args:
        starts: The repeats of each start, at least one each, of a rate.
    """
    means = [fmean(each) for each in starts]
    order = sorted(range(len(starts)), key=means.__getitem__)
    if len(order) < 2:
        return ()
    cut = max(range(1, len(order)), key=lambda at: means[order[at]] - means[order[at - 1]])
    below, above = order[cut - 1], order[cut]
    gap = means[above] - means[below]
    clear = gap >= max(APART * _error(starts, below, above), UNLIKE * means[above]) and gap > 0
    return tuple(sorted(order[:cut])) if clear else ()


def alike_from(starts: Sequence[Sequence[float]]) -> float:
    """The lowest mean that counts as alike to the fastest start, however surely it differs.

    Args:
        starts: As of `slow_starts`.
    """
    return (1 - UNLIKE) * max(fmean(each) for each in starts)


def slower_at_most(starts: Sequence[Sequence[float]]) -> float:
    """By which share of the fastest start the slowest may be slower in truth, noise and all; inf where nothing bounds it.

    Args:
        starts: As of `slow_starts`.
    """
    means = [fmean(each) for each in starts]
    if len(means) < 2 or max(means) <= 0:
        return math.inf
    below, above = (means.index(edge) for edge in (min(means), max(means)))
    return (means[above] - means[below] + SURE * _error(starts, below, above)) / means[above]


def _error(starts: Sequence[Sequence[float]], below: int, above: int) -> float:
    """The standard error of the difference between two starts, by the scatter within all; inf with one repeat each."""
    freedom = sum(len(each) - 1 for each in starts)
    if not freedom:
        return math.inf
    squares = sum(len(each) * pstdev(each) ** 2 for each in starts)
    return math.sqrt(squares / freedom * (1 / len(starts[below]) + 1 / len(starts[above])))
