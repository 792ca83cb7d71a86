"""Listening TCP sockets and the processes that own them.

Law: addresses and pids only; whose process it is, is decided by who compares it with the unit's processes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from pytest_dflash.facts.bundle import files
from pytest_dflash.facts.probe import Probe, Reply
from pytest_dflash.facts.reading import Reading, Silent, Value


@dataclass(frozen=True, slots=True)
class Listener:
    """One listening socket. `pids` is None when the owner may not be seen (unprivileged).

    Attributes:
        address: Without brackets; "*" is any address of IPv6 and IPv4, "fe80::1%eth0" keeps its scope.
        names: The owners' short names, in the order of `pids`.
    """

    address: str
    port: int
    pids: tuple[int, ...] | None
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Owner:
    """Who a pid is, so that "another service has the port" can name it."""

    pid: int
    cgroup: str
    argv: tuple[str, ...]


_SS = "timeout 10 ss -ltnpH 2>/dev/null || timeout 10 ss -ltnp"  # -H is younger than some hosts

_OWNERS = r"""
sockets=$(timeout 10 ss -ltnpH 2>/dev/null || timeout 10 ss -ltnp) || exit
pids=$(printf '%s' "$sockets" | grep -o 'pid=[0-9]*' | sort -u | head -n 200)
set --
for p in $pids; do
    d=$R/proc/${p#pid=}
    set -- "$@" "$d/cgroup" "$d/cmdline"
done
[ "$#" -gt 0 ] || exit 0
timeout 10 head -v -c 65536 "$@"
exit 0
"""

_USER = re.compile(r'\("((?:[^"\\]|\\.)*)",pid=(\d{1,10}),fd=\d+\)')


def _listener(line: str) -> Listener | None:
    words = line.split(None, 4)
    if len(words) < 4 or words[0] != "LISTEN":
        return None
    address, colon, port = words[3].rpartition(":")
    if not colon or not re.fullmatch(r"\d{1,5}", port):
        return None
    users = _USER.findall(words[4]) if len(words) > 4 else []
    named = {int(pid): name for name, pid in users}
    return Listener(
        address=address.replace("[", "").replace("]", ""),
        port=int(port),
        pids=tuple(named) or None,
        names=tuple(named.values()),
    )


def _silence(reply: Reply) -> Silent:
    missing = Silent("`ss` is not there: install iproute2", "ss -ltnpH")
    return missing if reply.rc == 127 else reply.silence("ss -ltnpH")


def _parse(reply: Reply) -> Reading[tuple[Listener, ...]]:
    if reply.rc:
        return _silence(reply)
    found = tuple(one for line in reply.text.splitlines() if (one := _listener(line)))
    if not found and reply.text.strip():
        return Silent(f"`ss -ltnpH` answered in another form: {reply.text.strip()[:120]!r}", "ss -ltnpH")
    return Value(found, "ss -ltnpH")


def _parse_owners(reply: Reply) -> Reading[Mapping[int, Owner]]:
    if reply.rc:
        return _silence(reply)
    found = files(reply.stdout)
    text = {key: raw.decode("utf-8", "replace") for key, raw in found.items()}
    return Value(
        {
            pid: Owner(
                pid,
                next((line.split(":", 2)[-1] for line in reversed(text[pid, name].splitlines())), ""),
                tuple(word for word in text.get((pid, "cmdline"), "").split("\0") if word),
            )
            for pid, name in text
            if name == "cgroup"
        },
        "/proc/PID/cgroup of the listeners",
    )


LISTENERS: Probe[tuple[Listener, ...]] = Probe("listeners", _SS, _parse)
"""All listening TCP sockets of the host."""

LISTENER_OWNERS: Probe[Mapping[int, Owner]] = Probe("listener-owners", _OWNERS, _parse_owners)
"""Owners by pid, also outside the unit. Empty where owners may not be seen."""
