"""The few lines of a log that tell why a start failed.

Law: pure, entries in, entries out, in their own order. A log is chosen from by what a line is (a word of the
manager's, an error, the last line of a traceback), never by which engine wrote it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from pytest_dflash.facts.journal import Entry

MOST, LAST = 8, 3
"""How many lines a person reads, and how many of the last ones where none explains."""

ERROR_PRIORITY = 3
"""syslog's `err`; 0 to 2 are worse."""

MANAGER = re.compile(
    r"Main process exited|Failed with result|Failed at step|Failed to (?:start|load|execute|locate)|[Uu]nable to "
    r"locate executable|repeated too quickly|killed by the OOM killer|Watchdog timeout|[Tt]imed out|Refusing"
)
"""What pid 1 says about an end. Its "Started" and "Scheduled restart job" explain nothing."""

COMPLAINT = re.compile(
    r"(?:^|[\s\]:])(?:error|fatal|critical)\b(?:[:\s\]]|$)|\b\w+(?:Error|Exception|Exit|Interrupt): "
    r"|Initialization failed|out of memory|[Aa]ddress already in use|received? sig|crashed with exit code",
    re.IGNORECASE,
)
"""Lines of the service that speak of an error: argparse's, a logger's, an exception's last line."""

HARMLESS = re.compile(r"\b(?:ignor(?:e|ed|ing)|warning|deprecated)\b", re.IGNORECASE)
"""An error that somebody shrugged off ends nothing."""

TRACEBACK = "Traceback (most recent call last)"
_STAMP = re.compile(
    r"\[?\d{4}-\d\d-\d\d[T ][\d:.,]+\]?|\bpid[=: ]\d+|\b[TDPE]P\d+\b|\brank ?\d+", re.IGNORECASE
)


def explaining(entries: Sequence[Entry], most: int = MOST) -> tuple[Entry, ...]:
    """The lines that explain an end, oldest first, at most so many.

    Lines that differ only in time, pid or rank are one, with how often it came in its text. The newest ones win,
    apart from the first complaint, which is where it began. Without any: the last lines.
    """
    found = _once(list(_chosen(entries)))
    if not found:
        return tuple(entries[-LAST:])
    return tuple(found if len(found) <= most else [found[0], *found[-(most - 1) :]])


def _chosen(entries: Iterable[Entry]) -> Iterator[Entry]:
    """Entries that tell; inside a traceback only the line that ends it."""
    inside: set[int | None] = set()
    for entry in entries:
        text = entry.message
        if entry.from_manager:
            if MANAGER.search(text):
                yield entry
        elif TRACEBACK in text:
            last = text.rstrip().rpartition("\n")[2]
            if last and TRACEBACK not in last and not last.startswith(" "):
                yield replace(entry, message=last)  # a whole traceback in one entry
            else:
                inside.add(entry.pid)
        elif entry.pid in inside:
            if text.strip() and not text.startswith(" "):
                inside.discard(entry.pid)
                yield entry
        elif _complains(entry):
            yield entry


def _complains(entry: Entry) -> bool:
    """Whether a line of the service speaks of an error."""
    if entry.priority is not None and entry.priority <= ERROR_PRIORITY:
        return True
    return COMPLAINT.search(entry.message) is not None and HARMLESS.search(entry.message) is None


def _once(entries: Sequence[Entry]) -> list[Entry]:
    """The same entries, each text once, at the place where it came first."""
    times: dict[str, int] = {}
    first: dict[str, Entry] = {}
    for entry in entries:
        text = _STAMP.sub("", entry.message).strip()
        times[text] = times.get(text, 0) + 1
        first.setdefault(text, entry)
    return [
        replace(entry, message=f"{entry.message} ({times[text]} times)") if times[text] > 1 else entry
        for text, entry in first.items()
    ]
