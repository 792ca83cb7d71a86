"""The host's own way back: a script that puts the unit back when nobody renews the lease.

Law: sh text only, run by `controller`. The script is a transient service of the host's manager, so it outlives
whoever started it. It sleeps until the moment that a file names, on the monotonic clock: a renewal is one write.
A timer would do worse: systemd 252 re-arms --on-active timers at each daemon-reload. Nor are there arguments
beside two paths: the same systemd corrupts `;` and `$` in a transient unit's arguments when it reloads.
"""

from __future__ import annotations

import shlex

from pytest_dflash.facts.claim import FOLDER


def name(unit: str) -> str:
    """The lease's own unit."""
    return f"dflash-lease-{unit.removesuffix('.service').replace('@', '_')}.service"


def preamble(unit: str, run: str, who: str, drop_in: str, lease_s: float) -> str:
    """Variables and functions that every script here begins with.

    Args:
        unit: Whose command is changed.
        run: The run's own name.
        who: As the lock names its holder; a lock of somebody else is never touched.
        drop_in: The drop-in's path, without the prefix of a rehearsal.
        lease_s: Seconds from each renewal on.
    """
    q = shlex.quote
    return f"""\
LC_ALL=C.UTF-8 PATH="${{PATH:-/usr/bin:/bin}}:/usr/sbin:/sbin"; export LC_ALL PATH
UNIT={q(unit)} RUN={q(run)} WHO={q(who)} LEASE={q(name(unit))} STATE="$R"{q(f"{FOLDER}/{unit}")} DROPIN="$R"{q(drop_in)}
now() {{ read -r up _ <"$R/proc/uptime" && echo "${{up%%.*}}"; }}
mine() {{ [ "$(cat "$STATE/who" 2>/dev/null)" = "$WHO" ]; }}
renew() {{ mine && echo $(($(now) + {max(1, round(lease_s))})) >"$STATE/until.new" && mv "$STATE/until.new" "$STATE/until"; }}
invocation() {{ systemctl show -p InvocationID --value -- "$UNIT"; }}
take_away() {{
    for file in "${{DROPIN%/*}}"/zzz-dflash-*.conf; do
        if [ -e "$file" ]; then rm -f -- "$file" || return; fi
    done
    if [ -e "$STATE/made" ]; then rmdir "${{DROPIN%/*}}" 2>/dev/null; fi
    systemctl daemon-reload
}}
start_anew() {{
    systemctl reset-failed -- "$UNIT" 2>/dev/null
    systemctl restart -- "$UNIT"
}}
keep() {{ invocation >"$STATE/before.new" && mv "$STATE/before.new" "$STATE/before"; }}
"""


RESTORE = r"""
while read -r until <"$STATE/until" && [ "$(now)" -lt "$until" ]; do sleep 1; done
mine || exit 0
echo "run $RUN did not renew its lease: $UNIT is put back"
take_away || { echo "the drop-in could not be taken away: $DROPIN"; exit 1; }
if [ "$(invocation)" != "$(cat "$STATE/before")" ]; then
    start_anew || { echo "$UNIT could not be restarted"; exit 1; }
fi
rm -rf "$STATE"
rmdir "${STATE%/*}" 2>/dev/null
exit 0
"""
"""Sleeps, then: drop-in away, reload, restart where the unit's present process was started with the change."""


def arm(head: str) -> str:
    """Writes the script, then has the manager run it; the lease stands when the status is 0.

    One of an earlier change of this run ends: its change was put back.
    """
    return (
        head
        + f"""
[ -s "$STATE/before" ] || keep || exit 73
quoted() {{ printf "'%s'" "$(printf %s "$1" | sed "s/'/'\\"'\\"'/g")"; }}
{{ printf 'R=%s PATH=%s\\n' "$(quoted "$R")" "$(quoted "$PATH")"; cat <<'END_OF_LEASE'
{head}{RESTORE}
END_OF_LEASE
}} >"$STATE/restore.sh" || exit 73
sh -n "$STATE/restore.sh" || exit 73
renew || exit 73
systemctl stop -- "$LEASE" 2>/dev/null
systemd-run --quiet --collect --unit="$LEASE" --property=OOMScoreAdjust=-1000 -- /bin/sh "$STATE/restore.sh" || exit
[ "$(systemctl show -p ActiveState --value -- "$LEASE")" = active ]
"""
    )


def write(drop_in_text: str) -> str:
    """Puts the drop-in there and reloads; takes it away again where that fails."""
    return f"""
renew || exit 73
folder=${{DROPIN%/*}}
[ -d "$folder" ] || {{ : >"$STATE/made" && mkdir -p "$folder"; }} || exit 73
cat >"$folder/.dflash-new" <<'END_OF_DROP_IN' || {{ rm -f "$folder/.dflash-new"; take_away; exit 73; }}
{drop_in_text.rstrip(chr(10))}
END_OF_DROP_IN
mv "$folder/.dflash-new" "$DROPIN" || {{ take_away; exit 73; }}
systemctl daemon-reload || exit 74
"""


RESTART = """
renew || exit 73
printf 'before=%s\\n' "$(invocation)"
read -r at _ <"$R/proc/uptime"; printf 'at=%s\\n' "$at"
start_anew; code=$?
read -r at _ <"$R/proc/uptime"; printf 'back=%s\\n' "$at"
printf 'after=%s\\n' "$(invocation)"
exit $code
"""
PUT_BACK = """
if ! mine && [ ! -e "$DROPIN" ]; then echo unmoved=yes; exit 0; fi
if mine; then renew; fi
take_away || exit 73
if [ "$(invocation)" = "$(cat "$STATE/before" 2>/dev/null)" ]; then echo unmoved=yes; exit 0; fi
""" + RESTART.replace("\nrenew || exit 73\n", "").replace(
    "exit $code", "[ $code != 0 ] || ! mine || keep\nexit $code"
)
"""As RESTART, with the drop-in taken away first; afterwards the lease has nothing left to restart. Where lock and
drop-in are gone (the lease came first, or the host was rebooted) nothing is left to do."""

BEAT = "renew\n"
"""Fails where the lock is no longer this run's: the lease came first."""

RECOVER = """
[ -s "$STATE/restore.sh" ] || { rm -rf "$STATE"; exit 0; }
echo 0 >"$STATE/until"
sh "$STATE/restore.sh"
"""
"""What the lease of a dead run would have done."""
