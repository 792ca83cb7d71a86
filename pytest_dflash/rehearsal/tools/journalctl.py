"""journalctl, as of systemd 252: selection by field, `-o json` with its two traps.

Law: without -a a field over 4096 bytes is null; a message with control characters is a list of bytes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pytest_dflash.rehearsal.journal import Fields
from pytest_dflash.rehearsal.tools import Answer, unknown

if TYPE_CHECKING:
    from pytest_dflash.rehearsal.manager import Manager

SHORT = 4096  # bytes of a field that -o json shows without -a
ALWAYS = ("__CURSOR", "__REALTIME_TIMESTAMP", "__MONOTONIC_TIMESTAMP", "_BOOT_ID")
FLAGS = {
    "-a": "whole",
    "--all": "whole",
    "-r": "newest_first",
    "--reverse": "newest_first",
    "-k": "kernel",
    "--dmesg": "kernel",
    "-b": "this_boot",
    "--boot": "this_boot",
}
IGNORED = ("--no-pager", "-q", "--quiet", "--no-hostname", "--utc", "--system")


@dataclass(slots=True)
class Question:
    """A call of journalctl, taken apart."""

    whole: bool = False
    newest_first: bool = False
    kernel: bool = False
    this_boot: bool = False
    form: str = "short"
    last: int | None = None
    since_us: int = 0
    fields: tuple[str, ...] = ()
    units: list[str] = field(default_factory=list)
    matches: list[str] = field(default_factory=list)


def _parse(argv: Sequence[str]) -> Question | str:
    """The question, or what is not known about it."""
    question, rest = Question(), [part for word in argv for part in _apart(word)]
    while rest:
        word = rest.pop(0)
        if word in FLAGS:
            setattr(question, FLAGS[word], True)
        elif word in TAKING and rest:
            try:
                TAKING[word](question, rest.pop(0))
            except ValueError as unreadable:
                return f"value of {word}: {unreadable}"
        elif word == "+" or (not word.startswith("-") and "=" in word):
            question.matches.append(word)
        elif word not in IGNORED:
            return f"option {word!r}"
    return question


def _since(question: Question, value: str) -> None:
    if not value.startswith("@"):
        raise ValueError(value)
    question.since_us = int(float(value[1:]) * 1e6)


def _lines(question: Question, value: str) -> None:
    question.last = int(value)


def _form(question: Question, value: str) -> None:
    question.form = value


def _output_fields(question: Question, value: str) -> None:
    question.fields = tuple(value.split(","))


def _unit(question: Question, value: str) -> None:
    question.units.append(value)


TAKING: dict[str, Callable[[Question, str], None]] = {
    "-o": _form,
    "--output": _form,
    "-n": _lines,
    "--lines": _lines,
    "-u": _unit,
    "--unit": _unit,
    "-S": _since,
    "--since": _since,
    "--output-fields": _output_fields,
}


def _apart(word: str) -> list[str]:
    """`--option=value` and `-n5` as two words; a match stays one."""
    if word.startswith("--") and "=" in word and word not in IGNORED:
        return word.split("=", 1)
    if word[:2] in ("-n", "-o") and len(word) > 2:
        return [word[:2], word[2:]]
    return [word]


def answer(argv: Sequence[str], manager: Manager) -> Answer:
    """`journalctl argv`."""
    question = _parse(argv)
    if isinstance(question, str):
        return unknown("journalctl", question)
    if question.form not in ("json", "cat", "short"):
        return unknown("journalctl", f"output {question.form!r}")
    entries: Iterable[Fields] = manager.log.select(question.matches)
    if question.kernel:
        entries = (entry for entry in entries if entry["_TRANSPORT"] == "kernel")
    if question.kernel or question.this_boot:
        entries = (entry for entry in entries if entry["_BOOT_ID"] == manager.log.boot)
    if question.units:
        entries = (
            entry
            for entry in entries
            if {entry.get("_SYSTEMD_UNIT"), entry.get("UNIT")} & set(question.units)
        )
    chosen = [entry for entry in entries if int(entry["__REALTIME_TIMESTAMP"]) >= question.since_us]
    if question.last is not None:
        chosen = chosen[len(chosen) - min(question.last, len(chosen)) :]
    if question.newest_first:
        chosen.reverse()
    if not chosen and question.form != "json":
        return Answer("-- No entries --\n")
    return Answer("".join(_line(entry, question) + "\n" for entry in chosen))


def _line(entry: Fields, question: Question) -> str:
    if question.form == "cat":
        return entry["MESSAGE"]
    if question.form == "short":
        who = f"{entry['SYSLOG_IDENTIFIER']}[{entry['_PID']}]" if "_PID" in entry else "kernel"
        return f"{entry['_HOSTNAME']} {who}: {entry['MESSAGE']}"
    named = (name for name in entry if not question.fields or name in question.fields or name in ALWAYS)
    return json.dumps(
        {name: _value(entry[name], whole=question.whole) for name in named}, separators=(",", ":")
    )


def _value(text: str, *, whole: bool) -> Any:
    data = text.encode("utf-8", "surrogateescape")
    if len(data) > SHORT and not whole:
        return None
    unprintable = any(byte < 0x20 and byte not in b"\n\t" for byte in data) or b"\x7f" in data
    return list(data) if unprintable or any("\udc80" <= character <= "\udcff" for character in text) else text
