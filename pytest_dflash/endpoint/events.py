"""Server-sent events: bytes in pieces in, events out.

Law: the line protocol of the WHATWG standard (section "Server-sent events"), no knowledge of what the
events say. Total: any bytes, cut anywhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

LINE_END = re.compile(rb"\r\n|\r|\n")
BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Event:
    """One event. `kind` is its `event:` field, "" where it has none."""

    data: str
    kind: str = ""


@dataclass(slots=True)
class EventParser:
    """Cuts a stream into events. Comments (`: ping`), `id:` and `retry:` say nothing to us."""

    _partial: list[bytes] = field(default_factory=list)
    _after_cr: bool = False
    _data: list[str] = field(default_factory=list)
    _kind: str = ""
    _started: bool = False

    def feed(self, piece: bytes) -> Iterator[Event]:
        """The events that this piece completes."""
        if not piece:
            return
        if self._after_cr and piece.startswith(b"\n"):
            piece = piece[1:]  # the second half of a CRLF that was cut in two
            self._after_cr = False
            if not piece:
                return
        self._after_cr = piece.endswith(b"\r")
        first, *rest = LINE_END.split(piece)
        self._partial.append(first)
        if not rest:
            return
        lines = [b"".join(self._partial), *rest[:-1]]
        self._partial = [rest[-1]]
        for line in lines:
            yield from self._line(line)

    def close(self) -> Iterator[Event]:
        """What was still open when the stream ended. Whoever reads it finds out whether it is whole."""
        yield from self._line(b"".join(self._partial))
        yield from self._line(b"")
        self._partial = []

    def _line(self, line: bytes) -> Iterator[Event]:
        if not self._started:
            self._started = True
            line = line.removeprefix(BOM)
        if not line:
            if self._data:
                yield Event("\n".join(self._data), self._kind)
            self._data, self._kind = [], ""
            return
        name, _, value = line.decode("utf-8", "replace").partition(":")
        value = value.removeprefix(" ")
        if name == "data":
            self._data.append(value)
        elif name == "event":
            self._kind = value
