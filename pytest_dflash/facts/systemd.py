"""The unit as the manager holds it, and as the disk holds it.

Law: questions to systemctl and busctl and readers of their answers. KEY=VALUE only, never a formatted date.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Unit:
    """What `systemctl show` says of the unit. A missing key reads as None or empty, never as a guess."""

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
    """The manager's ExecStart lines as exact argument lists (busctl), and its Environment and EnvironmentFile."""

    exec_start: tuple[tuple[str, ...], ...]
    environment: Mapping[str, str]
    environment_files: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DiskFile:
    """One file on the host's disk: unit file, drop-in or environment file."""

    path: str
    text: str
    mtime: float | None = None


@dataclass(frozen=True, slots=True)
class UnitFiles:
    """Everything on disk that speaks for the unit, also what the manager has not loaded.

    Attributes:
        fragment: The unit file itself; None when the unit has none on disk.
        drop_ins: In the order in which systemd applies them (by file name over all directories, masked ones left out).
        environment_files: The files named by EnvironmentFile=, in order; unreadable ones are missing here
            and named in `unreadable`.
    """

    fragment: DiskFile | None
    drop_ins: tuple[DiskFile, ...] = ()
    environment_files: tuple[DiskFile, ...] = ()
    unreadable: tuple[str, ...] = ()
