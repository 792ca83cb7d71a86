"""The unit's processes, by /proc.

Law: argv by NUL, never by blanks; a process is named by pid and start time together.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pytest_dflash.facts.reading import Reading


@dataclass(frozen=True, slots=True)
class Process:
    """One process of the unit's cgroup. `start_ticks` is field 22 of stat, in clock ticks since boot."""

    pid: int
    parent: int
    argv: tuple[str, ...]
    exe: Reading[str]
    environ: Reading[Mapping[str, str]]
    start_ticks: int
    uid: int | None
    cgroup: str
    limits: Mapping[str, str]
    title: str = ""
