"""Who changes a unit at this moment, or died while changing it: what runs of ours leave under /run for each other.

Law: a question and its reader; it holds nothing and takes nothing away, which is the lock's business. Whoever holds
the folder of a unit changes it; the file beside it tells that the host was taken out of its load balancer.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from pytest_dflash.facts.probe import Probe, Reply
from pytest_dflash.facts.reading import Absent, Reading, Silent, Value

FOLDER = "/run/pytest-dflash"
"""Volatile: a reboot takes lock, lease and drop-in away together."""
DRAINED = ".drained"
"""Ends the name of the file that tells of a drain: beside the unit's folder, since it outlives lock and lease."""


@dataclass(frozen=True, slots=True)
class Claim:
    """What runs left or hold.

    Attributes:
        held: Whether a run's lock is there.
        who: user@machine, process and run, as the lock says. since: the host's clock, UTC.
        left_s: Seconds until a lock that is held lapses; at 0 or below nobody answers for it any more.
        drained: Whether a run took the host out of its load balancer and has not brought it back.
        undrain: The command that brings it back, on the side of that run; "" where it may not be read.
    """

    held: bool
    who: str = ""
    since: str = ""
    left_s: int = 0
    drained: bool = False
    undrain: str = ""

    @property
    def at_work(self) -> bool:
        """Whether a run holds the unit and its time is not over."""
        return self.held and self.left_s > 0

    @property
    def holder(self) -> str:
        """Who holds it and since when, in words."""
        return f"{self.who or 'somebody who left no name'} since {self.since or 'an unknown time'}"


_SCRIPT = rf"""
folder=$R{FOLDER} state=$R{FOLDER}/$UNIT
if [ -d "$folder" ] && ! [ -x "$folder" ]; then echo "$folder may not be entered" >&2; exit 13; fi
read -r up _ <"$R/proc/uptime" && echo "now=${{up%%.*}}"
if [ -d "$state" ]; then
    echo held=yes
    for name in who since until; do
        IFS= read -r line 2>/dev/null <"$state/$name"; printf '%s=%s\n' "$name" "$line"; line=
    done
fi
if [ -e "$state{DRAINED}" ]; then
    echo drained=yes
    IFS= read -r line 2>/dev/null <"$state{DRAINED}"; printf 'undrain=%s\n' "$line"
fi
echo end=yes
"""


def _read(reply: Reply) -> Reading[Claim]:
    told = dict(line.split("=", 1) for line in reply.text.splitlines() if "=" in line)
    if "end" not in told:
        return reply.silence("cat /run/pytest-dflash")
    if "held" not in told and "drained" not in told:
        return Absent(FOLDER)
    until, now = (
        int(text) if re.fullmatch(r"[0-9]{1,12}", text := told.get(key, "")) else None
        for key in ("until", "now")
    )
    if "held" in told and now is None:
        return Silent(
            "the host did not tell its uptime, so whether a lock has lapsed is not known", "/proc/uptime"
        )
    return Value(
        Claim(
            held="held" in told,
            who=told.get("who", ""),
            since=told.get("since", ""),
            left_s=(until or 0) - (now or 0) if "held" in told else 0,
            drained="drained" in told,
            undrain=told.get("undrain", ""),
        ),
        FOLDER,
    )


CLAIM: Probe[Claim] = Probe("claim", _SCRIPT, _read)
"""A lock without a moment (its run died while making it) counts as lapsed."""
