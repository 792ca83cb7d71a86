from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pytest_dflash.oracle.loops import Loop, loop


def test_a_phrase_that_is_repeated_to_the_end_is_found_where_it_begins() -> None:
    assert loop([9, 8, 7, *[1, 2, 3] * 20]) == Loop(3, (1, 2, 3), 60)


def test_one_token_that_fills_the_end_is_a_loop() -> None:
    assert loop([5, *[0] * 60]) == Loop(1, (0,), 60)


def test_a_few_repetitions_are_not_enough() -> None:
    assert loop([*range(100), 1, 2, 1, 2, 1, 2]) is None
    assert loop([1, 2, 3] * 10) is None


def test_a_unit_that_is_cut_at_the_end_is_still_found() -> None:
    found = loop([*range(100, 150), *[1, 2, 3, 4] * 20, 1, 2])
    assert found is not None
    assert len(found.unit) == 4


@given(st.lists(st.integers(0, 3), max_size=200))
def test_what_is_called_a_loop_is_one(tokens: list[int]) -> None:
    found = loop(tokens)
    if found:
        size = len(found.unit)
        assert all(tokens[i] == tokens[i + size] for i in range(found.start, len(tokens) - size))
