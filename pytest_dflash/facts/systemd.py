"""The unit as the manager holds it, and as the disk holds it.

Law: questions to systemctl and busctl and readers of their answers. KEY=VALUE only, never a formatted date.
Which files on disk speak for a unit is asked by `unit_lookup`, what they mean is told by `unit_file`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from pytest_dflash.facts.access import Access
from pytest_dflash.facts.digits import whole
from pytest_dflash.facts.probe import Probe, Reply
from pytest_dflash.facts.reading import Reading, Value


@dataclass(frozen=True, slots=True)
class Unit:
    """What `systemctl show` says of the unit. A missing key reads as None or empty, never as a guess.

    Attributes:
        exec_main_code: 0 while it runs, 1 exited, 2 killed, 3 dumped core; see `exits.exit_meaning`.
        exec_main_status: The exit status or the number of the signal.
        exec_main_start_monotonic_us: When the main process was started, on the host's monotonic clock.
        properties: Every property that was asked for and answered, as text.
    """

    name: str
    load_state: str
    active_state: str
    sub_state: str
    result: str
    unit_file_state: str
    fragment_path: str
    drop_in_paths: tuple[str, ...]
    need_daemon_reload: bool | None
    invocation_id: str | None
    main_pid: int | None
    exec_main_code: int | None
    exec_main_status: int | None
    exec_main_start_monotonic_us: int | None
    n_restarts: int | None
    control_group: str
    user: str
    restart: str
    properties: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class LoadedCommand:
    """The manager's ExecStart lines as exact argument lists (busctl), its Environment and EnvironmentFile.

    It is what the next start would use, not what the running process was started with. Specifiers are
    resolved, variables are not. No ExecStart at all is a value: a drop-in may have emptied it.

    Attributes:
        manager_variables: Names in the manager's own environment, which services inherit; None where not heard.
    """

    exec_start: tuple[tuple[str, ...], ...]
    environment: Mapping[str, str]
    environment_files: tuple[str, ...]
    manager_variables: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class DiskFile:
    """One file on the host's disk: unit file, drop-in or environment file."""

    path: str
    text: str
    mtime: float | None = None
    access: Access | None = None


@dataclass(frozen=True, slots=True)
class UnitFiles:
    """Everything on disk that speaks for the unit, also what the manager has not loaded.

    Attributes:
        fragment: The unit file itself; None when the unit has none on disk.
        drop_ins: In the order in which systemd applies them (by file name over all directories),
            masked ones left out.
        environment_files: The files named by EnvironmentFile=, in order; unreadable ones are missing here
            and named in `unreadable`.
        masked: Paths that are links to /dev/null: the unit file itself, or drop-ins that hide others.
        missing: Environment files that are named and do not exist; systemd minds unless `-` stands before them.
        specifiers: What %H, %v, %b and %m stand for on this host, and what %h and its kind do to a user's own manager.
        by_user: The unit is one of a user's own manager.
    """

    fragment: DiskFile | None
    drop_ins: tuple[DiskFile, ...] = ()
    environment_files: tuple[DiskFile, ...] = ()
    unreadable: tuple[str, ...] = ()
    masked: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    specifiers: Mapping[str, str] = field(default_factory=dict)
    by_user: bool = False


PROPERTIES = (
    "Id,Names,Description,LoadState,LoadError,ActiveState,SubState,Result,UnitFileState,UnitFilePreset,FragmentPath,"
    "SourcePath,DropInPaths,NeedDaemonReload,InvocationID,MainPID,ControlPID,NRestarts,ControlGroup,"
    "ExecMainPID,ExecMainCode,ExecMainStatus,ExecMainStartTimestampMonotonic,ExecMainExitTimestampMonotonic,"
    "ActiveEnterTimestampMonotonic,InactiveEnterTimestampMonotonic,StateChangeTimestampMonotonic,"
    "User,Group,Type,NotifyAccess,Restart,RestartUSec,TimeoutStartUSec,TimeoutStopUSec,StartLimitBurst,"
    "StartLimitIntervalUSec,CanStart,CanStop,Transient,StatusText,Job,KillMode,KillSignal,OOMPolicy,"
    "MemoryMax,MemoryHigh,MemorySwapMax,MemoryCurrent,CPUQuotaPerSecUSec,TasksMax,AllowedCPUs,"
    "LimitNOFILE,LimitNOFILESoft,LimitMEMLOCK,LimitMEMLOCKSoft,LimitNPROC,LimitCORE,LimitSTACK,"
    "PrivateTmp,PrivateDevices,ProtectHome,ProtectSystem,RootDirectory,WorkingDirectory,"
    "StandardOutput,StandardError,LogRateLimitIntervalUSec,LogRateLimitBurst"
)
"""Asked in one call; a manager leaves out what it does not know. Source: org.freedesktop.systemd1(5)."""

_SHOW = "systemctl show"


def _paths(text: str) -> tuple[str, ...]:
    """A list of absolute paths joined by blanks without quotes, as systemctl prints it."""
    return tuple(path for path in re.split(r" +(?=/)", text.strip()) if path)


def _read_properties(reply: Reply) -> Reading[Unit]:
    pairs: dict[str, str] = {}
    for line in reply.text.split("\n"):
        key, equals, value = line.partition("=")
        if equals and key.isascii() and key.isalnum():
            pairs.setdefault(key, value)
    if "LoadState" not in pairs:
        return reply.silence(_SHOW)
    get = pairs.get
    return Value(
        Unit(
            name=get("Id", ""),
            load_state=pairs["LoadState"],
            active_state=get("ActiveState", ""),
            sub_state=get("SubState", ""),
            result=get("Result", ""),
            unit_file_state=get("UnitFileState", ""),
            fragment_path=get("FragmentPath", ""),
            drop_in_paths=_paths(get("DropInPaths", "")),
            need_daemon_reload={"yes": True, "no": False}.get(get("NeedDaemonReload", "")),
            invocation_id=get("InvocationID") or None,
            main_pid=whole(get("MainPID")) or None,
            exec_main_code=whole(get("ExecMainCode")),
            exec_main_status=whole(get("ExecMainStatus")),
            exec_main_start_monotonic_us=whole(get("ExecMainStartTimestampMonotonic")) or None,
            n_restarts=whole(get("NRestarts")),
            control_group=get("ControlGroup", ""),
            user=get("User", ""),
            restart=get("Restart", ""),
            properties=pairs,
        ),
        _SHOW,
    )


UNIT_PROPERTIES: Probe[Unit] = Probe(
    "unit-properties",
    f'timeout 10 ${{SYSTEMCTL:-systemctl}} show --no-pager -p {PROPERTIES} -- "$UNIT"\n',
    _read_properties,
)
"""The loaded unit and its state. What the running process was started with is /proc's to tell."""


_BUSCTL = "busctl get-property"


def _manager_variables(text: str) -> tuple[str, ...] | None:
    """The names in `systemctl show -p Environment`; quoted values may add more of them, which does no harm."""
    told = re.search(r"^Environment=(.*)", text, re.MULTILINE)
    return tuple(re.findall(r"([A-Za-z_][A-Za-z0-9_]*)=", told[1])) if told else None


def _read_loaded_command(reply: Reply) -> Reading[LoadedCommand]:
    answers: dict[str, list[object]] = {}
    for line in reply.text.splitlines():
        try:
            answer = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(answer, dict) and isinstance(answer.get("data"), list):
            answers.setdefault(str(answer.get("type")), answer["data"])
    signatures = {"a(sasbttttuii)", "as", "a(sb)"}
    if not signatures <= answers.keys():
        return reply.silence(_BUSCTL)
    commands = [row[1] for row in answers["a(sasbttttuii)"] if isinstance(row, list) and len(row) > 1]
    pairs = (str(entry).partition("=") for entry in answers["as"])
    files = [row[0] for row in answers["a(sb)"] if isinstance(row, list) and row]
    return Value(
        LoadedCommand(
            exec_start=tuple(tuple(map(str, argv)) for argv in commands if isinstance(argv, list)),
            environment={name: value for name, equals, value in pairs if equals},
            environment_files=tuple(map(str, files)),
            manager_variables=_manager_variables(reply.text),
        ),
        _BUSCTL,
    )


LOADED_COMMAND: Probe[LoadedCommand] = Probe(
    "loaded-command",
    # The characters that a unit's name may have and a bus label may not: sd_bus_path_encode(3).
    r"""
label=$(printf %s "$UNIT" |
    sed 's/_/_5f/g; s/-/_2d/g; s/\./_2e/g; s/@/_40/g; s/:/_3a/g; s/\\/_5c/g; s/^[0-9]/_3&/')
timeout 10 ${BUSCTL:-busctl} --json=short get-property org.freedesktop.systemd1 "/org/freedesktop/systemd1/unit/$label" \
    org.freedesktop.systemd1.Service ExecStart Environment EnvironmentFiles || exit
timeout 10 ${SYSTEMCTL:-systemctl} show --no-pager -p Environment || true
""",
    _read_loaded_command,
)
"""The manager's argv, exact: `systemctl show` joins arguments by blanks without quotes."""
