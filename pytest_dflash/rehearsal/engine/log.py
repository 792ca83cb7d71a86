"""Log lines with the engine's prefix.

Law: a line goes out whole and at once, from whichever thread; formatting only.
"""

from __future__ import annotations

import sys
import threading
import time

_WRITING = threading.Lock()


def stamp(rank: str = "") -> str:
    """`[2026-11-29 16:32:46] `, or `[2026-11-29 16:32:46 TP0] ` for a scheduler of several ranks."""
    return time.strftime(f"[%Y-%m-%d %H:%M:%S{' ' + rank if rank else ''}] ")


def bare(text: str) -> None:
    """A line without prefix, as Python's warnings are."""
    with _WRITING:
        sys.stderr.write(text + "\n")
        sys.stderr.flush()


def line(text: str, rank: str = "") -> None:
    """One line of the log."""
    bare(stamp(rank) + text)


def access(client: tuple[str, int], request: str, status: int, phrase: str) -> None:
    """One line of uvicorn's access log."""
    line(f'INFO:     {client[0]}:{client[1]} - "{request}" {status} {phrase}')
