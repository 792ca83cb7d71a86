"""HTTP: routes, keys, framing, and a line of the access log for each request.

Law: sockets and status codes; what an answer contains is decided by the routes' modules.
"""

from __future__ import annotations

import hmac
import json
import os
import socket
import ssl
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar
from urllib.parse import urlsplit

from . import generate_route, log, native_routes, openai_requests, openai_routes, raw_answers, tokens
from .mischief import Mischief
from .refusal import Refused
from .scheduler import Scheduler
from .sequence import Wishes

OPEN = ("/health", "/ready", "/metrics")  # answered without a key, as SGLang does
DEPRECATED = {"/get_server_info": "/server_info", "/get_model_info": "/model_info"}
HANG_S = 3600.0
DIED = 1
HANDED_OVER = 3
"""The first descriptor of a socket that systemd hands over."""
BUFFER = 4096
"""Bytes that a proxy which buffers waits for."""


@dataclass(slots=True)
class Engine:
    """What the handlers share."""

    scheduler: Scheduler
    argv: Sequence[str]
    mischief: Mischief
    ready: bool = False
    health_checks: int = 0
    completions: int = 0
    asked: int = 0
    stopping: threading.Event = field(default_factory=threading.Event)

    @property
    def key(self) -> str | None:
        """The key that clients must show; None when none is set."""
        key: str | None = self.scheduler.fields["api_key"]
        return key

    def answered(self) -> None:
        """Counts a completion that was answered to its end, and dies of it where it should."""
        self.completions += 1
        if self.completions == self.mischief.foreign_after:
            self.scheduler.foreign = self.mischief.foreign_requests
        if self.completions == self.mischief.dies_after:
            os._exit(DIED)


Answer = Callable[["Handler"], None]


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    server_version = "uvicorn"
    sys_version = ""
    server: Server
    routes: ClassVar[Mapping[tuple[str, str], Answer]]

    def version_string(self) -> str:
        """The Server header."""
        return "uvicorn"

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class names it so
        """The access log is written by `log_request` alone."""

    def log_request(self, code: int | str = "-", _size: int | str = "-") -> None:
        """One line of uvicorn's access log."""
        status = HTTPStatus(int(code))
        log.access(
            self.client_address, f"{self.command} {self.path} {self.request_version}", status, status.phrase
        )

    def do_GET(self) -> None:
        """Any GET."""
        self._dispatch()

    def do_POST(self) -> None:
        """Any POST."""
        self._dispatch()

    @property
    def engine(self) -> Engine:
        """The engine behind this connection."""
        return self.server.engine

    def _dispatch(self) -> None:
        path = urlsplit(self.path).path.removeprefix(
            self.engine.scheduler.fields["fastapi_root_path"].rstrip("/")
        )
        length = int(self.headers.get("content-length") or 0)
        self.body = self.rfile.read(length)
        if path in self.engine.mischief.raw_answers:
            self.close_connection = True
            with suppress(BrokenPipeError, ConnectionResetError):
                raw_answers.tell(self.wfile.write, self.engine.mischief.raw_answers[path])
            return
        guarded = path.startswith(self.engine.mischief.guards) and not path.startswith(OPEN)
        if guarded and not self._may_pass():
            self.reply({"error": "Unauthorized"}, 401)
            return
        if path in DEPRECATED:
            log.line(
                f"Endpoint '{path}' is deprecated and will be removed in a future version. "
                f"Please use '{DEPRECATED[path]}' instead."
            )
            path = DEPRECATED[path]
        route = self.routes.get((self.command, path))
        if route is None:
            known = any(known == path for _, known in self.routes)
            self.reply({"detail": "Method Not Allowed" if known else "Not Found"}, 405 if known else 404)
            return
        try:
            route(self)
        except Refused as refused:
            self.reply(refused.body, refused.status)
        except (TypeError, ValueError, KeyError, AttributeError) as wrong:
            # Of whatever kind a value was that should have been another: the client's mistake, not the engine's end.
            invalid = Refused(f"1 validation error:\n  {type(wrong).__name__}: {wrong}", kind="Bad Request")
            self.reply(invalid.body, invalid.status)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def _may_pass(self) -> bool:
        shown = self.headers.get("authorization", "")
        return self.engine.key is None or hmac.compare_digest(
            shown.encode(), f"Bearer {self.engine.key}".encode()
        )

    def json(self) -> Any:
        """The request's body.

        Raises:
            Refused: When it is no JSON.
        """
        try:
            return json.loads(self.body)
        except ValueError:
            raise Refused("1 validation error:\n  {'type': 'json_invalid', 'loc': ('body', 1), 'msg': 'JSON decode "
                          "error'}", kind="Bad Request") from None  # fmt: skip

    def reply(self, body: Any, status: int = 200, kind: str = "application/json") -> None:
        """One body with its length."""
        data = body if isinstance(body, bytes) else json.dumps(body, separators=(",", ":")).encode()
        self.send_response(status)
        self.send_header("content-length", str(len(data)))
        if data:
            self.send_header("content-type", kind)
        self.end_headers()
        self.wfile.write(data)

    def _send_chunk(self, data: bytes) -> None:
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        self.wfile.flush()

    def completion(self, *, chat: bool) -> None:
        """Either OpenAI route."""
        mischief = self.engine.mischief.completions
        if mischief == "hang":
            self.engine.stopping.wait(HANG_S)
            self.close_connection = True
            return
        if mischief == "error":
            raise Refused("Internal server error", 500, "InternalServerError")
        self.engine.asked += 1
        each = self.engine.mischief.refuses_each
        if each and self.engine.asked % each == 0:
            raise Refused("The request queue is full.", 503, "ServiceUnavailableError")
        scheduler = self.engine.scheduler
        request = openai_requests.read(self._asked(), scheduler, chat=chat)
        if not request.stream:
            self.reply(openai_routes.complete(request, scheduler))
            self.engine.answered()
            return
        payloads = openai_routes.stream(request, scheduler)
        if self.engine.mischief.streams == "terse":
            payloads = openai_routes.terse(payloads)
        self._events(payloads, cut=mischief == "cut")

    def _asked(self) -> Any:
        """The request's body, as this engine chooses to take it."""
        body = self.json()
        if self.engine.mischief.streams == "short" and isinstance(body, dict) and body.get("stream"):
            body["max_tokens"] = max(1, int(body.get("max_tokens") or 2) // 2)
        return body

    def _events(self, payloads: Iterator[dict[str, Any]], *, cut: bool = False) -> None:
        """A stream of server-sent events; cut off after the first where that is its fate."""
        self.send_response(200)
        self.send_header("content-type", "text/event-stream; charset=utf-8")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        self.held: list[bytes] = []
        for told, payload in enumerate(payloads):
            if cut and told == 1:
                self.close_connection = True
                return
            self._tell(payload)
        self.held.append(b"data: [DONE]\n\n")
        self._let_go()
        self._send_chunk(b"")
        self.engine.answered()

    def _tell(self, payload: dict[str, Any]) -> None:
        """One event, as far as this engine, or whatever is before it, lets it through."""
        wrong = self.engine.mischief.streams
        if wrong == "usage-missing":
            payload.pop("usage", None)
        if wrong == "usage-zero" and payload.get("usage"):
            payload["usage"]["completion_tokens"] = 0
        self.held.append(b"data: " + json.dumps(payload, separators=(",", ":")).encode() + b"\n\n")
        if wrong != "buffered" or sum(map(len, self.held)) > BUFFER:
            self._let_go()

    def _let_go(self) -> None:
        self.wfile.write(b"".join(f"{len(event):x}\r\n".encode() + event + b"\r\n" for event in self.held))
        self.held.clear()
        self.wfile.flush()

    def generate(self) -> None:
        """SGLang's own way to ask."""
        body, scheduler = self.json(), self.engine.scheduler
        refusal = self.engine.mischief.refuses_logprobs
        if refusal and isinstance(body, dict) and body.get("return_logprob"):
            raise Refused(refusal)
        if isinstance(body, dict) and body.get("stream"):
            self._events(generate_route.stream(body, scheduler))
        else:
            self.reply(generate_route.complete(body, scheduler))

    def health(self) -> None:
        """A generation of one token, so at least a second, or 503 while starting."""
        if not self.engine.ready:
            self.reply(b"", 503)
            return
        self.engine.health_checks += 1
        list(self.engine.scheduler.submit([0], Wishes(1)).steps())
        time.sleep(1)
        self.reply(b"")

    def readiness(self) -> None:
        """Whether the warm-up is over; no generation."""
        self.reply(b"", 200 if self.engine.ready else 503)

    def flush(self) -> None:
        """Empties the cache and the counters, unless requests run."""
        scheduler = self.engine.scheduler
        if not scheduler.flush():
            text = "Cache not flushed because there are pending requests. "
            text += f"#queue-req: {scheduler.waiting}, #running-req: {scheduler.running}"
            self.reply(text.encode(), 400, "text/plain; charset=utf-8")
            return
        said = b"Cache flushed.\nPlease check backend logs for more details. (When there are running or waiting requests, "
        self.reply(said + b"the operation will not be performed.)\n", kind="text/plain; charset=utf-8")

    def metrics(self) -> None:
        """Prometheus, where it was asked for at start."""
        scheduler = self.engine.scheduler
        if not scheduler.fields["enable_metrics"]:
            self.reply({"detail": "Not Found"}, 404)
            return
        self.reply(native_routes.metrics(scheduler).encode(), kind="text/plain; version=0.0.4; charset=utf-8")

    def tokenize(self) -> None:
        """Token ids of a prompt."""
        scheduler = self.engine.scheduler
        ids = tokens.encode(str(self.json().get("prompt", "")))
        self.reply({"tokens": ids, "count": len(ids), "max_model_len": scheduler.fields["context_length"]})


_ROUTES: dict[str, tuple[str, Answer]] = {
    "/health": ("GET", Handler.health),
    "/health_generate": ("GET", Handler.health),
    "/ready": ("GET", Handler.readiness),
    "/server_info": ("GET", lambda h: h.reply(native_routes.server_info(h.engine.scheduler, h.engine.argv))),
    "/model_info": ("GET", lambda h: h.reply(native_routes.model_info(h.engine.scheduler.fields))),
    "/v1/models": ("GET", lambda h: h.reply(native_routes.models(h.engine.scheduler.fields))),
    "/v1/loads": ("GET", lambda h: h.reply(native_routes.loads(h.engine.scheduler))),
    "/metrics": ("GET", Handler.metrics),
    "/flush_cache": ("GET POST", Handler.flush),
    "/v1/completions": ("POST", lambda h: h.completion(chat=False)),
    "/v1/chat/completions": ("POST", lambda h: h.completion(chat=True)),
    "/generate": ("POST", Handler.generate),
    "/tokenize": ("POST", Handler.tokenize),
    "/v1/tokenize": ("POST", Handler.tokenize),
}
Handler.routes = {
    (method, path): answer for path, (methods, answer) in _ROUTES.items() for method in methods.split()
}


class Server(ThreadingHTTPServer):
    """The listening socket."""

    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 128

    def __init__(self, host: str, port: int, engine: Engine) -> None:
        self.engine = engine
        if ":" in host:
            self.address_family = socket.AF_INET6
        fields = engine.scheduler.fields
        self.secure: ssl.SSLContext | None = None
        if fields["ssl_certfile"]:
            self.secure = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self.secure.load_cert_chain(fields["ssl_certfile"], fields["ssl_keyfile"])
        super().__init__((host, port), Handler)

    def get_request(self) -> tuple[socket.socket, Any]:
        """One connection; its handshake is left to its own thread."""
        connection, client = super().get_request()
        if self.secure:
            connection = self.secure.wrap_socket(connection, server_side=True, do_handshake_on_connect=False)
        return connection, client

    def handle_error(self, request: Any, client_address: Any) -> None:
        """What went wrong with one connection; a client that does not speak TLS is no matter of the log."""
        if not isinstance(sys.exception(), ssl.SSLError):
            super().handle_error(request, client_address)

    def server_bind(self) -> None:
        """Binds without asking a name server for this machine's name, as the base class would."""
        if os.environ.get("LISTEN_PID") == str(os.getpid()):  # sd_listen_fds(3): systemd has bound it
            self.socket.close()
            self.socket = socket.socket(fileno=HANDED_OVER)
            self.server_address = self.socket.getsockname()[:2]
            self.server_name, self.server_port = str(self.server_address[0]), int(self.server_address[1])
            return
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(self.server_address)
        self.server_name, self.server_port = str(self.server_address[0]), int(self.server_address[1])
