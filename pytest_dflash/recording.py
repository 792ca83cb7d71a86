"""`--dflash-write-profile`: a first profile from what a host shows.

Law: reads one host, writes one file that does not exist yet; runs no check and changes no host.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import pytest
from pydantic import TypeAdapter, ValidationError

from pytest_dflash import activation, levels, own_command
from pytest_dflash.engine_units import Services, engine_of, engine_units, listening, named, states, users_own
from pytest_dflash.engines.registry import dialects
from pytest_dflash.errors import EndpointError, HostError, NotServing, UsageError
from pytest_dflash.facts.collector import Collector
from pytest_dflash.facts.nvidia import Gpu
from pytest_dflash.facts.procfs import PROCESSES
from pytest_dflash.facts.reading import Silent, Value, known
from pytest_dflash.facts.services import SERVICES
from pytest_dflash.facts.sockets import LISTENER_OWNERS
from pytest_dflash.findings import Outcome
from pytest_dflash.host_run import HostRun
from pytest_dflash.profile.loader import LoadedProfile
from pytest_dflash.profile.recorder import NOT_WELL, Recorded, RecordedGpu, record
from pytest_dflash.profile.schema import Profile, Service
from pytest_dflash.profile.terms import UnitName, UserName
from pytest_dflash.reach import Reach
from pytest_dflash.report.table import ended, visible
from pytest_dflash.rules import contradictions, diagnosis

T = TypeVar("T")
UNIT_KEY, MANAGER_KEY, WINDOW = "service.unit", "service.user_manager", "window.tokens"
RUNNING = ("active", "activating", "reloading")


def write(config: pytest.Config) -> int:
    """Writes the profile and says what to do with it.

    Raises:
        pytest.UsageError: It cannot be written, with what to do instead.
    """
    try:
        path, seen = _write(config)
    except (UsageError, HostError, EndpointError) as error:
        remedy = getattr(error, "remedy", "")
        raise pytest.UsageError(
            f"--dflash-write-profile: {error}" + (f". {remedy}" if remedy else "")
        ) from None
    sys.stdout.write("\n".join(map(visible, told(config, path, seen))) + "\n")
    return 0


def told(config: pytest.Config, path: Path, seen: Recorded) -> Iterator[str]:
    """What was written, what stands against it, and the next command: of a host that is not well, the look at why."""
    yield f"wrote {path}: read it, mend it, then set reviewed = true"
    if seen.wrong:
        yield NOT_WELL
    yield from (f"  {line}" for line in seen.wrong)
    yield from (f"{key}: {doubt}" for key, doubt in seen.doubts.items())
    begin = " ".join([own_command.begin(config), *connecting(config)])
    if seen.wrong:
        yield f"next: {begin} --dflash-triage {naming(seen.unit, seen.user_manager)}"
    else:
        yield f"next: {begin} --dflash-profile={shlex.quote(str(path))} {own_command.suites(config)}"


def connecting(config: pytest.Config) -> list[str]:
    """The arguments of this command line that lead to the host, quoted for a shell."""
    given = [str(each) for each in config.invocation_params.args]
    kept: list[str] = []
    for position, argument in enumerate(given):
        name, equals, _ = argument.partition("=")
        if name in CONNECTING:
            kept.append(argument)
            if not equals and name not in SWITCHES:
                kept += given[position + 1 : position + 2]
    return [shlex.quote(each) for each in kept]


SWITCHES = frozenset({"--sudo"})
CONNECTING = SWITCHES | {
    "--host",
    "--ssh-config",
    "--ssh-identity-file",
    "--sudo-user",
    "--ansible-inventory",
    "--dflash-fault",
}


def _write(config: pytest.Config) -> tuple[Path, Recorded]:
    path: Path = config.invocation_params.dir / config.option.dflash_write_profile
    if path.exists():
        raise UsageError(f"{path} exists and is not overwritten; name another file, or move it away")
    targets = activation.named_hosts(config)
    if len(targets) != 1:
        raise UsageError(f"a profile is written from one host, found {len(targets)} in --host")
    reach = Reach(targets[0], activation.connection_options(config.option), tuple(config.option.dflash_fault))
    try:
        expect = config.option.dflash_expect
        unit, manager = expected(expect, UNIT_KEY), expected(expect, MANAGER_KEY)
        usable(unit, manager)
        seen = observed(reach, unit, manager, config.option.dflash_ready_timeout)
    finally:
        reach.close()
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(record(seen))
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror or error}") from None
    return path, seen


def expected(expect: Sequence[str], key: str) -> str | None:
    """What `--dflash-expect KEY=…` says of one key of the profile, the last time that it is given."""
    values = [
        text.partition("=")[2].strip("\"' ") for text in expect if text.partition("=")[0].strip() == key
    ]
    return values[-1] if values else None


def naming(unit: str, manager: str | None) -> str:
    """The arguments that name a unit, and the user whose own manager has it, as `expected` reads them."""
    managed = f" --dflash-expect {MANAGER_KEY}={manager}" if manager else ""
    return f"--dflash-expect {UNIT_KEY}={shlex.quote(unit)}{managed}"


def usable(unit: str | None, manager: str | None) -> None:
    """Refuses names that no unit and no user can have, before the host is asked about them."""
    shapes: tuple[tuple[str, str | None, Any], ...] = (
        (UNIT_KEY, unit, UnitName),
        (MANAGER_KEY, manager, UserName),
    )
    for key, name, shape in shapes:
        try:
            TypeAdapter(shape | None).validate_python(name)
        except ValidationError as error:
            raise UsageError(f"--dflash-expect {key}={name}: {error.errors()[0]['msg']}") from None


def units_here(units: Mapping[str, str], services: Services) -> str:
    """Which units may be meant, and how to name one."""
    if not units:
        return "no unit of this host runs or names one: start it first, or read as root (--sudo) if it cannot be seen"
    listed = visible(", ".join(named(units, services)))
    return f"units of this host that run or name one: {listed}; name it with --dflash-expect {UNIT_KEY}=NAME.service"


def observed(reach: Reach, unit: str | None, manager: str | None, ready_timeout_s: float | None) -> Recorded:
    """What the host shows of the unit; waits while the unit is loading.

    Raises:
        UsageError: No unit was named, and none or several run a known engine; or it is one of a user's own manager.
    """
    collector = Collector(reach.connection, unit or "-.mount", owner=manager or "")
    look = collector.collect([LISTENER_OWNERS, PROCESSES, SERVICES])
    owners, services = look.reading(LISTENER_OWNERS), look.reading(SERVICES)
    found = listening(owners)
    here = engine_units(found, services)
    if unit is None:
        # One that loads does not listen yet, and where sockets cannot be seen nobody does.
        found = found or {name: here[name] for name in here if states(services).get(name) in RUNNING}
        if len(found) != 1:
            unseen = owners.why if isinstance(owners, Silent) else "root may be needed to see owners"
            raise UsageError(
                f"which unit? {len(found) or 'None'} listen and run a known engine; {units_here(here, services)} "
                f"({unseen})"
            )
        unit = next(iter(found))
    engine = found.get(unit) or engine_of(look.reading(PROCESSES))
    if engine is None:
        state = states(services).get(unit, "")
        started = f"it is {state} by systemd: start it first, or read as root (--sudo) if its processes cannot be seen"
        then = started if unit in here else units_here(here, services)
        raise UsageError(
            f"no process of {unit} runs an engine that is known here ({', '.join(dialects())}); {then}"
        )
    if manager is None and unit in users_own(owners):
        raise UsageError(
            f"{unit} is a unit of a user's own manager (systemctl --user); name that user with "
            f"--dflash-expect {MANAGER_KEY}=USER"
        )
    profile = Profile(service=Service(unit=unit, engine=engine, user_manager=manager))
    loaded = LoadedProfile(profile, Path(), "", reviewed=True, sources={}, bases={})
    run = HostRun(
        reach.target.name,
        reach,
        loaded,
        levels.Allowed(("read",)),
        ready_timeout_s or profile.service.ready_timeout_s,
    )
    return shown(run)


def shown(run: HostRun) -> Recorded:
    """The facts of a unit as plain values."""
    facts, chain = run.facts, run.chain
    settings = chain.heard["process_argv"]
    flags = dict(settings.value.values) if isinstance(settings, Value) else {}
    serving = facts.serving
    environ = known(serving.value.environ) if isinstance(serving, Value) else None
    gpus = known(facts.gpus) or ()
    packages, driver, toolkit = known(facts.packages), known(facts.driver), known(facts.toolkit)
    listening = [each.address for each in known(facts.listeners) or () if each.port == facts.port]
    window = next(
        (
            v
            for w in reversed(chain.readings(run.dialect.window_setting))
            if isinstance(v := known(w.reading), int)
        ),
        None,
    )
    native = known(chain.native_window())
    flags = lasting(flags, run)
    doubts = contradictions.doubts(chain, facts.packages)
    setting = run.dialect.window_setting
    # Written once, as [window]: two places could contradict each other.
    if window is not None:
        flags.pop(setting, None)
        if (doubt := doubts.pop(f"flags.{setting}", None)) is not None:
            doubts[WINDOW] = doubt
    return Recorded(
        host=run.name,
        unit=run.profile.service.unit,
        engine=run.profile.service.engine,
        user_manager=run.profile.service.user_manager,
        served_model=served(run),
        driver=driver.version if driver else None,
        cuda_toolkit=known(toolkit.version) if toolkit else None,
        compute_capability=next((c for gpu in gpus if (c := known(gpu.compute_capability))), None),
        packages={name: v for name, v in (packages.versions if packages else {}).items() if name in TELLING},
        gpus=[recorded_gpu(gpu) for gpu in gpus],
        flags=flags,
        environment=lasting(environ or {}, run),
        window_tokens=window if window is not None else native,
        window_via="flag" if window is not None else "native",
        doubts={key: run.redact(doubt) for key, doubt in doubts.items()},
        wrong=[run.redact(line) for line in wrong(run)],
        bind=listening[0] if listening else None,
        key_required=None,
    )


def wrong(run: HostRun) -> Iterator[str]:
    """What is wrong with the unit and its host whatever anybody expects, likeliest cause first, and what to do."""
    facts, settled = run.settled
    suspected = diagnosis.suspicions(run.profile.service.unit, facts, settled, run.chain, run.load)
    found = [(each.kind, each.judgement) for each in suspected] + contradictions.unfit(facts)
    # What could not be seen is no fault of the host: its value is not written.
    failures = [each for each in found if each[1].outcome is Outcome.FAIL]
    for number, (kind, judgement) in enumerate(failures, 1):
        yield f"{number}. {kind}: {judgement.summary}"
        if judgement.remedy:
            yield f"   do: {ended(judgement.remedy)}"


def lasting(values: Mapping[str, T], run: HostRun) -> dict[str, T]:
    """Without what is of this one rehearsal: its folder and its port, which the next one has anew."""
    root = run.reach.connection.root
    if not root:
        return dict(values)
    folder = str(Path(root).parent)
    return {name: v for name, v in values.items() if folder not in str(v) and name != "port"}


TELLING = frozenset(
    {"torch", "triton", "sglang", "vllm", "sgl-kernel", "sglang-kernel", "transformers"}
    | {
        "flashinfer-python",
        "flashinfer-cubin",
        "flashinfer-jit-cache",
        "nvidia-nccl-cu12",
        "nvidia-nccl-cu13",
        "xgrammar",
    }
)
"""Packages whose version decides how an engine runs."""


def served(run: HostRun) -> str | None:
    """The model that the service offers, where it serves."""
    try:
        models = known(run.service.models())
    except (NotServing, EndpointError, HostError):
        return None
    return models[0] if models else None


def recorded_gpu(gpu: Gpu) -> RecordedGpu:
    """A GPU as plain values."""
    return RecordedGpu(
        name=known(gpu.name),
        pcie_generation=known(gpu.pcie_generation_max),
        pcie_width=known(gpu.pcie_width_max),
        power_limit_w=known(gpu.power_limit_w),
    )
