from __future__ import annotations

import pytest

from pytest_dflash.oracle.prefill import Sample, agreement


def samples(differing: int, of: int) -> list[Sample]:
    return [Sample("x", n, 1, 2 if n < differing else 1) for n in range(of)]


def test_a_single_disagreement_may_be_a_tie() -> None:
    found = agreement(samples(1, 40), 0, 40)
    assert (found.samples, len(found.disagreements), found.share, found.own) == (40, 1, 0.025, 0.0)
    assert found.probability > 0.3


def test_many_disagreements_are_none() -> None:
    assert agreement(samples(10, 40), 0, 40).probability < 1e-6


def test_an_engine_that_disagrees_with_itself_is_granted_more_ties() -> None:
    assert agreement(samples(6, 40), 4, 40).probability > 1e-2
    assert agreement(samples(6, 40), 4, 40).own == 0.1


@pytest.mark.parametrize("own, differing", [(1, 20), (4, 27), (15, 44)])
def test_a_few_self_disagreements_hide_no_mass_of_wrong_tokens(own: int, differing: int) -> None:
    assert agreement(samples(differing, 76), own, 76).probability < 1.25e-4


@pytest.mark.parametrize(
    "said, told, agrees",
    [("the window", "the", True), ("the", "the window", True), ("the", "a", False), (3, 3, True)],
)
def test_texts_agree_where_one_continues_the_other(said: int | str, told: int | str, *, agrees: bool) -> None:
    assert Sample("x", 0, said, told).agrees is agrees
