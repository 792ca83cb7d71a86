"""Whole numbers, and what is none."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_dflash.facts.digits import whole


@pytest.mark.parametrize("text, number", [("0", 0), ("007", 7), ("18446744073709551615", 2**64 - 1)])
def test_a_decimal_is_its_number(text: str, number: int) -> None:
    assert whole(text) == number


@pytest.mark.parametrize(
    "text", [None, "", "-", "-1", "1.0", "[not set]", "infinity", "٣", "²", " 1", "1" * 21]
)
def test_anything_else_is_no_number(text: str | None) -> None:
    assert whole(text) is None


@given(st.text())
def test_any_text_is_read_without_an_exception(text: str) -> None:
    assert whole(text) is None or text.isdigit()
