"""`--dflash-triage`: what is wrong with a host, in ten seconds and fifteen lines, without a profile.

Law: reads one host in a round trip and one more for each unit of an engine, at level `read`, and prints; runs no
check, writes no file, waits for nothing.
"""

from __future__ import annotations

import re
import shlex
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from pytest_dflash import activation, own_command, recording
from pytest_dflash.engine_units import at_work, engine_units, listening, states, users_own
from pytest_dflash.errors import HostError, ProfileError, UsageError
from pytest_dflash.facts.collector import Collector
from pytest_dflash.facts.services import SERVICES
from pytest_dflash.facts.sockets import LISTENER_OWNERS
from pytest_dflash.facts.target import Target
from pytest_dflash.findings import Judgement
from pytest_dflash.host_run import HostRun
from pytest_dflash.levels import Allowed
from pytest_dflash.lifecycle.phase import Phase
from pytest_dflash.lifecycle.readiness import Settled
from pytest_dflash.profile import loader
from pytest_dflash.profile.loader import LoadedProfile
from pytest_dflash.profile.schema import Profile, Service
from pytest_dflash.reach import Reach
from pytest_dflash.report.document import cleaned
from pytest_dflash.report.table import ended, shortened, table, visible
from pytest_dflash.rules import diagnosis
from pytest_dflash.rules.diagnosis import UNSEEN, Suspicion

BUDGET_S, FIRST_S, LEAST_S = 9.0, 6.0, 3.0
"""For all round trips, for the first, and what each further one has in any case: whoever asks in the night waits ten
seconds, and no longer."""
LINES = 15
WIDTH = 200
NOBODY = "systemd-journald.service"
"""A unit that every host has: asked in its name where no engine's unit is known."""
ALL_WELL = "nothing is wrong that can be seen without a profile: drift, crashes, serving, GPUs, disks, memory"
MACHINE_WELL = "nothing is wrong with the machine itself: GPUs, disks, memory"
WRONG, UNDECIDED, UNREACHED = 1, 10, 11
MOST_UNITS = 4
"""So many fit on a screen with what is wrong with them."""


@dataclass(frozen=True, slots=True)
class Look:
    """One unit as it stands at this moment."""

    unit: str
    run: HostRun
    settled: Settled
    found: Sequence[Suspicion]

    @property
    def state(self) -> str:
        """Its name, its phase, and what it runs."""
        if self.unit == NOBODY:
            return "no service unit runs or names a known engine; is it started in another way?"
        said = f"{self.unit}: {self.settled.phase}: {self.settled.why}"
        return said + (f"; {self.run.profile.service.engine} {self.run.version}" if self.run.version else "")


def run(config: pytest.Config) -> int:
    """Prints the triage of the named hosts.

    Returns:
        0 when nothing is wrong, 1 when something is, 10 when too little could be seen, 11 when a host was not reached.

    Raises:
        pytest.UsageError: No host, or an option that cannot be.
    """
    try:
        targets = activation.named_hosts(config)
        recording.usable(*_named(config))
    except UsageError as error:
        raise pytest.UsageError(f"--dflash-triage: {error}") from None
    codes = []
    for target in targets:
        options = activation.connection_options(config.option)
        reach = Reach(target, options, tuple(config.option.dflash_fault))
        try:
            code, lines = _triage(reach, config, targets)
        except HostError as error:
            code, lines = (
                UNREACHED,
                [f"{target.name} did not answer: {visible(str(error))}", *_do(error.remedy)],
            )
        finally:
            reach.close()
        codes.append(code)
        sys.stdout.write("\n".join(lines) + "\n")
    return next(code for code in (UNREACHED, WRONG, UNDECIDED, 0) if code in codes)


def _named(config: pytest.Config) -> tuple[str | None, str | None]:
    """The unit that shall be looked at, and the user whose own manager has it, as the command line says."""
    expect = config.option.dflash_expect
    return recording.expected(expect, recording.UNIT_KEY), recording.expected(expect, recording.MANAGER_KEY)


def _triage(reach: Reach, config: pytest.Config, targets: Sequence[Target]) -> tuple[int, list[str]]:
    reach.connection.deadline_s = FIRST_S  # a stand-in host is started by now
    begun = time.monotonic()
    wanted, manager = _named(config)
    seen = Collector(reach.connection, NOBODY, owner=manager or "").collect([LISTENER_OWNERS, SERVICES])
    owned = listening(seen.reading(LISTENER_OWNERS))
    services = seen.reading(SERVICES)
    units = engine_units(owned, services)
    chosen = [wanted] if wanted else at_work(units, owned, services)[:MOST_UNITS]
    # The system's manager knows nothing of them, and what it does not know is no fault of theirs.
    hidden = sorted(users_own(seen.reading(LISTENER_OWNERS)) & {*chosen}) if manager is None else []
    chosen = [unit for unit in chosen if unit not in hidden] or [NOBODY]
    looks: list[Look] = []
    for unit in chosen:
        left_s = BUDGET_S - (time.monotonic() - begun)
        if looks and left_s < LEAST_S:
            break
        service = Service(unit=unit, engine=units.get(unit, "sglang"), user_manager=manager)
        looks.append(_look(reach, service, max(LEAST_S, left_s)))
    hurried = {unit: state for unit, state in states(services).items() if unit in chosen[len(looks) :]}
    found = diagnosis.together([(each.settled.phase is Phase.READY, each.found) for each in looks])
    took_s = time.monotonic() - begun
    head = [f"{visible(reach.target.name)}, {took_s:.1f} s, nothing changed, no request to the model"]
    head += [f"{visible(unit)}: a unit of a user's own manager; not looked at" for unit in hidden]
    head += [each.run.redact(visible(each.state)) for each in looks if each.unit != NOBODY or not hidden]
    head += [
        f"{visible(unit)}: {state} by systemd; no time was left to look at it"
        for unit, state in hurried.items()
    ]
    others = [name for name in units if name not in (*chosen, *hidden)]
    if others:
        head.append(f"also here: {visible(', '.join(others))} (--dflash-expect service.unit=NAME)")
    first = looks[0]
    command = next_command(config, targets, first.unit, found, hidden)
    nothing = MACHINE_WELL if first.unit == NOBODY else ALL_WELL
    lines = told(head, found, command, nothing=nothing, apart=len(chosen) > 1)
    for each in looks:
        lines = [each.run.redact(line) for line in lines]
        each.run.close()
    wrong = any(each.kind != UNSEEN for each in found) or any(state != "active" for state in hurried.values())
    wrong = wrong or (first.unit == NOBODY and not hidden)
    return (WRONG if wrong else UNDECIDED if found or hidden else 0), lines


def _look(reach: Reach, service: Service, deadline_s: float) -> Look:
    unit = service.unit
    loaded = LoadedProfile(Profile(service=service), Path(), "", reviewed=True, sources={}, bases={})
    run = HostRun(reach.target.name, reach, loaded, Allowed(("read",)), ready_timeout_s=1.0)
    reach.connection.deadline_s = deadline_s
    facts, settled = run.at_once()
    found = diagnosis.suspicions(unit, facts, settled, run.chain, run.load)
    ours = [each for each in found if unit != NOBODY or each.unit is None]
    return Look(
        unit, run, settled, [replace(each, judgement=masked(each.judgement, run.redact)) for each in ours]
    )


def masked(judgement: Judgement, redact: Callable[[str], str]) -> Judgement:
    """The same without secrets, before anything of it is shortened: a piece of one would not be known again."""
    return replace(
        judgement,
        summary=redact(judgement.summary),
        cause=redact(judgement.cause or ""),
        remedy=redact(judgement.remedy or ""),
        evidence=tuple(
            replace(
                each,
                value=cleaned(each.value, redact),
                where=redact(each.where or ""),
                why=redact(each.why or ""),
            )
            for each in judgement.evidence
        ),
    )


def told(
    head: Sequence[str],
    found: Sequence[Suspicion],
    command: str,
    *,
    nothing: str = ALL_WELL,
    apart: bool = False,
) -> list[str]:
    """At most fifteen lines, the next command last; what does not fit is counted.

    Args:
        head: What was looked at.
        found: What is wrong.
        command: What to type next.
        nothing: What is said where nothing is wrong.
        apart: Say of which unit it is.
    """
    room = LINES - len(head) - 1
    body: list[str] = []
    for number, each in enumerate(found, 1):
        block = list(_suspicion(number, each, apart=apart))
        left = len(found) - number
        if len(body) + len(block) + (left > 0) > room:
            if len(body) + 1 + (left > 0) > room:
                body.append(f"… and {left + 1} more")
                break
            block = block[: room - len(body) - (left > 0)]
        body += block
    if not found:
        body = [nothing]
    return [shortened(line, WIDTH) for line in (*head, *body)] + [f"next: {visible(command)}"]


def _suspicion(number: int, each: Suspicion, *, apart: bool) -> Iterator[str]:
    judgement = each.judgement
    untold = apart and each.unit is not None and each.unit not in judgement.summary
    whose = f" of {visible(each.unit or '')}" if untold else ""
    yield f"{number}. {each.kind}{whose}: {visible(judgement.summary)}"
    if number == 1:
        marked = [line for line in table(judgement) if line.startswith("✗")] or table(judgement)
        yield from (f"   {line}" for line in marked[:3])
        if judgement.cause:
            yield f"   cause: {visible(judgement.cause)}"
    if judgement.remedy:
        yield f"   do: {ended(visible(judgement.remedy))}"


def next_command(
    config: pytest.Config,
    targets: Sequence[Target],
    unit: str,
    found: Sequence[Suspicion],
    hidden: Sequence[str],
) -> str:
    """What to type next: a look at the likeliest cause, at a user's own unit, or the way to a whole judgement."""
    here = " ".join([own_command.begin(config), *recording.connecting(config)])
    if found:
        remote = [each for each in targets if each.scheme == "ssh"]
        look = diagnosis.for_user(found[0].look, _named(config)[1])
        return shlex.join([*login(config), remote[0].name, look]) if len(remote) == 1 else look
    if hidden:
        return f"{here} --dflash-triage {recording.naming(hidden[0], 'USER')}"
    if unit == NOBODY:
        return f"{here} --dflash-triage --dflash-expect service.unit=NAME.service"
    if config.getini("dflash_profile") or is_for(config.rootpath / "dflash.toml", unit, reviewed=True):
        return f"{here} {own_command.suites(config)}"
    path = profile_name(targets[0].name)
    if is_for(config.invocation_params.dir / path, unit):
        return f"{here} --dflash-profile={path} {own_command.suites(config)}"
    return f"{here} --dflash-write-profile={path} {recording.naming(unit, _named(config)[1])}"


def login(config: pytest.Config) -> list[str]:
    """The ssh command as this run goes that way."""
    options = (("-F", "ssh_config"), ("-i", "ssh_identity_file"))
    given = ((flag, getattr(config.option, name, None)) for flag, name in options)
    return ["ssh", *(word for flag, value in given if value for word in (flag, str(value)))]


def profile_name(host: str) -> str:
    """A file for the profile of a host: that of the folder may be another host's."""
    return f"{re.sub(r'[^A-Za-z0-9._-]+', '-', host).strip('-.') or 'host'}.toml"


def is_for(path: Path, unit: str, *, reviewed: bool = False) -> bool:
    """Whether a profile is there and expects something of this unit: an example, of whatever unit, is reviewed by nobody."""
    try:
        loaded = loader.load(path)
    except ProfileError:
        return False
    return loaded.profile.service.unit == unit and (loaded.reviewed or not reviewed)


def _do(remedy: str) -> list[str]:
    return [f"next: {visible(remedy)}"] if remedy else []
