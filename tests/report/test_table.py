"""A judgement as a person reads it."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_dflash.findings import Evidence, Json, Judgement, Outcome, failed
from pytest_dflash.report.table import HIDDEN, shortened, spelled, table, told, visible

UNIT = "/etc/systemd/system/sglang-k26-ddtree.service:14"


def row(source: str, value: Json = None, where: str | None = None, *, differs: bool = False) -> Evidence:
    return Evidence(source=source, reading="value", value=value, where=where, differs=differs)


def of(*rows: Evidence) -> Judgement:
    return Judgement(outcome=Outcome.FAIL, summary="s", evidence=rows)


def test_a_failure_reads_as_one_sentence_one_table_and_the_cause() -> None:
    judgement = failed(
        "draft-window drifted between server_info and draft_runner_log: expected 2048, found None",
        evidence=(
            row("unit_file", 2048, UNIT),
            row("loaded_unit", 2048, "systemctl show"),
            row("process_argv", 2048, "pid 4121, as old-draft-window"),
            row("server_args_log", 2048, "journal, invocation 3f2c…, +11.4 s"),
            row("server_info", 2048, "GET /server_info"),
            row("draft_runner_log", None, "journal, +64.0 s", differs=True),
        ),
        cause="The target was told and the draft was not",
        remedy="Ask for the fork's own flag",
    )
    assert told(judgement) == [
        "draft-window drifted between server_info and draft_runner_log: expected 2048, found None",
        f"  unit file         2048   {UNIT}",
        "  loaded unit       2048   systemctl show",
        "  process argv      2048   pid 4121, as old-draft-window",
        "  server args log   2048   journal, invocation 3f2c…, +11.4 s",
        "  server info       2048   GET /server_info",
        "✗ draft runner log  None   journal, +64.0 s",
        "The target was told and the draft was not.",
        "Ask for the fork's own flag.",
    ]


def test_a_judgement_without_evidence_has_no_table() -> None:
    assert table(of()) == []


def test_absent_is_a_dash_and_silent_says_why() -> None:
    rows = table(
        of(
            Evidence(source="unit_file", reading="absent", where=UNIT),
            Evidence(
                source="server_info", reading="silent", why="connection refused", where="GET /server_info"
            ),
        )
    )
    assert rows == [f"  unit file    -   {UNIT}", "  server info  silent: connection refused"]


def test_a_long_silence_does_not_push_the_other_rows_apart() -> None:
    rows = table(of(row("a", 1, "here"), Evidence(source="b", reading="silent", why="x" * 90)))
    assert rows[0] == "  a  1   here"


def test_a_long_value_is_shortened_in_the_middle() -> None:
    assert shortened("a" * 40 + "b" * 40, 48) == "a" * 31 + "…" + "b" * 16
    assert len(shortened("x" * 1000, 48)) == 48
    assert shortened("short", 48) == "short"


@pytest.mark.parametrize(
    "value, text",
    [
        (None, "None"),
        (2048, "2048"),
        (0.9, "0.9"),
        ("SYS", "SYS"),
        ("", '""'),
        ([1, 3], "[1, 3]"),
        ({"a": "ü"}, '{"a": "ü"}'),
        ({"on": True}, '{"on": true}'),
    ],
)
def test_a_value_is_spelled_as_a_profile_spells_it(value: Json, text: str) -> None:
    assert spelled(value) == text


@pytest.mark.parametrize(
    "text, shown",
    [
        ("\x1b[2Jgone", r"\x1b[2Jgone"),
        ("two\nlines\ttab\r", r"two\nlines\ttab\r"),
        ("\x9b31m", r"\x9b31m"),
        ("evil\u202ecod", r"evil\u202ecod"),
        ("\ud800", r"\ud800"),
        ("\U000e0041", r"\U000e0041"),
        ("Grüße, 世界", "Grüße, 世界"),
    ],
)
def test_what_could_move_the_cursor_or_hide_text_is_made_visible(text: str, shown: str) -> None:
    assert visible(text) == shown


@given(st.text(), st.text(), st.text())
def test_no_text_from_a_host_reaches_a_terminal_unseen(source: str, value: str, where: str) -> None:
    judgement = failed(value, evidence=(row(source, value, where, differs=True),), cause=where)
    for line in told(judgement):
        assert not [letter for letter in line if unicodedata.category(letter) in HIDDEN]
