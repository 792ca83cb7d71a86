"""Does it sample, and from the target's distribution? Tests with a stated false-alarm rate.

Law: arithmetic on samples, and on the target's own probabilities at temperature 1 or, where nobody tells these, on
samples of a prefill, which no draft has touched.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pytest_dflash.engines.scoring import Scored
from pytest_dflash.oracle.alarm import binomial_tail, chi_square_tail, normal_tail
from pytest_dflash.oracle.prefill import Sample

CELL = 5.0
"""A cell of the test expects at least so many samples; what is rarer is put together."""
ENOUGH_DOUBT = 25.0
"""Of the target, in all positions together: greedy answers then lie at least its square root, 5, away from what is
expected, which no false-alarm rate of ours forgives (4.6 at 64 budgets). With less an engine that never samples may pass.
Of so many draws of a prefill that are not its likeliest token, no greedy answer has one: 2 in 2^25."""


@dataclass(frozen=True, slots=True)
class Test:
    """One test: how unlikely the samples are, were they the target's. `probability` 1 where nothing was to be told.

    Attributes:
        doubt: The variance of what was counted, or how often a prefill drew another than the likeliest token: small where
            the target is sure of nearly every token.
    """

    statistic: float
    probability: float
    samples: int
    expected: float = 0.0
    observed: float = 0.0
    doubt: float = 0.0

    @property
    def tells(self) -> bool:
        """Whether an engine that never samples would have been noticed."""
        return self.doubt >= ENOUGH_DOUBT


def first_token(samples: Sequence[int], target: Mapping[int, float]) -> Test:
    """Whether first tokens are distributed as the target says: chi-square over its likeliest tokens and the rest.

    Args:
        samples: First tokens of answers to one prompt.
        target: Probabilities of the likeliest tokens there; the rest is what is missing to 1.
    """
    seen, many = Counter(samples), len(samples)
    cells: list[tuple[float, int]] = []
    rest, rest_seen = 1.0, many
    for token, probability in sorted(target.items(), key=lambda each: -each[1]):
        if many * probability >= CELL:
            cells.append((probability, seen[token]))
            rest, rest_seen = rest - probability, rest_seen - seen[token]
    if many * rest >= CELL:
        cells.append((rest, rest_seen))
    elif cells and rest_seen:
        # Too rare for a cell of its own: with the rarest of the others.
        probability, found = cells.pop()
        cells.append((probability + max(rest, 0.0), found + rest_seen))
    if len(cells) < 2:
        return Test(0.0, 1.0, many)
    total = sum(probability for probability, _ in cells)
    statistic = sum(
        (found - many * probability / total) ** 2 / (many * probability / total)
        for probability, found in cells
    )
    return Test(statistic, chi_square_tail(statistic, len(cells) - 1), many)


def boldness(lines: Sequence[Sequence[Scored]]) -> Test:
    """Whether the target's likeliest token is said as often as it should be.

    At each position it is said with the probability that the target gives it, whatever was said before: the count
    minus the sum of these probabilities is a martingale, whose variance is the sum of p(1 - p). Greedy answers say it
    always; drafts that are accepted too easily say it too often or too rarely.
    """
    expected = observed = variance = 0.0
    positions = 0
    for line in lines:
        for each in line:
            top, logprob = each.best[0]
            probability = min(math.exp(logprob), 1.0)
            expected += probability
            observed += each.token == top
            variance += probability * (1 - probability)
            positions += 1
    if variance < CELL:
        return Test(0.0, 1.0, positions, expected, observed, variance)
    z = (observed - expected) / math.sqrt(variance)
    return Test(z, normal_tail(z), positions, expected, observed, variance)


def beside_prefills(samples: Sequence[Sample]) -> Test:
    """Whether the likeliest token is said as often as a prefill draws it at the same places.

    Both are draws from one distribution, were the engine innocent: of the places where only one of them is the likeliest
    token, it is as often this one as that one, whatever was said before (McNemar's exact test). The likeliest token is
    what a prefill says at temperature 0; which one that is may depend on all but the two draws.
    """
    drawn = [each for each in samples if each.drawn is not None and not each.ended]
    ours = sum(each.said == each.told != each.drawn for each in drawn)
    theirs = sum(each.drawn == each.told != each.said for each in drawn)
    probability = min(1.0, 2 * binomial_tail(max(ours, theirs), ours + theirs, 0.5))
    said = sum(each.said == each.told for each in drawn)
    expected = sum(each.drawn == each.told for each in drawn)
    return Test(ours - theirs, probability, len(drawn), expected, said, len(drawn) - expected)


def compared(lines: Sequence[Sequence[Scored]], samples: Sequence[Sample]) -> Test | None:
    """By the target's own probabilities, else by the draws of a prefill; None where there is neither."""
    if lines:
        return boldness(lines)
    return beside_prefills(samples) if any(each.drawn is not None for each in samples) else None
