"""What an engine remarked since it started: lines that speak of something not done as it was asked for.

Law: one question to the journal of the running invocation, by words of any software; what a line means is the
engine's dialect. Asked after requests: some engines say such a thing once, at the first request that needs it.
"""

from __future__ import annotations

from pytest_dflash.facts.digits import whole
from pytest_dflash.facts.journal import ASK, FIELDS, LONGEST, Journal, read_lines
from pytest_dflash.facts.probe import Probe, Reply
from pytest_dflash.facts.reading import Reading, Silent, Value

WORDS = "unavailable|not available|fall(ing)? ?back|not supported|unsupported|ignor|no effect|no-op|overrid|disabl|reset to"
LINES = 400
"""So many are read, the last ones."""

_SCRIPT = rf"""{ASK}
[ -n "$INVOCATION" ] || {{ echo none; exit 0; }}
echo "invocation $INVOCATION"
echo "start $(timeout 10 ${{SYSTEMCTL:-systemctl}} show --no-pager -p ExecMainStartTimestampMonotonic --value -- "$UNIT")"
ask -a --output-fields={FIELDS} "_SYSTEMD_INVOCATION_ID=$INVOCATION" | cut -b 1-{LONGEST["last"] + 1} |
    grep -aiE '{WORDS}|"MESSAGE":\[' | awk 'length($0) <= {LONGEST["last"]}' | tail -n {LINES}
echo end
"""
"""A message with control characters is a list of bytes, which shows no words."""


def _read(reply: Reply) -> Reading[Journal]:
    words: dict[str, str] = {}
    raw = []
    for line in reply.text.split("\n"):
        if line.startswith("{"):
            raw.append(line)
        else:
            word, _, rest = line.partition(" ")
            words.setdefault(word, rest)
    if "none" in words:
        return Silent("the unit has no invocation: it is not running", "systemctl show")
    if "end" not in words:
        return reply.silence("journalctl")
    invocation = words.get("invocation", "")
    lines, _ = read_lines(raw)
    found = tuple(line.entry for line in lines)
    start = whole(words.get("start", ""))
    return Value(
        Journal(invocation, found, reaches_start=False, whole=False, start_monotonic_us=start),
        f"journal, invocation {invocation[:8]}…",
    )


REMARKS: Probe[Journal] = Probe("remarks", _SCRIPT, _read)
"""Proves nothing by a line that is not there: it reads a choice of them."""
