"""The engine's other processes: a scheduler for each rank and the detokenizer, by their titles.

Law: forked before any thread exists; they only wait, and end with the engine. The title overwrites the
argument vector in place, as setproctitle does, so that their command line says nothing of the flags.
"""

from __future__ import annotations

import ctypes
import os
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_LIBC = ctypes.CDLL(None)
_PR_SET_NAME = 15
_PR_SET_PDEATHSIG = 1
_ARG_START = 48  # field of /proc/PID/stat, counted from 1


def titles(fields: Mapping[str, Any]) -> list[str]:
    """What they call themselves; a single scheduler has no rank."""
    ranks = fields["tp_size"]
    schedulers = (
        [f"sglang::scheduler_TP{rank}" for rank in range(ranks)] if ranks > 1 else ["sglang::scheduler"]
    )
    return [*schedulers, "sglang::detokenizer"]


def start(fields: Mapping[str, Any]) -> list[int]:
    """Forks them.

    Returns:
        Their pids.
    """
    ours, theirs = os.pipe()
    pids = []
    for title in titles(fields):
        pid = os.fork()
        if pid == 0:
            os.close(theirs)
            _wait(title, ours)
        pids.append(pid)
    os.close(ours)
    return pids


def _wait(title: str, until: int) -> None:
    """Runs in the child: reads until the engine, which alone can write, is gone."""
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    retitle(title)
    os.read(until, 1)
    os._exit(0)


def retitle(title: str) -> None:
    """Makes `title` this process's command line, as far as the old one was long, and its short name."""
    name = title.encode()
    _LIBC.prctl(_PR_SET_NAME, ctypes.c_char_p(name[:15]), 0, 0, 0)
    length = len(Path("/proc/self/cmdline").read_bytes())
    stat = Path("/proc/self/stat").read_text("utf-8", "replace")
    # Fields after the command's name, which may hold blanks; the name is field 2.
    start = int(stat.rpartition(")")[2].split()[_ARG_START - 3])
    if start and length:
        ctypes.memmove(start, name[: length - 1].ljust(length, b"\0"), length)
