from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_dflash.load.spread import SLOW_MODE, modes, outliers, slow_starts, slower_at_most

STEADY = [60.0, 61.0, 59.5, 60.4, 59.8, 60.2, 60.9, 59.9, 60.1, 60.6]


def test_the_value_far_out_is_named_by_its_place() -> None:
    assert outliers([*STEADY, 31.0]) == (10,)
    assert outliers(STEADY) == ()


def test_few_or_equal_values_have_no_outliers() -> None:
    assert outliers([1.0, 100.0, 1.0]) == ()
    assert outliers([5.0] * 9 + [7.0]) == ()


def test_two_kinds_of_repeats_are_told_apart() -> None:
    found = modes([*STEADY, 48.0, 48.4, 47.9, 48.2])
    assert found is not None
    assert len(found.low) == 4
    assert found.low[-1] < 50 < found.high[0]


def test_one_or_two_values_apart_are_outliers_and_no_mode() -> None:
    assert modes([*STEADY, 31.0, 31.5]) is None


def test_normal_repeats_look_like_two_modes_in_less_than_two_runs_of_a_hundred() -> None:
    rng = random.Random(5)
    seen = sum(modes([rng.gauss(60, 3) for _ in range(10)]) is not None for _ in range(1000))
    assert seen < 20


@given(st.lists(st.floats(-1e9, 1e9), max_size=40))
def test_any_numbers_have_modes_and_outliers_or_none(values: list[float]) -> None:
    found = modes(values)
    assert found is None or sorted([*found.low, *found.high]) == sorted(values)
    assert all(0 <= at < len(values) for at in outliers(values))


def test_a_start_in_the_slower_of_two_modes_is_named_by_its_place() -> None:
    slow = [value * 0.8 for value in STEADY]
    assert slow_starts([STEADY, slow, STEADY]) == (1,)
    assert slow_starts([slow, STEADY, slow]) == (0, 2)
    assert slow_starts([STEADY, slow]) == (1,)


def test_starts_that_differ_by_noise_or_by_little_are_alike() -> None:
    assert slow_starts([STEADY, [value * 0.97 for value in STEADY]]) == ()
    assert slow_starts([[60.0, 80.0, 50.0, 90.0], [50.0, 85.0, 40.0, 75.0]]) == ()
    assert slow_starts([STEADY]) == slow_starts([]) == slow_starts([[60.0], [30.0]]) == ()


def test_normal_starts_look_like_two_modes_in_less_than_one_run_of_a_hundred() -> None:
    chance = random.Random(7)
    alarms = sum(
        bool(slow_starts([[chance.gauss(100, 5) for _ in range(8)] for _ in range(3)])) for _ in range(1000)
    )
    assert alarms < 10


def test_what_noise_may_hide_between_starts_is_bounded_and_one_repeat_bounds_nothing() -> None:
    assert slower_at_most([[60.0], [30.0]]) == slower_at_most([STEADY]) == float("inf")
    assert slower_at_most([STEADY, STEADY]) < 0.02
    assert slower_at_most([[60.0, 80.0, 50.0, 90.0], [50.0, 85.0, 40.0, 75.0]]) > SLOW_MODE


@pytest.mark.parametrize("low, spread", [(55, 40), (80, 15)])
def test_a_slow_start_in_wide_noise_is_hardly_ever_called_alike(low: float, spread: float) -> None:
    chance = random.Random(1)
    passes = 0
    for _ in range(500):
        both = [[chance.gauss(mean, spread) for _ in range(8)] for mean in (100, low)]
        passes += not slow_starts(both) and slower_at_most(both) <= SLOW_MODE
    assert passes < 40


def test_three_steady_starts_that_are_alike_are_called_so() -> None:
    chance = random.Random(3)
    alike = sum(
        slower_at_most([[chance.gauss(100, 5) for _ in range(8)] for _ in range(3)]) <= SLOW_MODE
        for _ in range(1000)
    )
    assert alike > 990
