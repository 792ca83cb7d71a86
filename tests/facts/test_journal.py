"""What may be said about the log of one invocation, and what not."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_dflash.facts.journal import JOURNAL, Entry, Journal, read_lines
from pytest_dflash.facts.probe import Reply
from pytest_dflash.facts.reading import Value
from tests.facts.probes import CASES, reply

START_US = 100_000_000
INVOCATION = "217f6c5db2274d2cb95ed5d68f8c2693"


def line(after_us: int, message: object = "x", **rest: str) -> str:
    fields = {
        "__CURSOR": f"c{after_us}",
        "__REALTIME_TIMESTAMP": str(1_795_969_958_000_000 + after_us),
        "__MONOTONIC_TIMESTAMP": str(START_US + after_us),
        "_PID": "77",
        "_UID": "999",
        "MESSAGE": message,
    }
    return json.dumps(fields | rest)


def manager(after_us: int) -> str:
    return line(after_us, "Started x.", _PID="1", _UID="0", INVOCATION_ID=INVOCATION)


def journal(*lines: str, start: str = str(START_US)) -> Journal:
    text = "\n".join((f"invocation {INVOCATION}", f"start {start}", *lines, "end", ""))
    read = JOURNAL.parse(Reply(text.encode()))
    assert isinstance(read, Value)
    return read.value


@pytest.mark.parametrize(
    "unit, named, said",
    [
        ("user@999.service", "USER_INVOCATION_ID", True),
        ("user@999.service", "INVOCATION_ID", False),
        ("sglang.service", "USER_INVOCATION_ID", False),
    ],
)
def test_the_manager_of_a_user_is_known_by_what_nobody_else_can_write(
    *, unit: str, named: str, said: bool
) -> None:
    (entry,) = journal(line(100, "Started x.", _PID="154", _SYSTEMD_UNIT=unit, **{named: INVOCATION})).entries
    assert entry.from_manager is said


def test_the_managers_start_line_proves_that_the_log_reaches_back() -> None:
    assert journal(manager(100), line(40_000_000)).reaches_start


def test_a_line_of_the_first_seconds_proves_it_too() -> None:
    assert journal(line(4_400_000)).reaches_start


def test_late_lines_alone_prove_nothing() -> None:
    assert not journal(line(7_000_000_000)).reaches_start


def test_a_log_of_unknown_start_proves_nothing() -> None:
    assert not journal(line(100), start="0").reaches_start


def test_the_managers_line_does_not_speak_for_the_file_of_an_ordinary_user() -> None:
    assert not journal(manager(100), line(7_000_000_000, _UID="1000")).reaches_start
    assert journal(manager(100), line(90_000_000, _UID="1000")).reaches_start


def test_a_young_process_that_said_nothing_yet_has_a_log_that_reaches_back() -> None:
    assert journal(manager(100)).reaches_start


@pytest.mark.parametrize(
    "lines, gap",
    [
        (
            (line(1), "more", line(2)),
            "the middle was left out: only the first 4000 and the last 400 lines were read",
        ),
        ((line(1), line(2, None)), "journalctl gave no text for 1 lines"),
        ((line(1), '{"MESSAGE": "cut'), "1 lines could not be read"),
        (
            (line(1), line(2, "Suppressed 31 messages from x.service", N_DROPPED="31")),
            "journald suppressed 31 messages of this unit (RateLimitBurst)",
        ),
    ],
)
def test_a_gap_is_named(lines: tuple[str, ...], gap: str) -> None:
    read = journal(*lines)
    assert not read.whole
    assert read.gap == gap


def test_overlapping_parts_are_one_whole_log() -> None:
    read = journal(line(1), line(2), "more", line(2), line(3))
    assert (read.whole, len(read.entries)) == (True, 3)


@pytest.mark.parametrize(
    "message, text",
    [
        ("plain\ttext", "plain\ttext"),
        (list(b"\x1b[1;33mwarning\x1b[0m"), "warning"),
        (list("50%\rüber".encode()), "50%\rüber"),
        (list(b"\xff"), "\ufffd"),
        (["first of two", "second"], "first of two"),
        ("\x1b]0;title\x07done\r\n", "done"),
    ],
)
def test_a_message_is_text_however_journalctl_writes_it(message: object, text: str) -> None:
    assert journal(line(1, message)).entries[0].message == text


def test_a_line_that_journald_split_is_one_line() -> None:
    lines, unread = read_lines(
        [
            line(1, "server_args=", _LINE_BREAK="line-max", _STREAM_ID="a"),
            line(2, "another's", _STREAM_ID="b"),
            line(3, "{}", _STREAM_ID="a"),
            line(4, "next", _STREAM_ID="a"),
        ]
    )
    assert [each.entry.message for each in lines] == ["server_args={}", "another's", "next"]
    assert unread == 0


@given(st.lists(st.text(max_size=40), max_size=8))
def test_every_message_comes_back_in_order(messages: list[str]) -> None:
    lines, _ = read_lines([line(number, message) for number, message in enumerate(messages)])
    assert len(lines) == len(messages)


def test_lines_lost_during_the_start_are_told_from_lines_lost_later() -> None:
    def said(*messages: str) -> Journal:
        entries = tuple(Entry(n, n, 1, 6, message) for n, message in enumerate(messages))
        return Journal("i", entries, reaches_start=True, whole=False, gap="journald suppressed 3 messages")

    lost = "Suppressed 3 messages from a.service"
    assert said("first", lost, "[10:00:01] ready").lost_before("ready")
    assert not said("first", "[10:00:01] ready", lost).lost_before("ready")
    assert not said("first", "the user wrote: Suppressed 3 messages from", "ready").lost_before("ready")


@settings(max_examples=20, deadline=None)
@given(data=st.data())
def test_a_journal_that_was_cut_is_never_called_whole(data: st.DataObject) -> None:
    whole = reply(CASES / "journal" / "small").stdout
    cut = data.draw(st.integers(0, whole.rindex(b"end")))
    reading = JOURNAL.parse(Reply(whole[:cut]))
    assert not isinstance(reading, Value) or not reading.value.whole
