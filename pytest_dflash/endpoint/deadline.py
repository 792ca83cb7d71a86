"""The end of a request's time, kept from outside of it.

Law: acts on one socket, when the time is over. An HTTP library's own timeouts are for one read each: a head that
comes letter by letter, or informational answers without end, renew them for ever.
"""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from typing import Any, Self

GRACE_S = 1.0
"""Seconds for the library's own timeout to come first: it says better what it waited for."""


class Deadline:
    """Shuts the connection of a request down after so many seconds; `with` ends the waiting.

    Attributes:
        over: Whether the time was over before the request was.
    """

    def __init__(self, seconds: float) -> None:
        self.over = False
        self._stream: Any = None
        self._timer = threading.Timer(seconds + GRACE_S, self._end)
        self._timer.daemon = True

    def __enter__(self) -> Self:
        self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()

    def trace(self, event: str, told: dict[str, Any]) -> None:
        """Hears of the connection from httpcore, as its `trace` extension."""
        if event in {"connection.connect_tcp.complete", "connection.start_tls.complete"}:
            self._stream = told.get("return_value")
            if self.over:
                self._shut()

    def _end(self) -> None:
        self.over = True
        self._shut()

    def _shut(self) -> None:
        raw = self._stream.get_extra_info("socket") if self._stream is not None else None
        if isinstance(raw, socket.socket):
            with suppress(OSError):
                # Not an SSLSocket's own, which takes away what the reading thread is reading with.
                socket.socket.shutdown(raw, socket.SHUT_RDWR)
