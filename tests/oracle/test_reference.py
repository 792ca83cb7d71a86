from __future__ import annotations

import pytest

from pytest_dflash.engines.scoring import Scored
from pytest_dflash.oracle.reference import Parting, parting

SCORED = [Scored(1, -0.1, ((1, -0.1), (5, -3.1))), Scored(2, -0.5, ((2, -0.5), (6, -0.9), (7, -4.0)))]


def test_answers_that_are_the_same_do_not_part() -> None:
    assert parting("A", (1, 2), (1, 2)) is None


def test_an_answer_that_ends_earlier_parts_at_its_end() -> None:
    assert parting("A", (1, 2), (1, 2, 3)) == Parting("A", 2, None, 3, None)
    assert parting("A", (1, 2, 3), (), SCORED) == Parting("A", 0, 1, None, None)


def test_the_first_difference_is_told_with_how_far_the_two_tokens_are_apart() -> None:
    apart = parting("A", (1, 2), (1, 6), SCORED)
    assert apart is not None
    assert (apart.index, apart.left, apart.right) == (1, 2, 6)
    assert apart.apart == pytest.approx(0.4)


def test_a_token_that_is_among_no_alternatives_is_at_least_as_far_as_the_last_of_them() -> None:
    apart = parting("A", (1, 2), (1, 9), SCORED)
    assert apart is not None
    assert apart.apart == pytest.approx(3.5)


def test_without_scores_the_distance_is_not_known() -> None:
    apart = parting("A", (1, 2), (3, 2))
    assert apart is not None
    assert apart.apart is None
