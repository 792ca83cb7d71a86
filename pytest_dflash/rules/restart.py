"""What the serving process was started with, against what the manager and the environment files hold now.

Law: pure. A wrapper between manager and engine (a login shell, `env`, conda) may change variables of its own
accord: behind one, what shells and environments usually set is not held against the process.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase

from pytest_dflash.facts import unit_file
from pytest_dflash.facts.procfs import Process
from pytest_dflash.facts.reading import Reading, Silent, Value
from pytest_dflash.facts.systemd import LoadedCommand, UnitFiles
from pytest_dflash.findings import Evidence, Judgement, failed, not_applicable, passed
from pytest_dflash.rules.judge import evidence, unheard
from pytest_dflash.rules.reload import shown
from pytest_dflash.witness.chain import Chain
from pytest_dflash.witness.startup import from_files, named, unread

BY_WRAPPERS = (
    *("PATH", "LD_LIBRARY_PATH", "PYTHONPATH", "MANPATH", "PKG_CONFIG_PATH", "PWD", "OLDPWD", "SHLVL", "_"),
    *("HOME", "USER", "LOGNAME", "SHELL", "MAIL", "LANG", "LC_*", "TERM", "PS1", "CONDA_*", "VIRTUAL_ENV*"),
    *("CUDA_HOME", "CUDA_PATH"),
)
"""Variables that login shells, environment managers and module files set by themselves."""
BY_SYSTEMD = (
    *("PATH", "LANG", "LC_*", "LANGUAGE", "USER", "LOGNAME", "HOME", "SHELL", "TERM", "TZ", "XDG_*"),
    *(
        "INVOCATION_ID",
        "JOURNAL_STREAM",
        "SYSTEMD_*",
        "MAINPID",
        "MANAGERPID",
        "PIDFILE",
        "LISTEN_*",
        "NOTIFY_SOCKET",
    ),
    *("WATCHDOG_*", "*_DIRECTORY", "MEMORY_PRESSURE_*", "LOG_NAMESPACE", "TRIGGER_*", "REMOTE_*", "FDSTORE"),
)
"""Variables that systemd itself gives to a service. Source: systemd.exec(5), "Environment variables in spawned
processes". One too many here goes unnoticed, one
too few is an accusation."""
WHAT_FILES = "whether the process has the environment files as they are on disk"
WHAT_PROCESS = "whether the process runs what the manager holds"


def environment_files(
    files: Reading[UnitFiles], loaded: Reading[LoadedCommand], process: Reading[Process]
) -> Judgement:
    """The serving process has the environment files as they are on disk now. NeedDaemonReload never tells."""
    if not isinstance(files, Value):
        return unheard(WHAT_FILES, "unit files", files)
    if not isinstance(loaded, Value):
        return unheard(WHAT_FILES, "busctl", loaded)
    paths = [path.removeprefix("-") for path in loaded.value.environment_files]
    if not paths:
        return not_applicable("the unit has no EnvironmentFile")
    hidden = [path for path in files.value.unreadable if named(path, paths)]
    if hidden:
        return unheard(WHAT_FILES, hidden[0], Silent("it could not be read", hidden[0]))
    if not isinstance(process, Value):
        return unheard(WHAT_FILES, "serving process", process)
    environ = process.value.environ
    if not isinstance(environ, Value):
        return unheard(WHAT_FILES, f"environment of pid {process.value.pid}", environ)
    older_ones = older_in_files(files, loaded, process)
    moved = [f"{name}: {words}" for name, words in older_ones.items()]
    if moved:
        return failed(
            f"the process runs with an older environment: {moved[0]}"
            + (f" (and {len(moved) - 1} more)" if moved[1:] else ""),
            expected=[],
            observed=[*older_ones],
            between=("unit_file", "process_argv"),
            evidence=(evidence("environment files", files, [*moved]),),
            cause="an EnvironmentFile was changed after the start, or a wrapper changes the variable",
            remedy="restart the unit when its traffic is drained; systemd reads these files only at a start",
        )
    return passed(
        f"all {len(from_files(files, paths))} variables of the environment files are in the process",
        expected=[],
        observed=[],
    )


def older_in_files(
    files: Reading[UnitFiles], loaded: Reading[LoadedCommand], process: Reading[Process]
) -> dict[str, str]:
    """Variables of environment files that the process has otherwise, each with both values; none where one is silent."""
    if not (isinstance(files, Value) and isinstance(loaded, Value) and isinstance(process, Value)):
        return {}
    paths = [path.removeprefix("-") for path in loaded.value.environment_files]
    environ, stated = process.value.environ, from_files(files, paths)
    if not isinstance(environ, Value) or any(named(path, paths) for path in files.value.unreadable):
        return {}
    wanted = {name: each.value for name, each in stated.items()}
    return {
        name: f"{stated[name].where} says {wanted[name]!r}, pid {process.value.pid} has {shown(environ.value, name)}"
        for name in differing(wanted, environ.value, loaded.value, process.value)
    }


def differing(
    wanted: Mapping[str, str], found: Mapping[str, str], loaded: LoadedCommand, process: Process
) -> list[str]:
    """The names of which the process has another value, what a wrapper may have changed left out."""
    names = [name for name, value in wanted.items() if found.get(name) != value]
    return [name for name in names if not wrapped(loaded, wanted, process) or not excused(name, loaded)]


def wrapped(loaded: LoadedCommand, environment: Mapping[str, str], process: Process) -> bool:
    """Whether something stands between the manager's command and the process: it has other arguments."""
    started = [unit_file.expand(argv, {**loaded.environment, **environment}) for argv in loaded.exec_start]
    # A script is run by its interpreter, which then stands in front of its arguments.
    return not any(argv and process.argv[-len(argv) :] == argv for argv in started) and not any(
        argv and process.argv[1:] == argv[1:] for argv in started
    )


def excused(name: str, loaded: LoadedCommand) -> bool:
    """Whether a wrapper may have changed this variable: it usually does, or its command says so."""
    said = any(
        re.search(rf"(?<![\w]){re.escape(name)}=", word) or f"unset {name}" in word
        for argv in loaded.exec_start
        for word in argv
    )
    return said or any(fnmatchcase(name, pattern) for pattern in BY_WRAPPERS)


def older(chain: Chain) -> Reading[Mapping[str, str]]:
    """Variables of Environment= that the process has otherwise, with both values; those of environment files apart."""
    loaded, process, files = chain.sources.loaded, chain.sources.first, chain.sources.unit_files
    if not isinstance(loaded, Value) or not isinstance(process, Value):
        return Silent("manager or process was not heard")
    environ = process.value.environ
    if not isinstance(environ, Value):
        return environ
    unset = {
        word
        for each in (
            unit_file.effective(files.value, chain.sources.unit).settings.get(
                ("Service", "UnsetEnvironment"), ()
            )
            if isinstance(files, Value)
            else ()
        )
        for word in each.value.split()
    }
    apart = {*from_files(files, loaded.value.environment_files), *unset}
    closed = unread(files, loaded.value.environment_files)
    if closed:
        return Silent(f"{closed[0]} could not be read and may override it", closed[0])
    held = {name: value for name, value in loaded.value.environment.items() if name not in apart}
    return Value(
        {
            name: f"the unit says {held[name]!r}, pid {process.value.pid} has {shown(environ.value, name)}"
            for name in differing(held, environ.value, loaded.value, process.value)
        },
        environ.where,
    )


def taken_out(chain: Chain) -> Sequence[str]:
    """Variables of the process that nobody gives it any more: they stood in the unit when it was started.

    Only for the manager's own child, with the very arguments that the manager holds: behind a wrapper or a login
    (PAMName=) anybody may have set them. Nothing where the manager's own environment was not heard.
    """
    loaded, process, files = chain.sources.loaded, chain.sources.first, chain.sources.unit_files
    if not (isinstance(loaded, Value) and isinstance(process, Value) and isinstance(files, Value)):
        return ()
    inherited, environ = loaded.value.manager_variables, process.value.environ
    stated = {**loaded.value.environment, **from_files(files, loaded.value.environment_files)}
    settings = unit_file.effective(files.value, chain.sources.unit).settings
    if (
        inherited is None
        or not isinstance(environ, Value)
        or wrapped(loaded.value, loaded.value.environment, process.value)
        or settings.get(("Service", "PAMName"))
    ):
        return ()
    known = {*stated, *inherited}
    return [
        name
        for name in sorted(environ.value)
        if re.fullmatch(r"[A-Za-z_]\w*", name)
        and name not in known
        and not any(fnmatchcase(name, pattern) for pattern in BY_SYSTEMD)
    ]


def restarted(chain: Chain) -> Judgement:
    """The serving process was started with what the manager holds: flags, and Environment= where it can be read."""
    held, running = chain.heard["loaded_unit"], chain.heard["process_argv"]
    for source, reading in (("loaded unit", held), ("process", running)):
        if not isinstance(reading, Value):
            return unheard(WHAT_PROCESS, source, reading)
    assert isinstance(held, Value)  # the loop above has looked
    assert isinstance(running, Value)  # as above
    wanted, found = held.value.values, running.value.values
    moved = [
        name
        for name in sorted(wanted.keys() | found.keys())
        if (name in wanted) != (name in found) or not chain.dialect.same(name, wanted[name], found[name])
    ]
    old = older(chain)
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
    if isinstance(old, Value):
        gone = dict.fromkeys(taken_out(chain), "no unit names it any more")
        old = Value({**old.value, **gone}, old.where)
    if isinstance(old, Value) and old.value:
        lines = [f"{name}: {words}" for name, words in old.value.items()]
        return failed(
            f"the process has an older environment than the manager holds: {'; '.join(lines[:3])}",
            expected=[],
            observed=[*old.value],
            between=("loaded_unit", "process_argv"),
            evidence=(evidence("environment of the process", old, [*lines]),),
            cause="Environment= was changed and reloaded, and the process is still the one from before",
            remedy="`systemctl restart` the unit when its traffic is drained",
        )
    unread = f" (its environment was not compared: {old.why})" if isinstance(old, Silent) else ""
    return passed(
        f"the process was started with all {len(wanted)} flags that the manager holds{unread}",
        expected=[],
        observed=[],
        evidence=(evidence("environment of the process", old, []),),
    )
