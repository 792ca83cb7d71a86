"""A start is found and followed in an engine's lines."""

from __future__ import annotations

import re

from pytest_dflash.engines.lines import Said, last_start, newest_phase, of_pid, spoken
from pytest_dflash.facts.journal import Entry, Journal

PHASES = ((re.compile(r"shard (?P<a>\d+)"), "shard {a}"), (re.compile("begin"), "beginning"))


def said(text: str, pid: int | None = 7) -> Said:
    return Said(text, "", Entry(1, 1, pid, 6, text))


def test_the_managers_lines_are_not_the_engines() -> None:
    entries = (Entry(1, 1, 1, 6, "Started", from_manager=True), Entry(2, 2, 7, 6, "mine"))
    journal = Journal("1f", entries, reaches_start=True, whole=True)
    assert [line.text for line in spoken(journal, lambda entry: said(entry.message))] == ["mine"]


def test_the_newest_start_counts() -> None:
    lines = [said(text) for text in ("begin 1", "old", "begin 2", "new")]
    assert last_start(lines, re.compile("begin").match) == (lines[2], lines[3:])
    assert last_start(lines[1:2], re.compile("begin").match) == (None, lines[1:2])


def test_the_last_state_of_a_progress_bar_is_the_phase() -> None:
    lines = [said("begin"), said("shard 1\rshard 2\rshard 3"), said("nothing")]
    assert newest_phase(lines, PHASES) == "shard 3"
    assert newest_phase(lines, PHASES, re.compile("shard").match) == "beginning"
    assert newest_phase([], PHASES) == ""


def test_a_line_without_a_pid_names_none() -> None:
    assert (of_pid(said("x")), of_pid(said("x", None))) == (" of pid 7", "")
