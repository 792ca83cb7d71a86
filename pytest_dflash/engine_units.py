"""Which units of a host are an engine's: those whose processes listen, and those whose command names one.

Law: readings in, names out; whoever has the connection asks. Which of them is meant is for a person to say.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping
from typing import Any

from pytest_dflash.engines.registry import recognise
from pytest_dflash.facts.probe import Probe
from pytest_dflash.facts.procfs import Process
from pytest_dflash.facts.reading import Reading, Value
from pytest_dflash.facts.services import SERVICES, ServiceUnit
from pytest_dflash.facts.sockets import LISTENER_OWNERS, Owner

AT_WORK = ("active", "reloading", "activating", "failed")
"""States of units that somebody wants to run; the others are named, and not looked at."""

Services = Reading[tuple[ServiceUnit, ...]]


def listening(owners: Reading[Mapping[int, Owner]]) -> dict[str, str]:
    """Units whose processes listen and run a known engine, with the engine's name."""
    if not isinstance(owners, Value):
        return {}
    found: dict[str, str] = {}
    for owner in owners.value.values():
        engine, unit = recognise(owner.argv), unit_of(owner)
        if engine is not None and unit is not None:
            found[unit] = engine.name
    return found


def unit_of(owner: Owner) -> str | None:
    """The systemd unit that a process belongs to, by its cgroup."""
    parts = reversed(owner.cgroup.split("/"))
    # What a user starts by hand is in a scope beneath `user@1000.service`, which is the manager and no unit of theirs.
    return next((part for part in parts if part.endswith(".service") and not part.startswith("user@")), None)


def users_own(owners: Reading[Mapping[int, Owner]]) -> frozenset[str]:
    """Units that a user's own manager started: beneath its `user@1000.service`."""
    known = owners.value.values() if isinstance(owners, Value) else ()
    return frozenset(
        unit for each in known if "/user@" in each.cgroup and (unit := unit_of(each)) is not None
    )


def engine_of(processes: Reading[tuple[Process, ...]]) -> str | None:
    """The engine that one of a unit's processes runs: while it loads, nobody listens yet."""
    if not isinstance(processes, Value):
        return None
    engines = (recognise(process.argv) for process in processes.value)
    return next((engine.name for engine in engines if engine is not None), None)


def engine_units(owned: Mapping[str, str], services: Services) -> dict[str, str]:
    """Units of a known engine, with its name: those that listen, then those that try or failed, then the rest."""
    order = (*AT_WORK, "deactivating")
    known = services.value if isinstance(services, Value) else ()
    found = dict(owned)
    for each in sorted(known, key=lambda s: order.index(s.active_state) if s.active_state in order else 9):
        engine = recognise(each.argv)
        if engine is not None:
            found.setdefault(each.name, engine.name)
    return found


def states(services: Services) -> dict[str, str]:
    """What systemd says of each unit."""
    return {each.name: each.active_state for each in services.value} if isinstance(services, Value) else {}


def at_work(units: Iterable[str], owned: Container[str], services: Services) -> list[str]:
    """Which of an engine's units to look at: those that failed or start, then those that run or listen.

    Where there are none, the first that is installed.
    """
    known = states(services)
    wanted = [unit for unit in units if known.get(unit) in AT_WORK or unit in owned]
    return sorted(wanted, key=lambda unit: known.get(unit, "active") == "active") or list(units)[:1]


def named(units: Mapping[str, str], services: Services) -> list[str]:
    """Each unit in words: "a.service (vllm, failed)"."""
    known = states(services)
    return [f"{unit} ({', '.join(filter(None, (name, known.get(unit))))})" for unit, name in units.items()]


def here(ask: Callable[[Probe[Any]], Reading[Any]]) -> list[str]:
    """Those of a host, in words, likeliest first; for a run whose own unit is not there."""
    services = ask(SERVICES)
    return named(engine_units(listening(ask(LISTENER_OWNERS)), services), services)
