"""The service units of a host, and the command of each: also of those that do not run.

Law: a question and its reader. A command is split at blanks, which is enough to recognise an engine by; what
really runs is told by `procfs`, what is loaded by `systemd`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from pytest_dflash.facts.probe import Probe, Reply
from pytest_dflash.facts.reading import Reading, Value


@dataclass(frozen=True, slots=True)
class ServiceUnit:
    """One service that the manager holds.

    Attributes:
        active_state: systemd's word: active, activating, failed, inactive …
        sub_state: As above: running, auto-restart, exited …
        argv: The words of its first ExecStart=; empty where it has none.
    """

    name: str
    active_state: str
    sub_state: str
    argv: tuple[str, ...]


_SCRIPT = r"""
names=$(timeout 5 systemctl list-unit-files --type=service --state=enabled,disabled --no-legend --no-pager 2>/dev/null |
    sed 's/ .*//' | grep '^[A-Za-z0-9:_.-]*\.service$' | head -n 300)
# shellcheck disable=SC2086  # names of units hold no blanks
timeout 10 systemctl show --no-pager -p Id,ActiveState,SubState,ExecStart -- '*.service' $names | head -c 4000000
"""
_ARGV = re.compile(r"argv\[\]=(.*?) ; ")


def _unit(block: str) -> ServiceUnit | None:
    says: dict[str, str] = {}
    for line in block.splitlines():
        key, equals, value = line.partition("=")
        if equals:
            says.setdefault(key, value)
    if not says.get("Id"):
        return None
    command = _ARGV.search(says.get("ExecStart", ""))
    return ServiceUnit(
        says["Id"],
        says.get("ActiveState", ""),
        says.get("SubState", ""),
        tuple(command.group(1).split()) if command else (),
    )


def _parse(reply: Reply) -> Reading[tuple[ServiceUnit, ...]]:
    found = tuple(unit for block in reply.text.split("\n\n") if (unit := _unit(block)))
    return Value(found, "systemctl show '*.service'") if found else reply.silence("systemctl show")


SERVICES: Probe[tuple[ServiceUnit, ...]] = Probe("services", _SCRIPT, _parse)
"""All services that are loaded or installed; one may stand there twice."""
