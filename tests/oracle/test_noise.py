from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_dflash.engines.scoring import Scored
from pytest_dflash.oracle.noise import FLOOR, Noise, differences


def test_an_engine_that_repeats_itself_exactly_gets_the_floor() -> None:
    assert Noise((0.0,) * 500).tolerance(8000, 1e-4) == FLOOR


def test_nothing_measured_is_the_floor_and_says_so() -> None:
    assert not Noise(()).measured
    assert Noise(()).tolerance(8000, 1e-4) == FLOOR


def test_a_difference_is_how_far_the_lead_of_one_token_over_another_moved() -> None:
    first = [Scored(1, -0.1, ((1, -0.1), (2, -2.1)))]
    again = [Scored(1, -0.2, ((2, -1.9), (1, -0.2)))]
    assert list(differences(first, again)) == [pytest.approx(0.3)]


def test_tokens_that_the_second_scoring_does_not_tell_give_no_difference() -> None:
    assert (
        list(
            differences([Scored(1, -0.1, ((1, -0.1), (2, -2.1)))], [Scored(1, -0.1, ((1, -0.1), (3, -9.0)))])
        )
        == []
    )
    assert list(differences([Scored(1, -0.1, ((1, -0.1),))], [Scored(1, -0.1, ((1, -0.1),))])) == []


@pytest.mark.parametrize("scale", [0.02, 0.05, 0.1])
def test_more_positions_and_a_stricter_rate_ask_for_a_wider_tolerance(scale: float) -> None:
    draw = random.Random(3)
    noise = Noise(tuple(abs(draw.gauss(0, scale)) for _ in range(600)))
    assert noise.widest <= noise.tolerance(100, 1e-2) <= noise.tolerance(8000, 1e-4) < 20 * scale


@given(st.lists(st.floats(0, 50), max_size=300), st.integers(0, 10**6), st.floats(1e-9, 0.5))
def test_a_tolerance_is_never_below_the_floor_nor_below_what_was_seen(
    found: list[float], positions: int, alpha: float
) -> None:
    noise = Noise(tuple(found))
    assert noise.tolerance(positions, alpha) >= max(FLOOR, noise.widest)
