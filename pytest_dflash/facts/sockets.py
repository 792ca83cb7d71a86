"""Listening TCP sockets and the processes that own them.

Law: addresses and pids only; whose process it is, is decided by who compares it with the unit's processes.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Listener:
    """One listening socket. `pids` is None when the owner may not be seen (unprivileged)."""

    address: str
    port: int
    pids: tuple[int, ...] | None
    names: tuple[str, ...] = ()
