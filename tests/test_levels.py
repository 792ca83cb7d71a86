from __future__ import annotations

import pytest

from pytest_dflash.errors import UsageError
from pytest_dflash.levels import Allowed, parse


@pytest.mark.parametrize(
    "words, permitted",
    [
        ("read", {"read"}),
        ("probe", {"read", "probe"}),
        ("load", {"read", "probe", "load"}),
        ("load,restart", {"read", "probe", "load", "restart"}),
        ("restart", {"read", "restart"}),
        ("reconfigure", {"read", "restart", "reconfigure"}),
    ],
)
def test_a_word_permits_what_stands_below_it_on_its_ladder(words: str, permitted: set[str]) -> None:
    allowed = parse(words, typed=words.split(","))
    assert {
        level for level in ("read", "probe", "load", "restart", "reconfigure") if allowed.permits(level)
    } == permitted


def test_without_the_option_load_is_allowed_and_guarded() -> None:
    assert parse(None, typed=()) == Allowed(("load",), load_typed=False)


def test_load_that_was_typed_is_not_held_back_by_foreign_traffic() -> None:
    assert parse("load", typed=["load"]).load_typed


@pytest.mark.parametrize("word", ["restart", "reconfigure"])
def test_a_changing_word_from_an_ini_file_is_refused(word: str) -> None:
    with pytest.raises(UsageError, match=f"{word!r} changes the host, so it counts only when typed"):
        parse(f"load,{word}", typed=["load"])


def test_an_unknown_word_is_refused_with_the_near_one() -> None:
    with pytest.raises(UsageError, match=r"'laod' is unknown; did you mean load\? Allowed are read, probe"):
        parse("laod", typed=["laod"])


def test_an_empty_value_is_refused() -> None:
    with pytest.raises(UsageError, match="no word given"):
        parse(" , ", typed=())
