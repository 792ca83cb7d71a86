"""How often an innocent host may be accused, and how that is shared out.

Law: numbers and exact tails of textbook distributions; no data of a run.
"""

from __future__ import annotations

import math

RUN_ALPHA = 1e-3
"""The probability that all checks of the area together accuse an innocent host in one run."""
TESTS = 8
"""Among so many kinds of tests it is shared: losslessness has one share for all of its positions together."""


def share(cells: int) -> float:
    """The false-alarm rate of one test, where the running budget and so many cells are visited."""
    return RUN_ALPHA / (TESTS * (cells + 1))


def chi_square_tail(statistic: float, freedom: int) -> float:
    """The probability of a chi-square at least this large: by its recurrence over the degrees of freedom."""
    half = statistic / 2
    if freedom < 1 or half <= 0:  # the half of the smallest number is 0
        return 1.0
    at = 0.5 if freedom % 2 else 1.0
    tail = math.erfc(math.sqrt(half)) if freedom % 2 else math.exp(-half)
    while at < freedom / 2:
        tail += math.exp(at * math.log(half) - half - math.lgamma(at + 1))
        at += 1
    return min(tail, 1.0)


def normal_tail(z: float) -> float:
    """The probability of a standard normal at least this far from 0, on either side."""
    return math.erfc(abs(z) / math.sqrt(2))


def binomial_tail(hits: int, tries: int, rate: float) -> float:
    """The probability of at least so many hits."""
    if hits <= 0:
        return 1.0
    if rate <= 0:
        return 0.0
    if rate >= 1:
        return 1.0
    logs = [
        math.lgamma(tries + 1) - math.lgamma(n + 1) - math.lgamma(tries - n + 1)
        + n * math.log(rate) + (tries - n) * math.log1p(-rate)
        for n in range(hits, tries + 1)
    ]  # fmt: skip
    return min(sum(math.exp(each) for each in logs), 1.0)


def more_often(hits: int, tries: int, other_hits: int, other_tries: int) -> float:
    """The probability of at least so many of all hits on the first side, were both rates the same (Fisher's exact test)."""
    total, most = hits + other_hits, min(hits + other_hits, tries)
    ways = math.comb(tries + other_tries, total)
    least = max(hits, total - other_tries)
    return sum(math.comb(tries, n) * math.comb(other_tries, total - n) for n in range(least, most + 1)) / ways


def upper_rate(hits: int, tries: int, alpha: float = 0.05) -> float:
    """The highest rate that such a count does not contradict (Clopper and Pearson); 0 of 300 gives 1 %."""
    if hits >= tries:
        return 1.0
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        if 1 - binomial_tail(hits + 1, tries, middle) > alpha:
            low = middle
        else:
            high = middle
    return high
