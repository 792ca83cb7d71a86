"""One request and its answer as they went over the wire: bytes and stamps, not yet read.

Law: written while a load runs, so nothing here takes time. Memory: the bytes of the answer, and 16 bytes for each
piece that came.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field

from pytest_dflash.load.records import Failure


@dataclass(slots=True)
class Exchange:
    """One request.

    Attributes:
        request: What is written.
        due_at_s: When it could have been written. sent_at_s: when it was. NaN until then.
        raw: What came. stamps, ends: when each piece came, and the length of `raw` then.
        again: It is written a second time: the first met a connection that was being closed.
        lost: What this side knows of its failure, and in words.
    """

    index: int
    request: bytes
    stream: int = 0
    due_at_s: float = float("nan")
    sent_at_s: float = float("nan")
    connect_s: float = 0.0
    ended_at_s: float = float("nan")
    raw: bytearray = field(default_factory=bytearray)
    stamps: array[float] = field(default_factory=lambda: array("d"))
    ends: array[int] = field(default_factory=lambda: array("q"))
    again: bool = False
    lost: Failure | None = None
    why: str = ""
