"""A tester that is short of time: threads of our own process that never rest.

Law: a stage. They share the interpreter with whoever measures, each for 5 ms at a time (`sys.getswitchinterval`), as
a plugin would that computes beside it; they end with the stand-in host.
"""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_dflash.rehearsal.faults.stages import Stage

if TYPE_CHECKING:
    from pytest_dflash.rehearsal.host import StandInHost

TURNS = 100_000
"""Between two looks whether the host is still there: a few milliseconds."""


def short_of_time(threads: int) -> Stage:
    """Lets so many threads compute until the host is closed."""

    def stage(host: StandInHost) -> None:
        for number in range(threads):
            name = f"busy-tester-{number}"
            threading.Thread(target=_compute, args=(host.folder,), name=name, daemon=True).start()

    return stage


def _compute(folder: Path) -> None:
    while folder.exists():
        for _ in range(TURNS):
            pass
