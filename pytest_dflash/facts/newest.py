"""The newest lines of an invocation whose earlier ones are known: what a wait asks for, look after look.

Law: a question and a total reader, and the joining of both parts; no decisions. A start-up may log thousands of
lines, so that reading them all again every half second would be a load of its own.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from pytest_dflash.facts.journal import ASK, FIELDS, Entry, Journal, read_lines
from pytest_dflash.facts.probe import Probe, Reply
from pytest_dflash.facts.reading import Reading, Silent, Value

LINES = 100


@dataclass(frozen=True, slots=True)
class Newest:
    """The last lines of an invocation, oldest first. `unread`: how many of them could not be read."""

    invocation_id: str
    entries: tuple[Entry, ...]
    unread: int = 0


_SCRIPT = rf"""{ASK}
[ -n "$INVOCATION" ] || exit 0
echo "invocation $INVOCATION"
ask -a --output-fields={FIELDS} -n {LINES} "_SYSTEMD_INVOCATION_ID=$INVOCATION" \
    + "${{OF}}INVOCATION_ID=$INVOCATION" + "OBJECT_SYSTEMD_INVOCATION_ID=$INVOCATION"
echo end
"""


def _read(reply: Reply) -> Reading[Newest]:
    lines = reply.text.split("\n")
    named = [line.partition(" ")[2].strip() for line in lines if line.startswith("invocation ")]
    if not named or not named[0]:
        return Silent("the unit has no invocation: it is not running", "systemctl show")
    if "end" not in lines:
        return reply.silence("journalctl")
    read, unread = read_lines(line for line in lines if line.startswith("{"))
    return Value(Newest(named[0], tuple(line.entry for line in read), unread), "journal")


NEWEST: Probe[Newest] = Probe("journal-newest", _SCRIPT, _read)
"""`-n` counts from the end. The first of these lines may be the second half of a split one: it is known already."""


def continued(known: Journal, newest: Reading[Newest]) -> Journal | None:
    """What is known, with the lines that came since; None where that does not fit together.

    It does not when another invocation runs, when something could not be read, and when not one of the newest
    lines is a known one: then lines in between may be missing, and everything is to be read again.
    """
    if (
        not isinstance(newest, Value)
        or newest.value.unread
        or newest.value.invocation_id != known.invocation_id
    ):
        return None
    entries = newest.value.entries
    had = set(known.entries[-4 * LINES :])
    at = max((place for place, entry in enumerate(entries) if entry in had), default=None)
    if at is None:
        return None
    return replace(known, entries=known.entries + entries[at + 1 :])
