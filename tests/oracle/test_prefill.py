from __future__ import annotations

import pytest

from pytest_dflash.oracle.prefill import TIES, Sample, agreement


def samples(differing: int, of: int) -> list[Sample]:
    return [Sample("x", n, 1, 2 if n < differing else 1) for n in range(of)]


def test_a_single_disagreement_may_be_a_tie() -> None:
    found = agreement(samples(1, 40), 0, 40)
    assert (found.samples, len(found.disagreements), found.ties) == (40, 1, TIES)
    assert found.probability > 0.3


def test_many_disagreements_are_none() -> None:
    assert agreement(samples(10, 40), 0, 40).probability < 1e-6


def test_an_engine_that_disagrees_with_itself_is_granted_more_ties() -> None:
    assert agreement(samples(6, 40), 4, 40).probability > 1e-2
    assert agreement(samples(6, 40), 4, 40).ties > 0.1


@pytest.mark.parametrize(
    "said, told, agrees",
    [("the window", "the", True), ("the", "the window", True), ("the", "a", False), (3, 3, True)],
)
def test_texts_agree_where_one_continues_the_other(said: int | str, told: int | str, *, agrees: bool) -> None:
    assert Sample("x", 0, said, told).agrees is agrees
