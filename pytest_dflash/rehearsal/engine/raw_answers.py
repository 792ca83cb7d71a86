"""Answers of which every byte is told beforehand: what no engine says, and somebody who means harm does.

Law: pieces of bytes and pauses; HTTP is what the switch makes of it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

FOREVER = 2**62


def tell(write: Callable[[bytes], object], answer: Mapping[str, Any]) -> None:
    """Writes `head`, so many `times` (0 is without end) `piece` after a pause of `wait_s`, and `tail`."""
    write(_bytes(answer.get("head", "HTTP/1.1 200 OK\r\n\r\n")))
    piece = _bytes(answer.get("piece", "")) * int(answer.get("each", 1))
    for _ in range(int(answer.get("times", 1)) or FOREVER):
        time.sleep(float(answer.get("wait_s", 0.0)))
        write(piece)
    write(_bytes(answer.get("tail", "")))


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
