"""The volatile drop-in that changes a unit's command for the time of a test.

Law: names and texts, and what would keep it from winning; it is written by `controller` and taken away by it or by
the lease. It lies under /run, so that a reboot heals; nothing under /etc is ever written.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import PurePosixPath

from pytest_dflash.facts.exec_start import Command
from pytest_dflash.facts.systemd import UnitFiles
from pytest_dflash.lifecycle.flagline import exec_start

FOLDER = "/run/systemd/system"
PREFIX = "zzz-dflash-"
"""Drop-ins apply in the order of their file names over all folders, and the last one wins."""


def path(unit: str, run: str) -> str:
    """Where the drop-in of a run lies."""
    return f"{FOLDER}/{unit}.d/{PREFIX}{run}.conf"


def text(command: Command, run: str) -> str:
    """The drop-in: the list of commands emptied, and the new one."""
    return (
        f"# Written by pytest-dflash, run {run}, for the time of a test. To take it away by hand:\n"
        "# remove this file, systemctl daemon-reload, systemctl restart the unit.\n"
        f"[Service]\nExecStart=\nExecStart={exec_start(command)}\n"
    )


def hidden_by(name: str, files: UnitFiles) -> str:
    """Which file would keep a drop-in of this name from having the last word; empty when none would."""
    others = [file.path for file in files.drop_ins if file.path.rpartition("/")[2] > name]
    same = [each for each in files.masked if each.rpartition("/")[2] == name]
    return next(iter([*others, *same]), "")


def in_force(wanted: str, loaded: Iterable[str]) -> bool:
    """Whether the manager holds the drop-in as the last one. Source: DropInPaths, in the order of applying."""
    paths = list(loaded)
    return bool(paths) and PurePosixPath(paths[-1]).name == PurePosixPath(wanted).name


def left_behind(files: UnitFiles) -> tuple[str, ...]:
    """Drop-ins of earlier runs."""
    return tuple(file.path for file in files.drop_ins if file.path.rpartition("/")[2].startswith(PREFIX))
