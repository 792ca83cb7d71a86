"""The one way to the service: passive routes by GET, completions by the openai package.

Law: an agent; it asks and hands over raw facts, `completion` judges them. Nothing is retried, no redirect
is followed, no proxy or variable of this side's environment counts, and the key goes to one origin only.
"""

from __future__ import annotations

import logging
import re
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from importlib import import_module
from typing import Any, Literal, Self

from openai import APIConnectionError, DefaultHttpxClient, OpenAI, Timeout

from pytest_dflash.endpoint.address import Address, address
from pytest_dflash.endpoint.answer import Answer, said
from pytest_dflash.endpoint.deadline import Deadline
from pytest_dflash.endpoint.door import Door
from pytest_dflash.endpoint.protocol import Generation, parsed, read_stream, read_whole
from pytest_dflash.endpoint.trouble import EndpointTrouble, Kind, of_status
from pytest_dflash.engines.shapes import listed, table, text

# openai brings its HTTP library along: httpx, and from version 3 on httpx2. Both have the names used here.
httpx = import_module(DefaultHttpxClient.__mro__[1].__module__.partition(".")[0])

for _chatty in (httpx.__name__, httpx.__name__.replace("httpx", "httpcore"), "openai"):
    # Below INFO they log headers as they come, redirects and cookies with their secrets among them; INFO is a line for
    # each request, which pytest would show below a check that has nothing to do with it.
    logging.getLogger(_chatty).setLevel(logging.WARNING)

MAX_BYTES = 64 * 2**20
MAX_PASSIVE_BYTES = 8 * 2**20
"""Of a route that only tells: engines tell some hundred kilobytes, and JSON may take forty times its size when read."""
MAX_ERROR_BYTES = 64 * 2**10
CONNECT_S = 10.0
UNTRUSTED = "endpoint.ca_file names a private authority, endpoint.url a name that the certificate has"
WITHOUT_THOUGHTS = {"thinking": False, "enable_thinking": False}
"""How templates are asked for an answer without thoughts: DeepSeek's and Kimi's name, Qwen's and GLM's. Others ignore it."""
HIDDEN = "****"
OUR_HEADERS = frozenset(
    {
        "accept",
        "accept-encoding",
        "connection",
        "content-length",
        "content-type",
        "host",
        "transfer-encoding",
        "user-agent",
        "x-stainless-raw-response",  # the openai package reads it back from the request
    }
)
"""What may leave. The openai package adds others, some from the environment: no business of the host's."""


class Client:
    """One service.

    Args:
        base_url: `http://h:30000`, with `/v1` or a base path or without.
        key: The API key; None for a service without.
        ca_file: A file of certificates that are trusted instead of the system's.
        served_model: The model to ask for; None: the first that the service lists.
        deadline_s: The longest that one request may take, first byte to last.

    Raises:
        EndpointError: The URL, the key or the file of certificates cannot be used.
    """

    def __init__(
        self,
        base_url: str,
        *,
        key: str | None = None,
        ca_file: str | None = None,
        served_model: str | None = None,
        deadline_s: float = 30.0,
    ) -> None:
        self.address: Address = address(base_url)
        self.deadline_s = deadline_s
        self._key = _usable(key)
        self._model = served_model
        self._watched = threading.local()
        self._trusted = _trust(ca_file)
        self._http = DefaultHttpxClient(
            verify=self._trusted,
            trust_env=False,
            follow_redirects=False,
            # None is kept: an engine may close an idle one in the moment in which the next request takes it.
            limits=httpx.Limits(max_keepalive_connections=0),
            timeout=Timeout(deadline_s, connect=min(CONNECT_S, deadline_s)),
            event_hooks={"request": [self._sign], "response": [self._plain, self._refuse]},
        )
        self._openai = OpenAI(
            base_url=self.address.api,
            api_key="set-when-the-request-leaves",
            max_retries=0,
            timeout=deadline_s,
            http_client=self._http,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes all connections."""
        self._http.close()

    def get(self, path: str) -> Answer:
        """Reads a passive route, below the engine's root: `/server_info`, `/v1/models`.

        Returns:
            The answer, whatever its status.

        Raises:
            EndpointTrouble: No answer came within the deadline, it was a redirect, or it was too large.
        """
        return self._answer("GET", path, self.deadline_s, MAX_PASSIVE_BYTES)

    def models(self) -> tuple[str, ...]:
        """The ids of the models that the service lists."""
        models = listed(table(self.get("/v1/models").document()).get("data"))
        return tuple(name for model in models if (name := text(table(model).get("id"))))

    def door(self) -> Door:
        """The way in for whoever asks the same service by other means: the load's own transport.

        Raises:
            EndpointError: The model is not known, and the service does not list one.
        """
        trust = self._trusted if isinstance(self._trusted, ssl.SSLContext) else None
        if trust is None and self.address.origin[0] == "https":
            trust = httpx.create_ssl_context(trust_env=False)
        bearer = f"Bearer {self._key}" if self._key else None
        return Door(self.address, self._served_model(), bearer, trust)

    def post(self, path: str, body: Mapping[str, Any], *, deadline_s: float | None = None) -> Answer:
        """Asks one of the engine's own routes, below its root: `/generate`, `/v1/completions`.

        Raises:
            EndpointTrouble: The service did not accept the request, or gave no whole answer within the deadline.
        """
        return self._answer("POST", path, deadline_s or self.deadline_s, MAX_BYTES, json=body)

    def _answer(self, method: str, path: str, within: float, most: int, **body: Any) -> Answer:
        url, started = f"{self.address}{path}", time.monotonic()
        asked, waits = f"{method} {url}", Timeout(within, connect=min(CONNECT_S, within))
        with self._typed(asked, within), self._http.stream(method, url, timeout=waits, **body) as response:
            status: int = response.status_code
            if of_status(status) is Kind.REDIRECT:
                raise EndpointTrouble(Kind.REDIRECT, said(asked, status, None), status)
            pieces = self._pieces(asked, response.iter_bytes, started, within, most)
            came = b"".join(piece for _, piece in pieces).decode("utf-8", "replace")
            return Answer(
                path=path,
                status=status,
                text=came,
                json=parsed(came),
                headers={name.lower(): value for name, value in response.headers.items()},
                elapsed_s=time.monotonic() - started,
            )

    def complete(self, prompt: str, **options: Any) -> Generation:
        """The greedy answer to a prompt, as one document. Options: as `stream`.

        Raises:
            EndpointTrouble: The service did not accept the request or sent no whole answer.
        """
        asked, started = f"POST {self.address.api}", time.monotonic()
        with self._typed(asked), self._request(prompt, stream=False, **options) as response:
            body = b"".join(piece for _, piece in self._pieces(asked, response.iter_bytes, started))
        document = parsed(body.decode("utf-8", "replace"))
        if not isinstance(document, dict):
            raise EndpointTrouble(Kind.NOT_JSON, f"{asked} was answered with no JSON object")
        return read_whole(document, time.monotonic() - started)

    def stream(self, prompt: str, **options: Any) -> Generation:
        """The greedy answer to a prompt, streamed. One that ends early is a fact, not an error.

        Args:
            prompt: What the user says.
            **options: `max_tokens` (64), `route` ("chat" or "completions"), `token_ids` (ask for them),
                `thinking` (False: the chat's template is asked to leave thoughts out).

        Raises:
            EndpointTrouble: The service did not accept the request, or fell silent until the deadline.
        """
        asked, started = f"POST {self.address.api}", time.monotonic()
        with self._typed(asked), self._request(prompt, stream=True, **options) as response:
            return read_stream(self._until_cut(self._pieces(asked, response.iter_bytes, started)))

    def _request(  # noqa: PLR0913 - each is a wish of its own
        self,
        prompt: str,
        *,
        stream: bool,
        max_tokens: int = 64,
        route: Literal["chat", "completions"] = "chat",
        token_ids: bool = False,
        thinking: bool = True,
    ) -> AbstractContextManager[Any]:
        body: dict[str, Any] = {"model": self._served_model(), "temperature": 0, "max_tokens": max_tokens}
        if stream:
            body |= {"stream": True, "stream_options": {"include_usage": True}}
        if token_ids:
            body["extra_body"] = {"return_token_ids": True}
        if not thinking:
            body["extra_body"] = {**body.get("extra_body", {}), "chat_template_kwargs": WITHOUT_THOUGHTS}
        if route == "chat":
            body["messages"] = [{"role": "user", "content": prompt}]
            return self._openai.chat.completions.with_streaming_response.create(**body)
        return self._openai.completions.with_streaming_response.create(prompt=prompt, **body)

    def _served_model(self) -> str:
        if self._model is None:
            listed = self.models()
            if not listed:
                raise EndpointTrouble(Kind.NOT_FOUND, f"GET {self.address.api}/models lists no model")
            self._model = listed[0]
        return self._model

    def _sign(self, request: Any) -> None:
        """The last hand on every request: our key or none, and nothing from the environment."""
        for name in [name for name in request.headers if name.lower() not in OUR_HEADERS]:
            del request.headers[name]
        request.headers["accept-encoding"] = "identity"
        if self._key is not None:
            request.headers["authorization"] = f"Bearer {self._key}"
        request.extensions = {**request.extensions, "trace": self._watched.deadline.trace}

    @staticmethod
    def _plain(response: Any) -> None:
        """Refuses what is compressed though nobody asked: a thousandfold may be in it."""
        encoding = response.headers.get("content-encoding", "identity")
        if encoding.lower() != "identity":
            asked = f"{response.request.method} {response.request.url}"
            raise EndpointTrouble(Kind.NOT_JSON, f"{asked} was answered in an encoding that nobody asked for")

    def _refuse(self, response: Any) -> None:
        """A completion that was not accepted: its body is read here, because here it is bounded."""
        kind = of_status(response.status_code)
        if kind is None or response.request.method != "POST":
            return
        body = b""
        for piece in response.iter_bytes():
            body += piece
            if len(body) > MAX_ERROR_BYTES:
                break
        asked = f"POST {response.request.url}"
        message = said(asked, response.status_code, parsed(body.decode("utf-8", "replace")))
        raise EndpointTrouble(kind, self._without_key(message), response.status_code)

    def _without_key(self, message: str) -> str:
        return message.replace(self._key, HIDDEN) if self._key else message

    def _pieces(
        self,
        asked: str,
        body: Callable[[], Iterator[bytes]],
        started: float,
        within: float | None = None,
        most: int = MAX_BYTES,
    ) -> Iterator[tuple[float, bytes]]:
        """The body in pieces, each with its seconds since the request; bounded in bytes and in time."""
        size = 0
        for piece in body():
            elapsed, size = time.monotonic() - started, size + len(piece)
            if size > most:
                raise EndpointTrouble(Kind.TOO_LARGE, f"{asked}: the answer is larger than {most >> 20} MiB")
            if elapsed > (within or self.deadline_s):
                raise self._late(asked, within)
            yield elapsed, piece

    @staticmethod
    def _until_cut(pieces: Iterator[tuple[float, bytes]]) -> Iterator[tuple[float, bytes]]:
        """A connection that breaks in the middle ends the stream: what came until then is judged."""
        try:
            yield from pieces
        except httpx.TimeoutException:
            raise
        except httpx.TransportError:
            return

    def _late(self, asked: str, within: float | None = None) -> EndpointTrouble:
        return EndpointTrouble(
            Kind.TIMEOUT, f"{asked}: no whole answer within {within or self.deadline_s:g} s"
        )

    @contextmanager
    def _typed(self, asked: str, within: float | None = None) -> Iterator[None]:
        """Ends a request in time, and turns what HTTP library and openai package raise into our own trouble."""
        outer = getattr(self._watched, "deadline", None)
        with Deadline(within or self.deadline_s) as deadline:
            self._watched.deadline = deadline
            try:
                yield
            except APIConnectionError as error:
                cause = error.__cause__
                if isinstance(cause, EndpointTrouble):
                    raise cause from None
                raise self._trouble(asked, cause or error, within, late=deadline.over) from error
            except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError) as error:
                raise self._trouble(asked, error, within, late=deadline.over) from error
            finally:
                self._watched.deadline = outer
        if deadline.over:
            raise self._late(asked, within)

    def _trouble(
        self, asked: str, error: BaseException, within: float | None, *, late: bool
    ) -> EndpointTrouble:
        timed_out = isinstance(error, httpx.TimeoutException) and not isinstance(error, httpx.ConnectTimeout)
        if late or timed_out:
            return self._late(asked, within)
        reason = self._without_key(str(error) or type(error).__name__)
        kind = Kind.CUT_OFF
        if isinstance(error, httpx.ConnectTimeout):
            kind, reason = Kind.UNREACHABLE, "nothing answers there"
        elif _caused_by(error, ssl.SSLError):
            kind = Kind.TLS
            reason += f"; {UNTRUSTED}" if _caused_by(error, ssl.SSLCertVerificationError) else ""
        elif _caused_by(error, ConnectionRefusedError):
            kind, reason = Kind.REFUSED, "connection refused"
        elif isinstance(error, httpx.ConnectError | httpx.InvalidURL):
            kind = Kind.UNREACHABLE
        return EndpointTrouble(kind, f"{asked}: {reason}")


def _usable(key: str | None) -> str | None:
    """The key, if a header can carry it. It is in no message."""
    bare = (key or "").strip()
    if not re.fullmatch(r"[!-~]*", bare):
        raise EndpointTrouble(Kind.BAD_KEY, "the API key has blanks or characters that no header can carry")
    return bare or None


def _trust(ca_file: str | None) -> ssl.SSLContext | bool:
    if ca_file is None:
        return True
    try:
        return ssl.create_default_context(cafile=ca_file)
    except ssl.SSLError:
        reason = "it holds no certificate"
    except OSError as error:
        reason = error.strerror or str(error)
    raise EndpointTrouble(Kind.TLS, f"{ca_file}: cannot be used as endpoint.ca_file: {reason}")


def _caused_by(error: BaseException | None, kind: type[BaseException]) -> bool:
    while error is not None:
        if isinstance(error, kind):
            return True
        error = error.__cause__ or error.__context__
    return False
