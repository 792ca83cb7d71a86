"""ss -ltnpH: the listening sockets of the unit's own processes, and an sshd as any host has one.

Law: real sockets, read from /proc/net; sockets of others on this machine are none of the stand-in's.
"""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_dflash.rehearsal.tools import Answer, unknown

if TYPE_CHECKING:
    from pytest_dflash.rehearsal.manager import Manager

LISTENING = "0A"
SSHD = 'LISTEN 0      128            0.0.0.0:22          0.0.0.0:*    users:(("sshd",pid=812,fd=3))\n'


def _address(hexadecimal: str, family: int) -> str:
    words = [hexadecimal[at : at + 8] for at in range(0, len(hexadecimal), 8)]
    packed = b"".join(struct.pack("=I", int(word, 16)) for word in words)
    text = socket.inet_ntop(family, packed)
    if family == socket.AF_INET:
        return text
    return "*" if text == "::" else f"[{text}]"


def listening() -> Iterator[tuple[str, int, str]]:
    """(address, port, inode) of every listening TCP socket; a machine without IPv6 has one file less."""
    for name, family in (("tcp", socket.AF_INET), ("tcp6", socket.AF_INET6)):
        table = Path("/proc/net", name)
        for line in table.read_text("ascii").splitlines()[1:] if table.exists() else ():
            words = line.split()
            if words[3] == LISTENING:
                address, port = words[1].split(":")
                yield _address(address, family), int(port, 16), words[9]


def owners(pids: Sequence[int]) -> dict[str, list[tuple[int, int]]]:
    """(pid, descriptor) by the socket's inode."""
    found: dict[str, list[tuple[int, int]]] = {}
    for pid in pids:
        try:
            descriptors = list(os.scandir(f"/proc/{pid}/fd"))
        except OSError:
            continue
        for descriptor in descriptors:
            try:
                target = str(Path(descriptor.path).readlink())
            except OSError:
                continue
            if target.startswith("socket:["):
                found.setdefault(target[8:-1], []).append((pid, int(descriptor.name)))
    return found


def answer(argv: Sequence[str], manager: Manager) -> Answer:
    """`ss argv`."""
    asked = sorted("".join(word.removeprefix("-") for word in argv))
    if asked != sorted("ltnpH"):
        return unknown("ss", f"call {' '.join(argv)!r}")
    mine = owners(manager.everybody())
    lines = [SSHD]
    for address, port, inode in listening():
        if inode in mine:
            users = ",".join(f'("{_name(pid)}",pid={pid},fd={descriptor})' for pid, descriptor in mine[inode])
            peer = "*:*" if address == "*" else "[::]:*" if address.startswith("[") else "0.0.0.0:*"
            lines.append(f"LISTEN 0      128    {f'{address}:{port}':>18} {peer:>18}    users:({users})\n")
    return Answer("".join(lines))


def _name(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text("utf-8", "replace").strip()
    except OSError:
        return "?"
