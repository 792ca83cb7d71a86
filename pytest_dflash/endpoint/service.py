"""The service as this run asks it: where it is, and what its passive routes say.

Law: an agent beside `client`: opens the way (direct, else through the host's own connection) and asks; judges
nothing. A port that answers is not yet the unit's: whose it is has been told by the facts.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from pytest_dflash.endpoint.answer import Answer
from pytest_dflash.endpoint.client import Client
from pytest_dflash.endpoint.trouble import EndpointTrouble
from pytest_dflash.engines.dialect import Dialect, Load
from pytest_dflash.errors import EndpointError
from pytest_dflash.facts.reading import Reading, Silent, Value
from pytest_dflash.facts.sockets import Listener
from pytest_dflash.findings import Json

LOOPBACK = ("127.", "::1", "localhost")
EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1", "*": "127.0.0.1"}  # noqa: S104 - what is looked for, not what is bound
DIRECT_S = 2.0
MODELS = "/v1/models"
NAME_IT = 'name it in the profile: [endpoint] url = "http://…/v1"'
"""What to do where it cannot be seen at which address the service listens."""
SECURED_BY = frozenset({"--ssl-certfile", "--ssl-keyfile", "--ssl-cert-file", "--ssl-key-file"})
"""Flags by which an engine speaks TLS itself. Source: SGLang and vLLM (the first two), llama.cpp."""
OK = 200


@dataclass(frozen=True, slots=True)
class Place:
    """Where the service listens, as its host sees it.

    Attributes:
        address: The bound address, "*" for every one.
        port: The port.
        outside: The host's address as this side reaches it; None where only the host's own connection leads there.
        secure: It speaks TLS.
    """

    address: str
    port: int
    outside: str | None
    secure: bool = False


def place(
    listeners: Sequence[Listener], port: int, outside: str | None, argv: Sequence[str] = ()
) -> Place | None:
    """The socket that listens on the port, by the command line of who serves; None when nobody does."""
    found = [each.address for each in listeners if each.port == port]
    secure = any(word.partition("=")[0] in SECURED_BY for word in argv)
    return Place(found[0], port, outside, secure) if found else None


def address(where: Place) -> str:
    """The address at which the host itself reaches the socket."""
    return EVERYWHERE.get(where.address, where.address.partition("%")[0])


def base_url(where: Place, forward: Callable[[str, int], int]) -> str:
    """A URL that leads there: direct where it accepts from here, else through the host's connection.

    Raises:
        HostError: No tunnel can be had, with what to do.
    """
    inside = address(where)
    bound_inside = where.address.startswith(LOOPBACK)
    if where.outside and not bound_inside and accepts(where.outside, where.port):
        return url(where.outside, where.port, secure=where.secure)
    return url("127.0.0.1", forward(inside, where.port), secure=where.secure)


def url(host: str, port: int, *, secure: bool = False) -> str:
    """A URL without a path, IPv6 in brackets."""
    return f"http{'s' if secure else ''}://" + (f"[{host}]:{port}" if ":" in host else f"{host}:{port}")


def accepts(host: str, port: int) -> bool:
    """Whether a TCP connection from here is accepted."""
    try:
        with socket.create_connection((host, port), DIRECT_S):
            return True
    except OSError:
        return False


@dataclass(frozen=True)
class Service:
    """The service that this run asks.

    Attributes:
        client: With the key, if there is one.
        port: On its host; None when only a URL is known.
        why: Why it is taken to be ready.
    """

    client: Client
    keyless: Client
    port: int | None
    why: str

    def models(self) -> Reading[tuple[str, ...]]:
        """The models that it offers."""
        try:
            return Value(self.client.models(), f"GET {MODELS}")
        except EndpointError as error:
            return Silent(str(error), f"GET {MODELS}")

    def status_without_key(self, path: str = MODELS) -> Reading[int]:
        """The status of a route, asked by GET without a key. A redirect is a status too."""
        try:
            return Value(self.keyless.get(path).status, f"GET {path}")
        except EndpointTrouble as trouble:
            if trouble.status is not None:
                return Value(trouble.status, f"GET {path}")
            return Silent(str(trouble), f"GET {path}")

    def close(self) -> None:
        """Closes both clients."""
        self.client.close()
        self.keyless.close()


def document(client: Client, paths: Sequence[str], beside: Sequence[str] = ()) -> Reading[Json]:
    """The first of these passive routes that there is, as JSON.

    Args:
        client: Asks.
        paths: Routes, the newest spelling first.
        beside: Further routes: what one of them says is put into an object, under its path.
    """
    said: list[str] = []
    for path in paths:
        try:
            answer: Answer = client.get(path)
            if answer.status == 404:
                said.append(f"GET {path} is not there (404)")
                continue
            found = answer.document()
            return Value(
                {**found, **_more(client, beside)} if isinstance(found, dict) else found, f"GET {path}"
            )
        except EndpointError as error:
            return Silent(str(error), f"GET {path}")
    return Silent("; ".join(said) or "this engine has no such route")


def load(client: Client, dialect: Dialect) -> Reading[Load]:
    """The requests that the engine has now, by the first of its routes that tells."""
    said: list[str] = []
    for path in dialect.load_paths():
        try:
            answer = client.get(path)
        except EndpointError as error:
            return Silent(str(error), f"GET {path}")
        found: Reading[Load] = Silent(f"it answered {answer.status}", f"GET {path}")
        if answer.status == OK:
            found = dialect.load(path, answer.text)
        if isinstance(found, Value):
            return found
        said.append(f"GET {path}: {found.why}" if isinstance(found, Silent) else f"GET {path}: nothing")
    return Silent("; ".join(said) or "this engine has no route that tells its load")


def _more(client: Client, paths: Sequence[str]) -> dict[str, Json]:
    """What these routes say, by path; one that does not answer is left out."""
    said: dict[str, Json] = {}
    for path in paths:
        with suppress(EndpointError):
            answer = client.get(path)
            if answer.status == 200:
                said[path] = answer.document()
    return said
