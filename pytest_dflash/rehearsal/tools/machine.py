"""df and systemd-detect-virt: a roomy host on bare metal, whatever this machine is.

Law: fixed answers, unless `mounts.json` of the stand-in says otherwise; a nearly full laptop must not turn a
rehearsal red.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from pytest_dflash.rehearsal.tools import Answer, unknown

if TYPE_CHECKING:
    from pytest_dflash.rehearsal.manager import Manager

FLAGS = {"-P", "-B1", "-i", "-k", "-Pi", "-PB1", "-T", "--", "-iP"}
#  mount: (device, bytes, used bytes, inodes, used inodes)
MOUNTS = {
    "/dev/shm": ("tmpfs", 540_000_000_000, 1_200_000_000, 131_072_000, 42),  # noqa: S108 - a mount's name
    "/srv": ("/dev/nvme1n1p1", 7_600_000_000_000, 2_100_000_000_000, 476_000_000, 310_000),
    "/": ("/dev/nvme0n1p2", 1_880_000_000_000, 312_000_000_000, 117_000_000, 1_400_000),
}


def mounts(manager: Manager) -> Mapping[str, Sequence[str | int]]:
    """Device, bytes, used bytes, inodes and used inodes by mount."""
    changed = manager.folder / "mounts.json"
    return MOUNTS | (json.loads(changed.read_text("utf-8")) if changed.exists() else {})


def _mount(path: str) -> str:
    if path.rstrip("/").endswith("/dev/shm"):  # noqa: S108 - a mount's name
        return "/dev/shm"  # noqa: S108 - a mount's name
    return "/srv" if "/srv/" in path + "/" else "/"


def df(argv: Sequence[str], manager: Manager) -> Answer:
    """`df -P -B1 PATHS`, `df -P -i PATHS`."""
    options, paths = (
        [word for word in argv if word.startswith("-")],
        [word for word in argv if not word.startswith("-")],
    )
    if set(options) - FLAGS or not paths:
        return unknown("df", f"call {' '.join(argv)!r}")
    inodes = any("i" in option for option in options)
    unit = 1 if inodes or any("B1" in option for option in options) else 1024
    kind = "Inodes IUsed IFree IUse%" if inodes else f"{unit}-blocks Used Available Capacity"
    known = mounts(manager)
    lines = [f"Filesystem {kind} Mounted on\n"]
    for path in paths:
        mount = _mount(path)
        device, *numbers = known[mount]
        total, used = (int(number) // unit for number in (numbers[2:] if inodes else numbers[:2]))
        share = f"{-(-100 * used // total)}%" if total else "-"
        lines.append(f"{device} {total} {used} {total - used} {share} {mount}\n")
    return Answer("".join(lines))


def detect_virt(argv: Sequence[str], _manager: Manager) -> Answer:
    """`systemd-detect-virt`: bare metal, status 1."""
    return (
        Answer("none\n", status=1) if not argv else unknown("systemd-detect-virt", f"call {' '.join(argv)!r}")
    )
