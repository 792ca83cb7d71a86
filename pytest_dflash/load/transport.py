"""HTTP/1.1 on the event loop's raw bytes: write a request, stamp what comes, say when it is over.

Law: an agent. Nothing is parsed here but an answer's head and its last bytes; no redirect is followed, no proxy
asked. A connection is used again at once or not at all: an engine may close an idle one.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from pytest_dflash.endpoint.door import Door
from pytest_dflash.load.exchange import Exchange
from pytest_dflash.load.framing import Head, ended, head
from pytest_dflash.load.records import Failure

CONNECT_S = 10.0
CROSSING_S = 1.0
MAX_BYTES = 32 * 2**20
"""Of one answer: a hundred thousand chunks with a token each. 64 endless ones take two gigabytes."""
clock = time.monotonic


class Connection(asyncio.Protocol):
    """One connection; carries one request at a time.

    Args:
        over: Called with each exchange that is over, in whatever way.
    """

    def __init__(self, over: Callable[[Connection, Exchange], None]) -> None:
        self.over = over
        self.exchange: Exchange | None = None
        self.usable = False
        self._written = 0
        self._head: Head | None = None
        self._transport: Any = None
        self._fd: int | None = None

    def connection_made(self, transport: Any) -> None:
        """The connection is there."""
        self._transport = transport
        self.usable = True
        if transport.get_extra_info("ssl_object") is None:
            self._fd = transport.get_extra_info("socket").fileno()

    def write(self, exchange: Exchange) -> None:
        """Writes the request, stamped at the write itself.

        The loop's own write may wait for the end of its round, behind all others that begin in it; so as much as the
        socket takes is written right here.
        """
        self.exchange, self._head, rest = exchange, None, exchange.request
        self._written += 1
        exchange.sent_at_s = clock()
        if self._fd is not None:
            with suppress(BlockingIOError, ConnectionError):  # a broken one is told by connection_lost
                rest = rest[os.write(self._fd, rest) :]
        if rest:
            self._transport.write(rest)

    def data_received(self, data: bytes) -> None:
        """Stamps a piece; the last one ends the exchange."""
        exchange = self.exchange
        if exchange is None:  # nobody asked: not a connection to go on with
            self.close()
            return
        exchange.stamps.append(clock())
        raw = exchange.raw
        raw += data
        exchange.ends.append(len(raw))
        found = self._head
        if found is None:
            found = self._head = head(raw)
            if found is None:
                return
        if ended(raw, found):
            self._over(exchange)
        elif len(raw) > MAX_BYTES:
            self.give_up(Failure.CUT_OFF, f"the answer is larger than {MAX_BYTES >> 20} MiB")

    def connection_lost(self, error: Exception | None) -> None:
        """The other side closed: the end of an answer without a length, else of a broken one."""
        self.usable = False
        if self.exchange is not None:
            if error is not None:
                self.exchange.why = str(error)
            self._over(self.exchange)

    def give_up(self, failure: Failure, why: str) -> None:
        """Ends the exchange from this side, and the connection with it."""
        exchange = self.exchange
        self.close()
        if exchange is not None:
            exchange.lost, exchange.why = failure, why
            self._over(exchange)

    def closed_under(self, exchange: Exchange) -> bool:
        """Whether the other side closed a used connection just when this request was written, as it may.

        RFC 9112 section 9.3.1: such a request may be sent again. That closing crosses it within a round trip.
        """
        unheard = exchange.lost is None and not exchange.raw and self._written > 1
        return unheard and exchange.ended_at_s - exchange.sent_at_s < CROSSING_S

    def close(self) -> None:
        """Closes at once."""
        self.usable = False
        if self._transport is not None:
            self._transport.abort()

    def _over(self, exchange: Exchange) -> None:
        exchange.ended_at_s = exchange.stamps[-1] if exchange.stamps and exchange.lost is None else clock()
        self.exchange = None
        if self._head is None or self._head.closes:
            self.usable = False
        if not self.usable:
            self.close()
        self.over(self, exchange)


async def connect(door: Door, over: Callable[[Connection, Exchange], None]) -> Connection:
    """A connection to the service.

    Raises:
        OSError: There is none to be had, or not within ten seconds.
    """
    scheme, host, port = door.address.origin
    secure: Any = {"ssl": door.trust or True, "server_hostname": host} if scheme == "https" else {}
    loop = asyncio.get_running_loop()
    try:
        async with asyncio.timeout(CONNECT_S):
            _, connection = await loop.create_connection(lambda: Connection(over), host, port, **secure)
    except TimeoutError:
        raise TimeoutError(f"no connection within {CONNECT_S:g} s") from None
    return connection
