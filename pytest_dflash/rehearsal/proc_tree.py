"""The stand-in's /proc: links into the real one for the unit's processes, except where the host differs.

Law: files and links only. `cgroup` names the unit, `exe` leads where the real one leads; the machine's own
files are texts of a GPU host.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

LINKED = (
    "stat",
    "status",
    "cmdline",
    "environ",
    "limits",
    "fd",
    "task",
    "root",
    "cwd",
    "comm",
    "statm",
    "smaps_rollup",
    "net",
)


def session(leader: int) -> list[int]:
    """All processes of the session that `leader` leads, the leader first."""
    found = []
    for entry in os.scandir("/proc"):
        if not entry.name.isdigit():
            continue
        try:
            stat = Path(entry.path, "stat").read_bytes()
        except OSError:
            continue
        # Fields after the command's name, which may itself hold blanks and parentheses: state ppid pgrp session.
        if int(stat.rpartition(b")")[2].split()[3]) == leader:
            found.append(int(entry.name))
    return sorted(found, key=lambda pid: (pid != leader, pid))


def refresh(proc: Path, groups: Mapping[str, Sequence[int]]) -> None:
    """Adds folders for processes that came, removes those of processes that went.

    Args:
        proc: The stand-in's.
        groups: Pids by their control group.
    """
    home = {str(pid): group for group, pids in groups.items() for pid in pids}
    wanted = set(home)
    present = {entry.name for entry in os.scandir(proc) if entry.name.isdigit()}
    for gone in present - wanted:
        shutil.rmtree(proc / gone, ignore_errors=True)
    for new in wanted - present:
        folder = proc / new
        folder.mkdir()
        for name in LINKED:
            (folder / name).symlink_to(f"/proc/{new}/{name}")
    for pid, group in home.items():  # a process may become another program, and move on to another group
        _point(proc / pid / "exe", Path(f"/proc/{pid}/exe"))
        (proc / pid / "cgroup").write_text(f"0::{group}\n", "ascii")
    for group, pids in groups.items():
        members = proc.parent / f"sys/fs/cgroup{group}"
        members.mkdir(parents=True, exist_ok=True)
        (members / "cgroup.procs").write_text("".join(f"{pid}\n" for pid in pids), "ascii")


def _point(link: Path, real: Path) -> None:
    """Makes `link` lead where `real` leads, without a moment in which it is not there."""
    try:
        target = real.readlink()
    except OSError:
        target = real
    if not link.is_symlink() or link.readlink() != target:
        fresh = link.with_name("exe.new")
        fresh.symlink_to(target)
        fresh.replace(link)
