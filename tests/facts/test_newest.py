"""The newest lines, joined to those that are known."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_dflash.facts.journal import Entry, Journal
from pytest_dflash.facts.newest import LINES, NEWEST, Newest, continued
from pytest_dflash.facts.probe import Reply
from pytest_dflash.facts.reading import Reading, Silent, Value

INVOCATION = "217f6c5db2274d2cb95ed5d68f8c2693"


def entry(number: int) -> Entry:
    return Entry(1_795_969_958_000_000 + number, number, 77, 6, f"line {number}")


def raw(number: int) -> str:
    return json.dumps(
        {
            "__REALTIME_TIMESTAMP": str(entry(number).realtime_us),
            "__MONOTONIC_TIMESTAMP": str(number),
            "_PID": "77",
            "PRIORITY": "6",
            "MESSAGE": f"line {number}",
        }
    )


def read(*lines: str) -> Reading[Newest]:
    return NEWEST.parse(Reply("\n".join(lines).encode()))


def journal(*numbers: int) -> Journal:
    return Journal(INVOCATION, tuple(map(entry, numbers)), reaches_start=True, whole=True)


def newest(*numbers: int) -> Reading[Newest]:
    return read(f"invocation {INVOCATION}", *map(raw, numbers), "end", "")


def test_lines_that_came_since_are_added_and_none_twice() -> None:
    assert continued(journal(0, 1, 2), newest(1, 2, 3, 4)) == journal(0, 1, 2, 3, 4)
    assert continued(journal(0, 1, 2), newest(1, 2)) == journal(0, 1, 2)


def test_what_is_proven_of_the_known_part_stays_proven() -> None:
    known = replace(journal(0), reaches_start=False, whole=False, gap="3 lines could not be read")
    found = continued(known, newest(0, 1))
    assert found == replace(known, entries=journal(0, 1).entries)


@pytest.mark.parametrize(
    "told",
    [
        newest(5, 6),
        newest(),
        read("invocation another", raw(1), "end"),
        read(f"invocation {INVOCATION}", raw(1)),
        read(f"invocation {INVOCATION}", raw(1), "{cut", "end"),
        read(""),
    ],
    ids=["gap", "nothing", "another invocation", "cut", "unreadable", "not running"],
)
def test_what_does_not_fit_together_is_to_be_read_again(told: Reading[Newest]) -> None:
    assert continued(journal(0, 1, 2), told) is None


def test_an_answer_that_ends_early_is_silent() -> None:
    assert isinstance(read(f"invocation {INVOCATION}", raw(1)), Silent)
    assert read("") == Silent("the unit has no invocation: it is not running", "systemctl show")


@given(st.binary())
def test_any_answer_is_read(answer: bytes) -> None:
    assert isinstance(NEWEST.parse(Reply(answer)), (Value, Silent))


@given(st.integers(1, 3 * LINES), st.lists(st.integers(0, LINES // 2), max_size=8))
def test_look_after_look_gives_the_whole_log(first: int, steps: list[int]) -> None:
    total, known = first, journal(*range(first))
    for step in steps:
        total += step
        found = continued(known, Value(Newest(INVOCATION, journal(*range(total)).entries[-LINES:])))
        assert found is not None
        known = found
    assert known == journal(*range(total))
