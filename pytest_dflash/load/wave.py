"""One closed loop on the event loop: so many requests in flight until all are answered.

Law: an agent; it writes, stamps and watches, and reads no answer. How late the loop is and what it costs is noted by
the same loop.
"""

from __future__ import annotations

import asyncio
import gc
import ssl
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from pytest_dflash.endpoint.door import Door
from pytest_dflash.load.exchange import Exchange
from pytest_dflash.load.framing import head
from pytest_dflash.load.instrument import Instrument, instrument
from pytest_dflash.load.records import Failure
from pytest_dflash.load.transport import Connection, clock, connect

PROBE_S = 0.1
"""How often the loop is asked whether it is late."""
WATCH_EVERY = 3
"""Probes between two looks at deadline and abort: three looks a second."""

Watch = Callable[["Wave"], str | None]


@dataclass
class Wave:
    """So many streams over one queue of requests.

    Args:
        door: Where they go.
        streams: How many are in flight at once.
        timeout_s: The longest that one answer may take.
        watch: Asked three times a second; a reason ends everything at once.
    """

    door: Door
    streams: int
    timeout_s: float
    watch: Watch
    began_at_s: float = 0.0
    ended_at_s: float = 0.0
    over: list[Exchange] = field(default_factory=list)
    open: dict[int, Connection] = field(default_factory=dict)
    statuses: Counter[int] = field(default_factory=Counter)
    stopped: str = ""
    _queue: deque[Exchange] = field(default_factory=deque)
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)
    _stream: dict[Connection, int] = field(default_factory=dict)
    _lags: list[float] = field(default_factory=list)
    _cpu_s: float = 0.0
    _busy: int = 0
    _idle: asyncio.Event = field(default_factory=asyncio.Event)

    async def run(self, exchanges: Sequence[Exchange]) -> None:
        """Sends them all, in this order, and returns when each is over. Connections are made before."""
        self._queue.extend(exchanges)
        self._busy = min(self.streams, len(exchanges))
        try:
            await asyncio.gather(*(self._prepare(stream) for stream in range(self._busy)))
            with undisturbed():
                await self._loop()
        finally:
            self.begin_no_more()
            for connection in self.open.values():
                connection.close()
            await asyncio.sleep(0)  # the loop closes what was aborted in its next round

    async def _loop(self) -> None:
        prober = asyncio.create_task(self._probe())
        cpu, self.began_at_s = time.thread_time(), clock()
        for stream in range(self._busy):
            self._next(stream, self.began_at_s)
        self._look(clock())  # whoever compares with the engine's count must know at once how many are ours
        idle = asyncio.create_task(self._idle.wait())
        try:
            await asyncio.wait({idle, prober}, return_when=asyncio.FIRST_COMPLETED)
            self.ended_at_s, self._cpu_s = clock(), time.thread_time() - cpu
            if prober.done():
                prober.result()  # raises what `watch` raised: whoever watches is not to be left in the dark
        finally:
            idle.cancel()
            prober.cancel()

    def begin_no_more(self) -> None:
        """Requests that were not written are given up; those in flight may end."""
        self._queue.clear()

    @property
    def in_flight(self) -> int:
        """Requests whose answers are not over."""
        return sum(connection.exchange is not None for connection in self.open.values())

    @property
    def chunks(self) -> int:
        """Pieces that came, of all requests."""
        waiting = [c.exchange for c in self.open.values() if c.exchange is not None]
        return sum(len(exchange.stamps) for exchange in [*self.over, *waiting])

    def instrument(self) -> Instrument:
        """What this side cost."""
        return instrument(
            cpu_s=self._cpu_s,
            wall_s=self.ended_at_s - self.began_at_s,
            lags_s=self._lags,
            send_lags_s=[
                each.sent_at_s - each.due_at_s - each.connect_s for each in self.over if each.stamps
            ],
        )

    async def _prepare(self, stream: int) -> None:
        with suppress(OSError):  # told by the request that needs it
            await self._open(stream)

    async def _open(self, stream: int) -> Connection:
        connection = await connect(self.door, self._answered)
        self.open[stream] = connection
        self._stream[connection] = stream
        return connection

    def _next(self, stream: int, due_at_s: float) -> None:
        """Writes the next request of this stream, right now where its connection still stands."""
        if not self._queue:
            self._busy -= 1
            if self._busy == 0:
                self._idle.set()
            return
        exchange = self._queue.popleft()
        exchange.stream, exchange.due_at_s = stream, due_at_s
        connection = self.open.get(stream)
        if connection is not None and connection.usable:
            connection.write(exchange)
        else:
            self._write_anew(stream, exchange)

    def _write_anew(self, stream: int, exchange: Exchange) -> None:
        task = asyncio.create_task(self._connect_and_write(stream, exchange))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _connect_and_write(self, stream: int, exchange: Exchange) -> None:
        begun = clock()
        try:
            connection = await self._open(stream)
        except ssl.SSLError as error:
            exchange.lost, exchange.why = Failure.TLS, f"no connection: {error}"
        except OSError as error:
            exchange.lost, exchange.why = Failure.UNREACHABLE, f"no connection: {error.strerror or error}"
        except asyncio.CancelledError:
            if not self.stopped:
                raise
            exchange.lost, exchange.why = Failure.STOPPED, self.stopped
        else:
            exchange.connect_s = clock() - begun
            connection.write(exchange)
            return
        exchange.ended_at_s = clock()
        self._note(stream, exchange)

    def _answered(self, connection: Connection, exchange: Exchange) -> None:
        """Called by the transport with each exchange that is over: the next one is written in the same breath."""
        stream = self._stream[connection]
        if connection.closed_under(exchange) and not exchange.again:
            exchange.again, exchange.why = True, ""
            self._write_anew(stream, exchange)
        else:
            self._note(stream, exchange)

    def _note(self, stream: int, exchange: Exchange) -> None:
        self.over.append(exchange)
        self._next(stream, clock())
        found = head(exchange.raw[:4096])
        if found is not None:
            self.statuses[found.status] += 1

    async def _probe(self) -> None:
        looks, due = 0, clock() + PROBE_S
        while True:
            await asyncio.sleep(max(due - clock(), 0.0))
            now = clock()
            self._lags.append(max(now - due, 0.0))
            due = now + PROBE_S
            looks += 1
            if looks % WATCH_EVERY == 0:
                self._look(now)

    def _look(self, now_s: float) -> None:
        self.stopped = self.stopped or self.watch(self) or ""
        if self.stopped:
            self.begin_no_more()
            for task in self._tasks:
                task.cancel()
        for connection in list(self.open.values()):
            exchange = connection.exchange
            if exchange is None:
                continue
            if self.stopped:
                connection.give_up(Failure.STOPPED, self.stopped)
            elif now_s - exchange.sent_at_s > self.timeout_s:
                connection.give_up(Failure.TIMEOUT, f"no whole answer within {self.timeout_s:g} s")


@contextmanager
def undisturbed() -> Iterator[None]:
    """The garbage collector looks away meanwhile: one of its full rounds takes as long as some answers."""
    was = gc.isenabled()
    gc.collect()
    gc.freeze()
    gc.disable()
    try:
        yield
    finally:
        gc.unfreeze()
        if was:
            gc.enable()
