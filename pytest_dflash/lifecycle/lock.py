"""Who may change a unit: one run at a time, by a folder under /run that only one can make.

Law: sh text and the reader of what it prints; run by `controller`. The folder is also what an earlier run left
behind when it died: its drop-in, and the script that takes it away.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass

HELD, NO_SPACE = 75, 73
"""Exit statuses. Source: sysexits(3), EX_TEMPFAIL and EX_CANTCREAT."""


@dataclass(frozen=True, slots=True)
class Holder:
    """Who holds a lock.

    Attributes:
        who: user@machine, process and run.
        since: The host's clock, UTC.
        left_s: Seconds until it lapses.
        armed: Whether the host's own lease is running: it puts the unit back when the time is over.
    """

    who: str
    since: str
    left_s: int
    armed: bool

    @property
    def stale(self) -> bool:
        """Whether nobody answers for it any more."""
        return self.left_s <= 0 and not self.armed

    def __str__(self) -> str:
        ends = f"it lapses in {self.left_s} s" if self.left_s > 0 else "its time is over"
        return f"{self.who} since {self.since}; {ends}" + (
            ", the host's lease is running" if self.armed else ""
        )


ACQUIRE = r"""
mkdir -p "${STATE%/*}" || exit 73
if ! mkdir "$STATE"; then
    [ -d "$STATE" ] || exit 73
    printf 'who=%s\n' "$(cat "$STATE/who" 2>/dev/null)"
    printf 'since=%s\n' "$(cat "$STATE/since" 2>/dev/null)"
    printf 'until=%s\nnow=%s\n' "$(cat "$STATE/until" 2>/dev/null)" "$(now)"
    printf 'lease=%s\n' "$(systemctl show -p ActiveState --value -- "$LEASE")"
    exit 75
fi
if printf '%s\n' "$WHO" >"$STATE/who" && date -u '+%Y-%m-%d %H:%M:%S UTC' >"$STATE/since" && renew; then exit 0; fi
rm -rf "$STATE"
exit 73
"""

RELEASE = r"""
mine || exit 0
systemctl stop -- "$LEASE" 2>/dev/null
rm -rf "$STATE"
rmdir "${STATE%/*}" 2>/dev/null
exit 0
"""

FORGET = 'mine && rm -f "$STATE.drained"\n'


def note(undrain: str) -> str:
    """Writes what brings the host back into its load balancer: it outlives lock and lease, root alone reads it."""
    return f"""
(umask 077 && printf '%s\\n' {shlex.quote(" ".join(undrain.split()))} >"$STATE.drained") && exit 0
rm -f "$STATE.drained"
exit 73
"""


def holder(said: str) -> Holder:
    """Who holds it, by what ACQUIRE printed. Total."""
    known = dict(line.split("=", 1) for line in said.splitlines() if "=" in line)
    until, now = (
        int(text) if re.fullmatch(r"[0-9]{1,12}", text := known.get(key, "")) else 0
        for key in ("until", "now")
    )
    return Holder(
        who=known.get("who") or "somebody who left no name",
        since=known.get("since") or "an unknown time",
        left_s=until - now,
        armed=known.get("lease") in {"active", "activating"},
    )
