"""Whether repeats of now are worse than repeats of then, beyond what both scatter.

Law: numbers in, a chance out; no clock. No distribution is assumed: if now and then were the same, any split of all
repeats into two groups of these sizes would be as likely as the one that was seen (Fisher 1935; Pitman 1937).
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import combinations
from math import comb
from statistics import fmean

SPLITS = 20_000
"""All splits are tried where there are no more than so many, else so many drawn ones."""
FEWEST = 4
"""With fewer repeats on one side, no split is rare enough to say anything."""


def chance(now: Sequence[float], then: Sequence[float]) -> float:
    """The share of splits in which the first group is at least as far below the second as it is.

    Small: `now` is lower than `then` beyond noise. 1 where too few repeats were made to tell.
    """
    if min(len(now), len(then)) < FEWEST:
        return 1.0
    whole, size = [*now, *then], len(now)
    total, seen = sum(whole), fmean(now) - fmean(then)
    margin = 1e-12 * (1 + abs(seen))

    def difference(inside: float) -> float:
        return inside / size - (total - inside) / (len(whole) - size)

    if comb(len(whole), size) <= SPLITS:
        sums = [sum(chosen) for chosen in combinations(whole, size)]
    else:
        rng = random.Random(20_261_129)  # noqa: S311 - repeatable is what is wanted
        sums = [sum(rng.sample(whole, size)) for _ in range(SPLITS)]
    lower = sum(difference(inside) <= seen + margin for inside in sums)
    return lower / len(sums)
