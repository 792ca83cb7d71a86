"""An engine's own lines in the log of an invocation, and how a start is found and followed in them.

Law: how lines are gone through; their wordings stand with their engine.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from pytest_dflash.facts.journal import Entry, Journal

LONGEST = 4000
"""Characters of a line's end that are looked at: a progress bar writes all its states on one line."""

Phases = Sequence[tuple[re.Pattern[str], str]]
"""What a line tells of a start, the first that fits counts; `{a}` and `{b}` are groups of the pattern."""


@dataclass(frozen=True, slots=True)
class Said:
    """One line without its prefix.

    `who`: the process as it calls itself ("DP0 TP0", "EngineCore_DP0"), "" for a single or a main one.
    """

    text: str
    who: str
    entry: Entry


def spoken(journal: Journal, said: Callable[[Entry], Said]) -> Iterator[Said]:
    """The engine's own lines, oldest first; what pid 1 says about the unit is left out."""
    return (said(entry) for entry in journal.entries if not entry.from_manager)


def last_start(lines: Sequence[Said], begins: Callable[[str], object]) -> tuple[Said | None, Sequence[Said]]:
    """The newest line that begins a start, and all lines after it; all lines where there is none."""
    for at in range(len(lines) - 1, -1, -1):
        if begins(lines[at].text):
            return lines[at], lines[at + 1 :]
    return None, lines


def newest_phase(
    lines: Sequence[Said], phases: Phases, skipped: Callable[[str], object] = lambda _: None
) -> str:
    """What a start is busy with, by the newest telling line; "" when none tells."""
    for line in reversed(lines):
        for text in reversed(line.text[-LONGEST:].split("\r")):
            for pattern, words in () if skipped(text) else phases:
                if found := pattern.search(text):
                    return words.format(**found.groupdict())
    return ""


def of_pid(said: Said) -> str:
    """Whose line it is, as a place to look at: " of pid 4121"; "" where the log does not tell."""
    return f" of pid {said.entry.pid}" if said.entry.pid else ""
