"""Log lines with the engine's prefix.

Law: a line goes out whole and at once, from whichever thread; formatting only.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Callable

_WRITING = threading.Lock()


def stamp(rank: str = "") -> str:
    """`[2026-11-29 16:32:46] `, or `[2026-11-29 16:32:46 TP0] ` for a scheduler of several ranks."""
    return time.strftime(
        f"[%Y-%m-%d %H:%M:%S{' ' + rank if rank else ''}] ", time.localtime(time.time() + off_s)
    )


def _plain(text: str, rank: str) -> str:
    return stamp(rank) + text


def _coloured(text: str, rank: str) -> str:
    """As loggers write for terminals that are none."""
    return f"\x1b[32m{stamp(rank).strip()}\x1b[0m \x1b[1m{text}\x1b[0m"


def _json(text: str, rank: str) -> str:
    """As a logging configuration of one's own writes it, the message beside its fields."""
    record = {
        "asctime": stamp().strip("[] "),
        "levelname": "INFO",
        "name": "sglang.srt",
        "rank": rank,
        "message": text,
    }
    return json.dumps(record)


FORMS: dict[str, Callable[[str, str], str]] = {"plain": _plain, "coloured": _coloured, "json": _json}
form: Callable[[str, str], str] = _plain
"""How lines are written: one of `FORMS`. Set before the first one."""
off_s = 0.0
"""How far this machine's clock is off, in seconds."""


def bare(text: str) -> None:
    """A line without prefix, as Python's warnings are."""
    with _WRITING:
        sys.stderr.write(text + "\n")
        sys.stderr.flush()


def line(text: str, rank: str = "") -> None:
    """One line of the log."""
    bare(form(text, rank))


def access(client: tuple[str, int], request: str, status: int, phrase: str) -> None:
    """One line of uvicorn's access log."""
    line(f'INFO:     {client[0]}:{client[1]} - "{request}" {status} {phrase}')
