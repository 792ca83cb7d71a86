from __future__ import annotations

import math

import pytest

from pytest_dflash.load.limit import Limit, Standing, decide

FLOOR = Limit("decode rate", "tokens/s", 55.0)
CEILING = Limit("time to the first token", "ms", 900.0, "ceiling")
SHAPE = (0.0, 1.0, -1.0, 0.5, -0.5, 0.8, -0.8, 0.2, -0.2, 0.0, 0.6, -0.6)


def around(mean: float, spread: float) -> list[float]:
    return [mean + spread * each for each in SHAPE]


@pytest.mark.parametrize(
    "limit, mean, standing",
    [
        (FLOOR, 61.0, Standing.MET),
        (FLOOR, 49.0, Standing.MISSED),
        (FLOOR, 55.3, Standing.OPEN),
        (CEILING, 700.0, Standing.MET),
        (CEILING, 1100.0, Standing.MISSED),
        (CEILING, 901.0, Standing.OPEN),
    ],
)
def test_the_mean_stands_on_one_side_or_is_not_decided(limit: Limit, mean: float, standing: Standing) -> None:
    assert decide(around(mean, 0.04 * mean), limit).standing is standing


def test_one_repeat_decides_nothing_even_far_away() -> None:
    assert decide([500.0], FLOOR).standing is Standing.OPEN


def test_what_is_open_tells_how_many_repeats_it_would_take() -> None:
    open_ = decide(around(56.0, 3.0), FLOOR)
    assert open_.standing is Standing.OPEN
    assert open_.needed is not None
    assert open_.needed > len(SHAPE)
    assert decide(around(70.0, 3.0), FLOOR).needed is None


def test_a_mean_exactly_at_the_limit_needs_no_number_that_exists() -> None:
    assert decide(around(55.0, 3.0), FLOOR).needed is None


def test_equal_repeats_decide_once_there_are_enough() -> None:
    assert decide([60.0] * 8, FLOOR).standing is Standing.MET
    assert decide([55.0] * 8, FLOOR).standing is Standing.MET
    assert decide([55.0] * 8, CEILING).standing is Standing.MET


def test_two_modes_on_both_sides_of_a_floor_are_not_averaged() -> None:
    values = [
        61.0,
        61.2,
        60.8,
        61.1,
        60.9,
        61.3,
        60.7,
        61.05,
        48.0,
        48.2,
        47.8,
        48.1,
        47.9,
        48.3,
        47.7,
        48.05,
    ]
    found = decide(values, FLOOR)
    assert found.standing is Standing.OPEN
    assert found.modes is not None
    assert str(found.modes) == "48.01 (8 repeats) and 61.01 (8)"
    assert found.needed is None


def test_two_modes_above_a_floor_meet_it() -> None:
    values = [
        61.0,
        61.2,
        60.8,
        61.1,
        60.9,
        61.3,
        60.7,
        61.05,
        78.0,
        78.2,
        77.8,
        78.1,
        77.9,
        78.3,
        77.7,
        78.05,
    ]
    assert decide(values, FLOOR).standing is Standing.MET


def test_an_interval_without_bounds_is_never_met() -> None:
    found = decide([60.0, 61.0], FLOOR)
    assert found.interval.low == -math.inf
    assert found.standing is Standing.OPEN
