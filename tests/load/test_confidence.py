from __future__ import annotations

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_dflash.load.confidence import interval, repeats_for

NUMBERS = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=40)


def test_a_single_repeat_bounds_nothing() -> None:
    found = interval([60.0])
    assert (found.mean, found.spread) == (60.0, 0.0)
    assert (found.low, found.high) == (-math.inf, math.inf)


def test_few_scattered_repeats_bound_nothing_and_more_do() -> None:
    values = [60.0, 63.0, 58.0, 61.0, 59.5, 60.5, 62.0, 58.5, 61.5, 60.0]
    assert interval(values[:3]).low == -math.inf
    found = interval(values)
    assert 57 < found.low < 60 < found.mean < 61 < found.high < 64


def test_the_interval_is_wider_than_that_of_a_single_look() -> None:
    values = [60.0, 63.0, 58.0, 61.0, 59.5, 60.5, 62.0, 58.5, 61.5, 60.0]
    found = interval(values, 0.05)
    student = 1.833 * found.spread / math.sqrt(len(values))  # t of 9 degrees of freedom, one-sided 95 %
    assert found.mean - found.low > 1.3 * student


@given(NUMBERS, st.floats(0.001, 0.2))
def test_the_mean_lies_within_whatever_was_measured(values: list[float], error: float) -> None:
    found = interval(values, error)
    assert found.low <= found.mean <= found.high
    assert found.repeats == len(values)


@given(NUMBERS)
def test_a_smaller_error_never_makes_a_narrower_interval(values: list[float]) -> None:
    assert interval(values, 0.01).low <= interval(values, 0.05).low


@pytest.mark.parametrize("distance", [0.5, 1.0, 3.0])
def test_the_repeats_named_are_the_fewest_that_decide(distance: float) -> None:
    needed = repeats_for(distance, 1.0)
    assert needed is not None
    one, other = ((-1) ** at for at in range(2))
    for count, decides in ((needed, True), (needed - 1, False)):
        # Values of mean `distance` and spread 1, whatever their number.
        shape = [one if at % 2 else other for at in range(count)]
        mean = sum(shape) / count
        spread = math.sqrt(sum((each - mean) ** 2 for each in shape) / (count - 1))
        values = [distance + (each - mean) / spread for each in shape]
        assert (interval(values).low >= -1e-9) is decides


@pytest.mark.parametrize(
    "distance, spread", [(0.0, 1.0), (-1.0, 1.0), (math.nan, 1.0), (1.0, math.inf), (1e-9, 1)]
)
def test_where_no_number_of_repeats_would_decide_none_is_named(distance: float, spread: float) -> None:
    assert repeats_for(distance, spread) is None


def test_looking_after_each_repeat_is_wrong_no_more_often_than_it_says() -> None:
    """At the floor itself, the worst place, over 60 looks; 500 runs, so that 5 % may show as 7.5 %."""
    rng = random.Random(7)
    wrong = {"low": 0, "high": 0}
    for _ in range(500):
        values: list[float] = []
        for _look in range(60):
            values.append(rng.gauss(100, 5))
            found = interval(values, 0.05)
            if found.low >= 100 or found.high < 100:
                wrong["low" if found.low >= 100 else "high"] += 1
                break
    assert wrong["low"] / 500 <= 0.075
    assert wrong["high"] / 500 <= 0.075
