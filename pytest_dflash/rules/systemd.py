"""What is right about the unit: disk, manager and process say the same, and it stays up.

Law: pure. NeedDaemonReload is heard, never believed alone: it misses new drop-in folders and files that were
put back with an old date, and it cries for a file that was only touched (systemd 252).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from pytest_dflash.facts import unit_file
from pytest_dflash.facts.environment_file import parse_environment_file
from pytest_dflash.facts.procfs import Process
from pytest_dflash.facts.exits import exit_meaning
from pytest_dflash.facts.reading import Reading, Silent, Value
from pytest_dflash.facts.starts import Previous, Starts
from pytest_dflash.facts.systemd import LoadedCommand, Unit, UnitFiles
from pytest_dflash.findings import Evidence, Judgement, failed, not_applicable, passed, unproven
from pytest_dflash.rules.judge import HEAR, Expectation, compare, evidence
from pytest_dflash.witness.chain import Chain

T = TypeVar("T")

LOAD_STATES = {
    "not-found": (
        "no unit of this name exists",
        "check service.unit in the profile: `systemctl list-units --all`",
    ),
    "masked": ("it is masked, so it can never start", "`systemctl unmask` it"),
    "bad-setting": (
        "systemd refuses its settings",
        "`systemd-analyze verify` names the line; mend it and daemon-reload",
    ),
    "error": ("systemd cannot read it", "`systemd-analyze verify` names the reason"),
}
"""LoadState to what it means and what to do."""
RELOAD = "`systemctl daemon-reload`, then restart the unit when its traffic is drained"


def loaded(unit: Reading[Unit]) -> Judgement:
    """The manager has loaded the unit."""
    state = unit.value.load_state if isinstance(unit, Value) else ""
    cause, remedy = LOAD_STATES.get(state, ("the manager has not loaded it", "`systemctl status` tells why"))
    return compare(
        "systemctl show",
        unit,
        Expectation[Unit](
            "load state of the unit",
            "loaded",
            lambda found: found.load_state == "loaded",
            shown=lambda found: found.load_state,
            cause=cause,
            remedy=remedy,
        ),
    )


def active(unit: Reading[Unit]) -> Judgement:
    """The unit is active and runs."""
    return compare(
        "systemctl show",
        unit,
        Expectation[Unit](
            "state of the unit",
            "active (running)",
            lambda found: found.active_state == "active" and found.sub_state == "running",
            shown=state,
            cause="what its process ended with is told beside its state",
            remedy="`journalctl -u` the unit shows its last lines; mend, start it, and run this again",
        ),
    )


def state(unit: Unit) -> str:
    """The unit's state in words, with the end of its process where it ended."""
    words = f"{unit.active_state} ({unit.sub_state})"
    if unit.exec_main_code:
        code = {1: "exited", 2: "killed", 3: "dumped"}.get(unit.exec_main_code, "")
        return f"{words}, {exit_meaning(code, unit.exec_main_status)}, result {unit.result}"
    return words if unit.result in {"", "success"} else f"{words}, result {unit.result}"


def stable(unit: Reading[Unit], previous: Reading[Previous], starts: Reading[Starts]) -> Judgement:
    """The manager did not have to start the unit anew by itself: `Restart=` hides crashes, NRestarts counts them."""
    if not isinstance(unit, Value):
        return unheard("whether the unit restarts by itself", "systemctl show", unit)
    number = unit.value.n_restarts
    if number is None:
        return unheard("whether the unit restarts by itself", "NRestarts", Silent("the manager does not count restarts"))
    day = f", {starts.value.count} starts in the last 24 hours" if isinstance(starts, Value) else ""
    ended = f"; the run before {previous.value.ending}" if isinstance(previous, Value) else ""
    witnesses = (
        evidence("systemctl show", unit, number),
        evidence("starts in 24 hours", starts, starts.value.count if isinstance(starts, Value) else None),
        evidence("previous invocation", previous, last_words(previous)),
    )
    crashed = isinstance(previous, Value) and previous.value.crashed
    if number or unit.value.sub_state.startswith("auto-restart"):
        return failed(
            f"the manager restarted the unit {number} times by itself{day}{ended}",
            expected=0,
            observed=number,
            evidence=witnesses,
            cause="the process crashes and Restart= hides it" if crashed else "the process ends, and Restart= starts it anew",
            remedy="read the end of the run before: `journalctl -u` the unit; `systemctl reset-failed` it once mended",
        )
    return passed(f"no restart by the manager{day}{ended}", expected=0, observed=0, evidence=witnesses)


def last_words(previous: Reading[Previous]) -> str | None:
    """The last line of the run before, with how it ended."""
    if not isinstance(previous, Value):
        return None
    lines = previous.value.last_lines
    return f"{previous.value.ending}: {lines[-1].message}" if lines else previous.value.ending


def reloaded(unit: Reading[Unit], files: Reading[UnitFiles], command: Reading[LoadedCommand]) -> Judgement:
    """What is on disk is what the manager holds: drop-ins, command and environment."""
    for source, reading in (("systemctl show", unit), ("unit files", files), ("busctl", command)):
        if not isinstance(reading, Value):
            return unheard("whether the manager holds what is on disk", source, reading)
    assert isinstance(unit, Value)  # the loop above has looked
    assert isinstance(files, Value)  # as above
    assert isinstance(command, Value)  # as above
    disk = unit_file.effective(files.value, unit.value.name)
    differences = [
        *drop_ins(unit.value, files.value),
        *commands(disk, command.value),
        *variables(disk, command.value),
    ]
    said = {True: "yes", False: "no", None: "not told"}[unit.value.need_daemon_reload]
    witnesses = (Evidence(source="NeedDaemonReload", reading="value", value=said, where="systemctl show"),)
    if differences:
        return failed(
            f"the manager does not hold what is on disk: {differences[0]}",
            expected=[],
            observed=list(differences),
            between=("unit_file", "loaded_unit"),
            evidence=witnesses,
            cause="the files were edited, added or removed, and the manager was not told",
            remedy=RELOAD,
        )
    touched = (
        ""
        if unit.value.need_daemon_reload is not True
        else " (NeedDaemonReload=yes, yet nothing differs: a file was touched)"
    )
    return passed(f"the manager holds what is on disk{touched}", expected=[], observed=[], evidence=witnesses)


def drop_ins(unit: Unit, files: UnitFiles) -> list[str]:
    """Drop-ins that the disk and the manager do not both have."""
    on_disk = {file.path for file in files.drop_ins}
    known = set(unit.drop_in_paths)
    masked = set(files.masked)
    return [f"{path} is on disk and not loaded" for path in sorted(on_disk - known)] + [
        f"{path} is loaded and no longer on disk"
        for path in sorted(known - on_disk - masked - set(files.unreadable))
    ]


def commands(disk: unit_file.EffectiveUnit, held: LoadedCommand) -> list[str]:
    """Where ExecStart differs. A command with a specifier that only the host resolves is not compared."""
    if any(command.notes for command in disk.exec_start):
        return []
    wanted = [command.argv for command in disk.exec_start]
    if wanted == list(held.exec_start):
        return []
    if len(wanted) != len(held.exec_start):
        return [f"ExecStart: {len(wanted)} on disk, {len(held.exec_start)} loaded"]
    return [
        f"ExecStart ({place.where}): {difference(list(left), list(right))}"
        for place, left, right in zip(disk.exec_start, wanted, held.exec_start, strict=True)
        if left != right
    ]


def difference(disk: list[str], held: list[str]) -> str:
    """What two argument lists differ by, in words."""
    only_disk = [word for word in disk if word not in held]
    only_held = [word for word in held if word not in disk]
    parts = [f"only on disk: {' '.join(only_disk)}"] * bool(only_disk) + [
        f"only loaded: {' '.join(only_held)}"
    ] * bool(only_held)
    return "; ".join(parts) or "the same words in another order or number"


def variables(disk: unit_file.EffectiveUnit, held: LoadedCommand) -> list[str]:
    """Where Environment= and EnvironmentFile= differ."""
    wanted = {name: located.value for name, located in disk.environment.items()}
    found = dict(held.environment)
    names = sorted(name for name in wanted.keys() | found.keys() if wanted.get(name) != found.get(name))
    lines = [
        f"Environment {name}: on disk {shown(wanted, name)}, loaded {shown(found, name)}" for name in names
    ]
    paths = [path.lstrip("-") for path in held.environment_files]
    if list(disk.environment_files) != paths:
        lines.append(f"EnvironmentFile: on disk {list(disk.environment_files)}, loaded {paths}")
    return lines


def shown(values: Mapping[str, object], name: str) -> str:
    """A variable's value, or that there is none."""
    return repr(values[name]) if name in values else "nothing"


def environment_files(files: Reading[UnitFiles], process: Reading[Process]) -> Judgement:
    """The serving process has the environment files as they are on disk now. NeedDaemonReload never tells."""
    what = "whether the process has the environment files as they are on disk"
    if not isinstance(files, Value):
        return unheard(what, "unit files", files)
    if not files.value.environment_files and not files.value.unreadable:
        return not_applicable("the unit has no EnvironmentFile")
    if files.value.unreadable:
        return unheard(
            what, files.value.unreadable[0], Silent("it could not be read", files.value.unreadable[0])
        )
    if not isinstance(process, Value):
        return unheard(what, "serving process", process)
    environ = process.value.environ
    if not isinstance(environ, Value):
        return unheard(what, f"environment of pid {process.value.pid}", environ)
    stated: dict[str, tuple[str, str]] = {}
    for file in files.value.environment_files:
        stated |= {name: (value, file.path) for name, value in parse_environment_file(file.text).items()}
    moved = [
        f"{name}: {path} says {value!r}, pid {process.value.pid} has {shown(environ.value, name)}"
        for name, (value, path) in stated.items()
        if environ.value.get(name) != value
    ]
    names = [line.partition(":")[0] for line in moved]
    if moved:
        return failed(
            f"the process runs with an older environment: {moved[0]}"
            + (f" (and {len(moved) - 1} more)" if moved[1:] else ""),
            expected=[],
            observed=[*names],
            between=("unit_file", "process_argv"),
            cause="an EnvironmentFile was changed after the start, or a wrapper changes the variable",
            remedy="restart the unit when its traffic is drained; systemd reads these files only at a start",
        )
    return passed(
        f"all {len(stated)} variables of the environment files are in the process", expected=[], observed=[]
    )


def unheard(what: str, source: str, reading: Reading[T]) -> Judgement:
    """That something could not be told because a source did not speak."""
    why = reading.why if isinstance(reading, Silent) else "there is none"
    return unproven(
        f"{what} could not be told: {source}: {why}", evidence=(evidence(source, reading),), remedy=HEAR
    )


def restarted(chain: Chain) -> Judgement:
    """The serving process was started with what the manager holds, flag by flag."""
    held, running = chain.heard["loaded_unit"], chain.heard["process_argv"]
    for source, reading in (("loaded unit", held), ("process", running)):
        if not isinstance(reading, Value):
            return unheard("whether the process runs what the manager holds", source, reading)
    assert isinstance(held, Value)  # the loop above has looked
    assert isinstance(running, Value)  # as above
    wanted, found = held.value.values, running.value.values
    moved = [
        name
        for name in sorted(wanted.keys() | found.keys())
        if (name in wanted) != (name in found) or not chain.dialect.same(name, wanted[name], found[name])
    ]
    witnesses = (
        Evidence(
            source="loaded_unit",
            reading="value",
            value={name: wanted.get(name) for name in moved},
            where=held.where,
        ),
        Evidence(
            source="process_argv",
            reading="value",
            value={name: found.get(name) for name in moved},
            where=running.where,
        ),
    )
    if moved:
        name = moved[0]
        return failed(
            f"the process was not started with what the manager holds: {name} is {shown(wanted, name)} in the unit "
            f"and {shown(found, name)} in the process"
            + (f" (and {len(moved) - 1} more)" if moved[1:] else ""),
            expected=[],
            observed=[*moved],
            between=("loaded_unit", "process_argv"),
            evidence=witnesses,
            cause="the unit was changed and reloaded, and the process is still the one from before",
            remedy="`systemctl restart` the unit when its traffic is drained",
        )
    return passed(
        f"the process was started with all {len(wanted)} flags that the manager holds",
        expected=[],
        observed=[],
    )
