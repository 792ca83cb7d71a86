"""The journal of one invocation.

Law: entries and their order, nothing about engines. "Not in the log" needs proof that the log of this
invocation is readable and reaches back to its start; `Journal` carries that proof.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from pytest_dflash.facts.digits import whole
from pytest_dflash.facts.probe import Probe, Reply
from pytest_dflash.facts.reading import Reading, Silent, Value

SUPPRESSED = re.compile(r"Suppressed \d+ messages? from ")
"""journald's own line in place of those that its rate limit dropped."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One line. `message` is decoded text without ANSI colours, split lines joined; `from_manager`: said by pid 1."""

    realtime_us: int
    monotonic_us: int | None
    pid: int | None
    priority: int | None
    message: str
    from_manager: bool = False
    cmdline: str = ""


@dataclass(frozen=True, slots=True)
class Journal:
    """The lines of one invocation, oldest first.

    Attributes:
        invocation_id: Whose lines these are.
        entries: All that was read: the first ones, and the last ones.
        reaches_start: The oldest kept line is from the process's first seconds, so nothing was rotated away.
        whole: No gap between the first and the last part; False when the middle was left out for size.
        start_monotonic_us: When the process started; offsets (+11.4 s) are counted from here.
        gap: Why it is not whole, in words; empty when it is.
    """

    invocation_id: str
    entries: tuple[Entry, ...]
    reaches_start: bool
    whole: bool
    start_monotonic_us: int | None = None
    gap: str = ""

    @property
    def unproving(self) -> str | None:
        """Why a line that is not here may have been written all the same; None where it was not."""
        if not self.entries:
            return "no line of this invocation could be read"
        if not self.reaches_start:
            return "the log no longer reaches back to this start"
        return None if self.whole else self.gap or "the middle of the log was left out"

    def lost_before(self, text: str) -> bool:
        """Whether journald dropped lines before the last one that ends with `text`: it says so where it goes on."""
        at = max((i for i, entry in enumerate(self.entries) if entry.message.endswith(text)), default=0)
        return any(SUPPRESSED.match(entry.message) for entry in self.entries[:at])

    def after_start(self, entry: Entry) -> str:
        """When a line was written, counted from the process's start: "+11.4 s"; "" where a clock is missing."""
        if entry.monotonic_us is None or self.start_monotonic_us is None:
            return ""
        return f"{(entry.monotonic_us - self.start_monotonic_us) / 1e6:+.1f} s"


@dataclass(frozen=True, slots=True)
class Line:
    """One line of `journalctl -o json` with its fields, for those who need more than the `Entry`."""

    entry: Entry
    fields: Mapping[str, object]
    told: bool = True  # False: journalctl gave null for the message

    def text(self, name: str) -> str:
        """A field as text; empty when it is missing."""
        return _text(self.fields.get(name)) or ""


_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")


def _text(value: object) -> str | None:
    """A field's text: a string, a list of bytes (journalctl's form for control characters), or null.

    A field that was given several times is a list of these; the first one counts.
    """
    if isinstance(value, list) and not all(isinstance(byte, int) for byte in value):
        value = next((each for each in value[:16] if isinstance(each, (str, list))), None)
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(byte, int) and 0 <= byte < 256 for byte in value):
        return bytes(value).decode("utf-8", "replace")
    return None


def read_lines(lines: Iterable[str]) -> tuple[list[Line], int]:
    """The journal's lines, in order, split ones joined, and how many could not be read (cut, no JSON)."""
    found: list[Line] = []
    unread = 0
    split: dict[tuple[str, str], int] = {}
    for raw in lines:
        if not raw.strip():
            continue
        line = _read_line(raw)
        if line is None:
            unread += 1
            continue
        stream = (line.text("_STREAM_ID"), line.text("_PID"))
        index = split.pop(stream, None)
        if index is None:
            found.append(line)
            index = len(found) - 1
        else:
            earlier = found[index]
            joined = replace(earlier.entry, message=earlier.entry.message + line.entry.message)
            found[index] = replace(earlier, entry=joined)
        if line.text("_LINE_BREAK") == "line-max":
            split[stream] = index
    return found, unread


def _of_manager(pid: int | None, fields: Mapping[str, object], unit: str) -> bool:
    """Whether a manager says it: the system's, or the one of a user. The unit's name is a field that nobody forges."""
    if unit.startswith("user@") and "USER_INVOCATION_ID" in fields:
        return True
    return pid == 1 and "INVOCATION_ID" in fields


def _read_line(raw: str) -> Line | None:
    try:
        fields = json.loads(raw)
    except (ValueError, RecursionError):
        return None
    if not isinstance(fields, dict):
        return None
    get = {name: _text(value) or "" for name, value in fields.items()}.get
    realtime = whole(get("__REALTIME_TIMESTAMP", ""))
    message = _text(fields.get("MESSAGE"))
    if realtime is None:
        return None
    pid = whole(get("_PID", ""))
    entry = Entry(
        realtime_us=realtime,
        monotonic_us=whole(get("__MONOTONIC_TIMESTAMP", "")),
        pid=pid,
        priority=whole(get("PRIORITY", "")),
        message=_ANSI.sub("", message or "").rstrip("\r\n"),
        from_manager=_of_manager(pid, fields, get("_SYSTEMD_UNIT", "")),
        cmdline=get("_CMDLINE", ""),
    )
    return Line(entry, fields, told=message is not None)


FIRST_LINES, FIRST_BYTES, LAST_LINES = 4000, 8_000_000, 400
"""How much of an invocation is read: its start-up, and what it says now."""
LONGEST = {"first": 1_000_000, "last": 20_000}
"""Bytes of a line that is read, as journalctl prints it; a start's arguments take 50 000 at most, and four times as many
where they hold a control character. What is longer is left out, and the journal says so. `cut` comes before awk: mawk
takes half a minute to gather a line of 50 MB."""

FIELDS = "MESSAGE,MESSAGE_ID,PRIORITY,_PID,_UID,_STREAM_ID,_LINE_BREAK,INVOCATION_ID,USER_INVOCATION_ID,_SYSTEMD_UNIT,N_DROPPED"

ASK = r"""
command -v journalctl >/dev/null || exit 127
ask() {
    timeout 20 journalctl -o json --no-pager "$@" && return
    code=$?
    [ $code -ne 124 ] || echo 'journalctl timed out after 20 s' >&2
    return $code
}
"""
"""sh: `ask ARGUMENTS` asks journalctl for JSON lines, with a deadline."""

_SCRIPT = rf"""{ASK}
[ -n "$INVOCATION" ] || {{ echo none; exit; }}
lines() {{
    ask -a --output-fields={FIELDS} "$@" "_SYSTEMD_INVOCATION_ID=$INVOCATION" \
        + "${{OF}}INVOCATION_ID=$INVOCATION" + "OBJECT_SYSTEMD_INVOCATION_ID=$INVOCATION"
}}
echo "invocation $INVOCATION"
echo "start $(timeout 10 ${{SYSTEMCTL:-systemctl}} show --no-pager -p ExecMainStartTimestampMonotonic --value -- "$UNIT")"
lines | cut -b 1-{LONGEST["first"] + 1} | awk '
    length($0) > {LONGEST["first"]} {{ print "long"; next }}
    {{ bytes += length($0) }}
    NR > {FIRST_LINES} || bytes > {FIRST_BYTES} {{ more = 1; exit 1 }}
    {{ print }}
    END {{ if (more) exit 1; if (!NR) exit 2 }}'
case $? in
    1) echo more; lines -n {LAST_LINES} | cut -b 1-{LONGEST["last"] + 1} |
        awk 'length($0) > {LONGEST["last"]} {{ print "long"; next }} {{ print }}' ;;
    2) echo nothing; ask --output-fields=PRIORITY -n 1 _PID=1 ;;
esac
echo end
"""


def unheard(reply: Reply, where: str = "journal") -> Silent:
    """Why journalctl gave no line at all, not even one of pid 1. It ends with 0 and says nothing to strangers."""
    complaint = [line for line in reply.stderr.decode("utf-8", "replace").splitlines() if line.strip()]
    if complaint and "insufficient permissions" not in complaint[-1]:
        return Silent(f"journalctl told nothing: {complaint[-1].strip()[:200]}", where)
    return Silent(
        "the journal gives nothing to this user: journalctl ends with 0 and prints no line. "
        "Put the user into the group systemd-journal, or read with sudo (--sudo)",
        where,
    )


def _read_journal(reply: Reply) -> Reading[Journal]:
    words: dict[str, str] = {}
    parts: list[list[str]] = [[]]
    long = 0
    for raw in reply.text.split("\n"):
        if raw.startswith("{"):
            parts[-1].append(raw)
            continue
        word, _, rest = raw.partition(" ")
        words.setdefault(word, rest)
        long += raw == "long"
        if word in {"more", "nothing"}:
            parts.append([])
    invocation = words.get("invocation", "")
    where = f"journal, invocation {invocation[:8]}…"
    if "none" in words and not invocation:
        return Silent("the unit has no invocation: it is not running", "systemctl show")
    first, unread = read_lines(parts[0])
    last, unread_last = read_lines(parts[1]) if "more" in words and len(parts) > 1 else ([], 0)
    if not first and "nothing" in words and any(parts[1:]):
        return Silent("the journal keeps no line of this invocation: rotated away, or never written", where)
    if not first:
        return unheard(reply, where) if "nothing" in words else reply.silence("journalctl")
    cursors = {line.text("__CURSOR") for line in first}
    overlap = any(line.text("__CURSOR") in cursors for line in last)
    lines = [*first, *(line for line in last if line.text("__CURSOR") not in cursors)]
    gap = "; ".join(
        _gaps(lines, unread + unread_last, long, cut="end" not in words, left_out=bool(last) and not overlap)
    )
    start = whole(words.get("start", "")) or _manager_start(lines)
    return Value(
        Journal(
            invocation_id=invocation,
            entries=tuple(line.entry for line in lines if "N_DROPPED" not in line.fields),
            reaches_start=_reaches_start(lines, start),
            whole=not gap,
            start_monotonic_us=start,
            gap=gap,
        ),
        where,
    )


def _gaps(lines: Sequence[Line], unread: int, long: int, *, cut: bool, left_out: bool) -> Iterator[str]:
    """Why lines of this invocation may be missing between the first and the last."""
    if cut:
        yield "the answer ended early"
    if left_out:
        yield f"the middle was left out: only the first {FIRST_LINES} and the last {LAST_LINES} lines were read"
    if unread:
        yield f"{unread} lines could not be read"
    if long:
        yield f"{long} lines are longer than anybody reads, and were left out"
    if untold := sum(not line.told for line in lines):
        yield f"journalctl gave no text for {untold} lines"
    if dropped := sum(whole(line.text("N_DROPPED")) or 0 for line in lines):
        yield f"journald suppressed {dropped} messages of this unit (RateLimitBurst)"


_START_IDS = {"39f53479d3a045ac8e11786248231fbf", "7d4958e842da4a758f6c1cdc7b36dcc5"}
"""SD_MESSAGE_UNIT_STARTED and SD_MESSAGE_UNIT_STARTING."""

_AT_START_US = 5_000_000
_FIRST_WORDS_US = 600_000_000
_FIRST_USER_UID = 1000


def _manager_start(lines: Iterable[Line]) -> int | None:
    started = (
        line.entry for line in lines if line.text("MESSAGE_ID") in _START_IDS and line.entry.from_manager
    )
    return next((entry.monotonic_us for entry in started), None)


def _reaches_start(lines: Sequence[Line], start: int | None) -> bool:
    """Whether the oldest lines are kept: somebody spoke in the process's first seconds.

    Lines of users from uid 1000 on lie in a file of their own, which is rotated apart from pid 1's: there
    the service's own first words are asked for, within ten minutes, since imports take their time.
    """
    if start is None:
        return False

    def spoke(of: Iterable[Line], within_us: int) -> bool:
        times = [line.entry.monotonic_us for line in of if line.entry.monotonic_us is not None]
        return bool(times) and min(times) <= start + within_us

    own = [line for line in lines if not line.entry.from_manager and "N_DROPPED" not in line.fields]
    apart = any((whole(line.text("_UID")) or 0) >= _FIRST_USER_UID for line in own)
    return spoke(lines, _AT_START_US) and (not apart or spoke(own, _FIRST_WORDS_US))


JOURNAL: Probe[Journal] = Probe("journal", _SCRIPT, _read_journal)
"""`-a`: without it every field over 4096 bytes is null, and the engine's arguments take 19 000."""
