"""Does it sample, and from the target's distribution? Two tests with a stated false-alarm rate.

Law: arithmetic on samples and on the target's own probabilities at temperature 1.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pytest_dflash.engines.scoring import Scored
from pytest_dflash.oracle.alarm import chi_square_tail, normal_tail

CELL = 5.0
"""A cell of the test expects at least so many samples; what is rarer is put together."""
ENOUGH_DOUBT = 25.0
"""Of the target, in all positions together: greedy answers then lie at least its square root, 5, away from what is
expected, which no false-alarm rate of ours forgives (4.6 at 64 budgets). With less an engine that never samples may pass."""


@dataclass(frozen=True, slots=True)
class Test:
    """One test: how unlikely the samples are, were they the target's. `probability` 1 where nothing was to be told.

    Attributes:
        doubt: The variance of what was counted: small where the target is sure of nearly every token.
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
