"""`--dflash-triage`: what is wrong with a host, in ten seconds and fifteen lines, without a profile.

Law: reads one host in two round trips, at level `read`, and prints; runs no check, writes no file, waits for nothing.
"""

from __future__ import annotations

import shlex
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from pytest_dflash import activation, recording
from pytest_dflash.engines.registry import recognise
from pytest_dflash.errors import HostError, UsageError
from pytest_dflash.facts.collector import Collector
from pytest_dflash.facts.reading import Reading, Value
from pytest_dflash.facts.services import SERVICES, ServiceUnit
from pytest_dflash.facts.sockets import LISTENER_OWNERS
from pytest_dflash.host_run import HostRun
from pytest_dflash.levels import Allowed
from pytest_dflash.profile.loader import LoadedProfile
from pytest_dflash.profile.schema import Profile, Service
from pytest_dflash.reach import Reach
from pytest_dflash.report.table import ended, shortened, table, visible
from pytest_dflash.rules import diagnosis
from pytest_dflash.rules.diagnosis import Suspicion

BUDGET_S, FIRST_S, LEAST_S = 9.0, 6.0, 3.0
"""For both round trips, for the first, and what the second has in any case: whoever asks in the night waits ten
seconds, and no longer."""
LINES = 15
WIDTH = 200
NOBODY = "systemd-journald.service"
"""A unit that every host has: asked in its name where no engine's unit is known."""
WRONG, UNREACHED = 1, 11


def run(config: pytest.Config) -> int:
    """Prints the triage of the named hosts; 0 when nothing is wrong, 1 when something is, 11 when not reached.

    Raises:
        pytest.UsageError: No host, or an option that cannot be.
    """
    try:
        targets = activation.named_hosts(config)
    except UsageError as error:
        raise pytest.UsageError(f"--dflash-triage: {error}") from None
    codes = []
    for target in targets:
        options = activation.connection_options(config.option)
        reach = Reach(target, options, tuple(config.option.dflash_fault))
        try:
            code, lines = _triage(reach, config)
        except HostError as error:
            code, lines = (
                UNREACHED,
                [f"{target.name} did not answer: {visible(str(error))}", *_do(error.remedy)],
            )
        finally:
            reach.close()
        codes.append(code)
        sys.stdout.write("\n".join(lines) + "\n")
    return max(codes)


def _triage(reach: Reach, config: pytest.Config) -> tuple[int, list[str]]:
    reach.connection.deadline_s = FIRST_S  # a stand-in host is started by now
    begun = time.monotonic()
    look = Collector(reach.connection, NOBODY).collect([LISTENER_OWNERS, SERVICES])
    listening = recording.candidates(look.reading(LISTENER_OWNERS))
    units = engine_units(listening, look.reading(SERVICES))
    wanted = recording.wanted_unit(config.option.dflash_expect)
    unit = wanted or next(iter(units), NOBODY)
    profile = Profile(service=Service(unit=unit, engine=units.get(unit, "sglang")))
    loaded = LoadedProfile(profile, Path(), "", reviewed=True, sources={}, bases={})
    run = HostRun(reach.target.name, reach, loaded, Allowed(("read",)), ready_timeout_s=1.0)
    reach.connection.deadline_s = max(LEAST_S, BUDGET_S - (time.monotonic() - begun))
    facts, settled = run.at_once()
    found = diagnosis.suspicions(unit, facts, settled, run.chain)
    if unit == NOBODY:
        found = [each for each in found if each.kind in ("driver", "gpu", "disk", "memory")]
    state = (
        f"{unit}: {settled.phase}: {settled.why}"
        + (f"; {profile.service.engine} {run.version}" if run.version else "")
        if unit != NOBODY
        else "no service unit runs or names a known engine; is it started in another way?"
    )
    head = [f"{run.name}, {time.monotonic() - begun:.1f} s, nothing changed, no request to the model", state]
    others = [name for name in units if name != unit]
    if others:
        head.append(f"also here: {', '.join(others)} (--dflash-expect service.unit=NAME)")
    lines = told([run.redact(visible(line)) for line in head], found, next_command(config, unit, found))
    return (WRONG if found or unit == NOBODY else 0), [run.redact(line) for line in lines]


def engine_units(listening: Mapping[str, str], services: Reading[tuple[ServiceUnit, ...]]) -> dict[str, str]:
    """Units of a known engine, with its name: those that listen, then those that try or failed, then the rest."""
    order = ("active", "reloading", "activating", "failed", "deactivating")
    known = services.value if isinstance(services, Value) else ()
    found = dict(listening)
    for each in sorted(known, key=lambda s: order.index(s.active_state) if s.active_state in order else 9):
        engine = recognise(each.argv)
        if engine is not None:
            found.setdefault(each.name, engine.name)
    return found


def told(head: Sequence[str], found: Sequence[Suspicion], command: str) -> list[str]:
    """At most fifteen lines, the next command last; what does not fit is counted."""
    room = LINES - len(head) - 1
    body: list[str] = []
    for number, each in enumerate(found, 1):
        block = list(_suspicion(number, each))
        left = len(found) - number
        if len(body) + len(block) + (left > 0) > room:
            if len(body) + 1 + (left > 0) > room:
                body.append(f"… and {left + 1} more")
                break
            block = block[: room - len(body) - (left > 0)]
        body += block
    if not found:
        body = [
            "nothing is wrong that can be seen without a profile: drift, crashes, serving, GPUs, disks, memory"
        ]
    return [shortened(line, WIDTH) for line in (*head, *body)] + [f"next: {command}"]


def _suspicion(number: int, each: Suspicion) -> Iterator[str]:
    judgement = each.judgement
    yield f"{number}. {each.kind}: {visible(judgement.summary)}"
    if number == 1:
        marked = [line for line in table(judgement) if line.startswith("✗")] or table(judgement)
        yield from (f"   {line}" for line in marked[:3])
        if judgement.cause:
            yield f"   cause: {visible(judgement.cause)}"
    if judgement.remedy:
        yield f"   do: {ended(visible(judgement.remedy))}"


def next_command(config: pytest.Config, unit: str, found: Sequence[Suspicion]) -> str:
    """What to type next: a look at the likeliest cause, or the way to a whole judgement."""
    here = " ".join(recording.connecting(config))
    if found:
        targets = [each for each in activation.named_hosts(config) if each.scheme == "ssh"]
        look = found[0].look
        return f"ssh {shlex.quote(targets[0].name)} {shlex.quote(look)}" if len(targets) == 1 else look
    if unit == NOBODY:
        return f"pytest {here} --dflash-triage --dflash-expect service.unit=NAME.service"
    if (config.rootpath / "dflash.toml").exists() or config.getini("dflash_profile"):
        return f"pytest {here} suites/"
    return (
        f"pytest {here} --dflash-write-profile=dflash.toml --dflash-expect service.unit={shlex.quote(unit)}"
    )


def _do(remedy: str) -> list[str]:
    return [f"next: {visible(remedy)}"] if remedy else []
