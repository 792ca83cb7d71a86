"""One thread, one epoll, one schedule: sends each chunk when it is due and notes down when it really did.

Law: the stamp of a request is the kernel's, of the moment in which its last byte was there, so that it is not this
server's own lateness; a chunk is stamped right before its send. No thread, no lock, no log.
"""

from __future__ import annotations

import heapq
import json
import select
import socket
import struct
import time
from dataclasses import asdict, dataclass, field
from typing import Any

from . import wire
from .scenario import SCENARIOS, Scenario

SO_TIMESTAMPNS = 35  # asm-generic/socket.h; Python has no name for it
TIMESPEC = struct.Struct("@qq")
PIECE = 1 << 18
BUSY_S = 0.0005
"""So long before something is due the server no longer sleeps: a timer of the kernel may be late by 50 us and more."""


@dataclass(slots=True, kw_only=True)
class Truth:
    """What really happened to one request. Times are seconds of the monotonic clock."""

    model: str
    there_at_s: float
    first_at_s: float = 0.0
    last_at_s: float = 0.0
    tokens: int = 0
    chunks: int = 0
    late_s: float = 0.0


@dataclass(slots=True, eq=False)
class Stream:
    """One answer on its way."""

    connection: socket.socket
    scenario: Scenario
    truth: Truth
    chat: bool
    chunks: tuple[int, ...]
    usage: tuple[int, int] | None
    thinks_until: int
    finish: str
    at: int = 0


@dataclass(slots=True)
class Server:
    """The server; `address` is where it listens."""

    host: str = "127.0.0.1"
    port: int = 0
    listener: socket.socket = field(init=False)
    poll: select.epoll = field(default_factory=select.epoll)
    connections: dict[int, tuple[socket.socket, bytearray]] = field(default_factory=dict)
    due: list[tuple[float, int, Stream]] = field(default_factory=list)
    truths: list[Truth] = field(default_factory=list)
    counter: int = 0

    def __post_init__(self) -> None:
        self.listener = socket.create_server((self.host, self.port), backlog=4096)
        self.listener.settimeout(0)
        self.listener.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        self.port = self.listener.getsockname()[1]
        self.poll.register(self.listener, select.EPOLLIN)

    def serve(self) -> None:
        """For ever."""
        while True:
            wait = self.due[0][0] - time.monotonic() - BUSY_S if self.due else 1.0
            for descriptor, _ in self.poll.poll(max(wait, 0.0)):
                if descriptor == self.listener.fileno():
                    self._accept()
                else:
                    self._read(descriptor)
            now = time.monotonic()
            while self.due and self.due[0][0] <= now:
                at, _, stream = heapq.heappop(self.due)
                self._send(stream, at)
                now = time.monotonic()

    def close(self) -> None:
        """Closes everything."""
        for connection, _ in self.connections.values():
            connection.close()
        self.listener.close()
        self.poll.close()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self.listener.accept()
            except BlockingIOError:
                return
            connection.settimeout(0)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.connections[connection.fileno()] = connection, bytearray()
            self.poll.register(connection, select.EPOLLIN)
            self._read(connection.fileno())

    def _read(self, descriptor: int) -> None:
        connection, raw = self.connections[descriptor]
        try:
            data, said, _, _ = connection.recvmsg(PIECE, 64)
        except BlockingIOError:
            return
        except OSError:
            data, said = b"", []
        if not data:
            self._drop(connection)
            return
        raw += data
        asked = wire.take(raw)
        if asked is not None:
            self._answer(connection, asked, _stamp(said))

    def _drop(self, connection: socket.socket) -> None:
        if self.connections.pop(connection.fileno(), None):
            self.poll.unregister(connection)
            connection.close()

    def _answer(self, connection: socket.socket, asked: wire.Asked, there_at_s: float) -> None:
        if asked.path.endswith("/completions") and isinstance(asked.body, dict):
            self._begin(connection, asked, there_at_s)
        elif asked.path == "/truth":
            found = [asdict(truth) for truth in self.truths]
            self.truths.clear()
            self._say(connection, wire.answer(found))
        elif asked.path.endswith("/models"):
            models = [{"id": name, "object": "model", "owned_by": "truth"} for name in SCENARIOS]
            self._say(connection, wire.answer({"object": "list", "data": models}))
        elif asked.path in ("/health", "/health_generate"):
            self._say(connection, wire.answer({}))
        else:
            self._say(connection, wire.answer({"detail": "Not Found"}, "404 Not Found"))

    def _begin(self, connection: socket.socket, asked: wire.Asked, there_at_s: float) -> None:
        body = asked.body
        model = body.get("model")
        scenario = SCENARIOS.get(model)
        if scenario is None:
            self._say(
                connection, wire.answer({"object": "error", "message": f"no model {model}"}, "404 Not Found")
            )
            return
        limit = int(body.get("max_completion_tokens") or body.get("max_tokens") or 16)
        chunks = scenario.chunks(limit)
        prompt, counts = len(json.dumps(body.get("messages") or body.get("prompt"))) // 4, bool(
            (body.get("stream_options") or {}).get("include_usage")
        )  # fmt: skip
        truth = Truth(model=model, there_at_s=there_at_s, tokens=sum(chunks), chunks=len(chunks))
        if not body.get("stream"):
            usage = {"prompt_tokens": prompt, "completion_tokens": truth.tokens}
            choice = {
                "index": 0,
                "message": {"role": "assistant", "content": "word"},
                "finish_reason": "stop",
            }
            self._say(
                connection, wire.answer({"id": "truth", "model": model, "choices": [choice], "usage": usage})
            )
            return
        stream = Stream(
            connection=connection,
            scenario=scenario,
            truth=truth,
            chat=asked.chat,
            chunks=chunks,
            usage=(prompt, truth.tokens) if counts and scenario.counts else None,
            thinks_until=scenario.thinks_until(chunks),
            finish="length" if truth.tokens == limit else "stop",
        )
        self._say(connection, wire.STREAM_HEAD + (wire.role() if scenario.role and asked.chat else b""))
        self._schedule(stream, there_at_s + scenario.ttft_s)

    def _schedule(self, stream: Stream, at_s: float) -> None:
        self.counter += 1
        heapq.heappush(self.due, (at_s, self.counter, stream))

    def _send(self, stream: Stream, due_at_s: float) -> None:
        """One chunk. The next is due by the schedule, however late this one was."""
        truth, at = stream.truth, stream.at
        data = wire.text(stream.chunks[at], chat=stream.chat, reasoning=at < stream.thinks_until)
        stream.at += 1
        over = stream.at == len(stream.chunks)
        cut = stream.at >= len(stream.chunks) * stream.scenario.cut_at and not over
        now = time.monotonic()
        truth.late_s = max(truth.late_s, now - due_at_s)
        truth.first_at_s, truth.last_at_s = truth.first_at_s or now, now
        if over:
            data += wire.last(chat=stream.chat, finish=stream.finish, usage=stream.usage)
            self.truths.append(truth)
        if not self._say(stream.connection, data):
            return
        if cut:
            self.truths.append(truth)
            self._drop(stream.connection)
        elif not over:
            self._schedule(stream, due_at_s + stream.scenario.step_s)

    def _say(self, connection: socket.socket, data: bytes) -> bool:
        """Sends it all: a client that does not read is waited for, and spoils the truth of the others. Or it is gone."""
        try:
            sent = connection.send(data)
            if sent < len(data):
                connection.settimeout(10)
                connection.sendall(data[sent:])
                connection.settimeout(0)
        except OSError:
            self._drop(connection)
            return False
        return True


def _stamp(said: list[tuple[int, int, Any]]) -> float:
    """When the kernel had the last byte, on the monotonic clock; now where it does not tell."""
    now = time.monotonic()
    for level, kind, data in said:
        if level == socket.SOL_SOCKET and kind == SO_TIMESTAMPNS:
            seconds, nanoseconds = map(float, TIMESPEC.unpack(data[: TIMESPEC.size]))
            # The offset of the two clocks is taken anew each time: while a clock is being slewed it drifts.
            return now - max(time.time() - (seconds + nanoseconds / 1e9), 0.0)
    return now
