from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_dflash.oracle.alarm import (
    RUN_ALPHA,
    TESTS,
    binomial_tail,
    chi_square_tail,
    normal_tail,
    share,
    upper_rate,
)


@pytest.mark.parametrize(
    "statistic, freedom, probability",
    [
        (3.841458820694124, 1, 0.05),
        (5.991464547107979, 2, 0.05),
        (7.814727903251179, 3, 0.05),
        (29.58829844507442, 10, 0.001),
        (5e-324, 3, 1.0),
    ],
)
def test_the_tail_of_chi_square_is_that_of_the_tables(
    statistic: float, freedom: int, probability: float
) -> None:
    assert chi_square_tail(statistic, freedom) == pytest.approx(probability, rel=1e-9)


def test_the_tail_of_the_normal_is_that_of_the_tables() -> None:
    assert normal_tail(1.959963984540054) == pytest.approx(0.05)
    assert normal_tail(-1.959963984540054) == pytest.approx(0.05)


def test_the_tail_of_the_binomial_is_the_sum_of_its_terms() -> None:
    exact = sum(math.comb(20, n) * 0.3**n * 0.7 ** (20 - n) for n in range(9, 21))
    assert binomial_tail(9, 20, 0.3) == pytest.approx(exact)
    assert (binomial_tail(0, 20, 0.3), binomial_tail(1, 20, 0.0), binomial_tail(5, 20, 1.0)) == (
        1.0,
        0.0,
        1.0,
    )


def test_none_of_three_hundred_leaves_one_percent() -> None:
    assert upper_rate(0, 300) == pytest.approx(0.00994, abs=1e-4)
    assert upper_rate(5, 5) == 1.0


def test_the_false_alarms_of_a_run_are_shared_by_its_tests_and_budgets() -> None:
    assert share(0) * TESTS == RUN_ALPHA
    assert share(7) * TESTS * 8 == pytest.approx(RUN_ALPHA)


@given(st.integers(0, 40), st.integers(1, 40), st.floats(0, 1))
def test_tails_are_probabilities(hits: int, tries: int, rate: float) -> None:
    assert 0 <= binomial_tail(min(hits, tries), tries, rate) <= 1
    assert 0 <= upper_rate(min(hits, tries), tries) <= 1


@given(st.floats(0, 500), st.integers(0, 60))
def test_chi_square_is_a_probability_and_falls(statistic: float, freedom: int) -> None:
    assert (
        0
        <= chi_square_tail(statistic + 1, freedom)
        <= chi_square_tail(statistic, freedom) + 1e-12
        <= 1 + 1e-12
    )
