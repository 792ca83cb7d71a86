"""A TCP proxy that makes the way longer: every byte arrives later, none is lost or reordered.

Run it alone (`python benchmarks/latency_proxy.py 127.0.0.1 22 --delay-ms 40` prints its port), or use
`LatencyProxy` in a test.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager

CHUNK = 65_536


class LatencyProxy:
    """Adds a delay to each direction.

    Args:
        host: Where to lead to.
        port: As above.
        delay_ms: Milliseconds added to a round trip; half of it each way.

    Attributes:
        port: Where it listens on 127.0.0.1, once `start` has returned.
        accepted: Connections taken so far.
    """

    def __init__(self, host: str, port: int, delay_ms: float) -> None:
        self._peer = (host, port)
        self._one_way_s = delay_ms / 2000
        self.port = 0
        self.accepted = 0

    async def start(self) -> asyncio.Server:
        """Listens; serve with the returned server."""
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        return server

    async def _serve(self, near_in: asyncio.StreamReader, near_out: asyncio.StreamWriter) -> None:
        self.accepted += 1
        try:
            far_in, far_out = await asyncio.open_connection(*self._peer)
        except OSError:
            near_out.close()
            return
        await asyncio.gather(self._carry(near_in, far_out), self._carry(far_in, near_out))

    async def _carry(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        """Chunks queue up with the moment of their arrival: a delay, not a narrower pipe."""
        loop = asyncio.get_running_loop()
        on_the_way: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue(64)

        async def take() -> None:
            data = b"-"
            while data:
                with contextlib.suppress(OSError):
                    data = await source.read(CHUNK)
                await on_the_way.put((loop.time() + self._one_way_s, data))

        taking = asyncio.create_task(take())
        try:
            while True:
                due, data = await on_the_way.get()
                await asyncio.sleep(max(0.0, due - loop.time()))
                if not data:
                    break
                sink.write(data)
                await sink.drain()
            sink.close()
        except OSError:
            sink.transport.abort()
        except asyncio.CancelledError:
            sink.transport.abort()
            raise
        finally:
            taking.cancel()


@contextmanager
def latency(host: str, port: int, delay_ms: float) -> Iterator[LatencyProxy]:
    """A running proxy in a thread of its own."""
    proxy = LatencyProxy(host, port, delay_ms)
    ready = threading.Event()
    loop: asyncio.AbstractEventLoop | None = None
    stop = asyncio.Event()

    async def serve() -> None:
        nonlocal loop
        loop = asyncio.get_running_loop()
        server = await proxy.start()
        ready.set()
        await stop.wait()
        server.close()  # connections that are still open are cancelled by `asyncio.run`

    thread = threading.Thread(target=asyncio.run, args=(serve(),), daemon=True)
    thread.start()
    ready.wait(10)
    try:
        yield proxy
    finally:
        if loop:
            loop.call_soon_threadsafe(stop.set)
        thread.join(10)


def main() -> None:
    """Serves until interrupted."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("host")
    parser.add_argument("port", type=int)
    parser.add_argument("--delay-ms", type=float, default=40.0, help="added to a round trip")
    given = parser.parse_args()
    with latency(given.host, given.port, given.delay_ms) as proxy, contextlib.suppress(KeyboardInterrupt):
        print(proxy.port, flush=True)
        threading.Event().wait()


if __name__ == "__main__":
    main()
