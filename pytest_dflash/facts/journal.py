"""The journal of one invocation.

Law: entries and their order, nothing about engines. "Not in the log" needs proof that the log of this
invocation is readable and reaches back to its start; `Journal` carries that proof.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Entry:
    """One line. `message` is decoded text without ANSI colours, split lines joined; `from_manager`: said by pid 1."""

    realtime_us: int
    monotonic_us: int | None
    pid: int | None
    priority: int | None
    message: str
    from_manager: bool = False
    cmdline: str = ""


@dataclass(frozen=True, slots=True)
class Journal:
    """The lines of one invocation, oldest first.

    Attributes:
        invocation_id: Whose lines these are.
        entries: All that was read: the first ones, and the last ones.
        reaches_start: The oldest kept line is from the process's first seconds, so nothing was rotated away.
        whole: No gap between the first and the last part; False when the middle was left out for size.
        start_monotonic_us: When the process started; offsets (+11.4 s) are counted from here.
    """

    invocation_id: str
    entries: tuple[Entry, ...]
    reaches_start: bool
    whole: bool
    start_monotonic_us: int | None = None
