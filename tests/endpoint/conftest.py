"""A small HTTP server on loopback that answers what a test puts into its table."""

from __future__ import annotations

import ssl
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

TLS = Path(__file__).parent / "tls"


@dataclass
class Reply:
    """What the server answers. `pieces` go out one by one; `length` may promise more than comes."""

    status: int = 200
    pieces: tuple[bytes, ...] = (b"{}",)
    headers: dict[str, str] = field(default_factory=dict)
    length: int | None = None
    before_each: Callable[[], object] = lambda: None


@dataclass
class Service:
    """The server, its table and what it was asked."""

    port: int
    replies: dict[tuple[str, str], Reply] = field(default_factory=dict)
    requests: list[tuple[str, str, dict[str, str], bytes]] = field(default_factory=list)
    released: threading.Event = field(default_factory=threading.Event)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def answer(self, method: str, path: str, *pieces: bytes, **rest: Any) -> None:
        """Puts a reply into the table; `rest` are fields of `Reply`."""
        self.replies[method, path] = Reply(pieces=pieces, **rest)

    def wait(self) -> None:
        """Holds an answer back until the test is over."""
        self.released.wait(30)


class Server(ThreadingHTTPServer):
    daemon_threads = False
    service: Service

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that goes away is part of the tests."""


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Server

    def log_message(self, *_: object) -> None: ...

    def _answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.server.service.requests.append((self.command, self.path, headers, body))
        reply = self.server.service.replies.get(
            (self.command, self.path), Reply(404, (b'{"detail":"Not Found"}',))
        )
        self.send_response(reply.status)
        for name, value in reply.headers.items():
            self.send_header(name, value)
        self.send_header("content-length", str(reply.length or sum(map(len, reply.pieces))))
        self.end_headers()
        for piece in reply.pieces:
            reply.before_each()
            self.wfile.write(piece)
            self.wfile.flush()
        self.close_connection = True

    do_GET = do_POST = _answer  # noqa: N815 - names of the base class


def _serve(context: ssl.SSLContext | None = None) -> Iterator[Service]:
    with Server(("127.0.0.1", 0), Handler) as server:
        if context is not None:
            server.socket = context.wrap_socket(server.socket, server_side=True)
        server.service = Service(server.server_port)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server.service
        finally:
            server.service.released.set()
            server.shutdown()
            thread.join()


@pytest.fixture
def service() -> Iterator[Service]:
    yield from _serve()


@pytest.fixture
def tls_service() -> Iterator[Service]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(TLS / "cert.pem", TLS / "key.pem")
    yield from _serve(context)
