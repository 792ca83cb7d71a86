"""Where the routes of a service are, from the base URL as a person may write it.

Law: pure. `http://h:30000`, `http://h:30000/v1`, `…/v1/` and a base path all lead to the same two roots.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import urlsplit

from pytest_dflash.errors import EndpointError

VISIBLE = re.compile(r"[^\s\x00-\x1f\x7f]+")
VERSION = re.compile(r"/v1/*$")


@dataclass(frozen=True, slots=True)
class Address:
    """The two roots of a service: the engine's own routes, and the OpenAI ones."""

    root: str
    api: str
    origin: tuple[str, str, int]

    def __str__(self) -> str:
        return self.root


def address(base_url: str) -> Address:
    """The roots below this URL.

    Raises:
        EndpointError: It is no http or https address, or carries a user or a password.
    """
    try:
        parts = urlsplit(base_url)
        port = parts.port or {"http": 80, "https": 443}.get(parts.scheme)
        (parts.hostname or "").encode("idna")
    except ValueError:
        raise _unusable() from None
    if (
        port is None
        or not parts.hostname
        or parts.username
        or parts.password
        or not VISIBLE.fullmatch(base_url)
    ):
        raise _unusable()
    path = VERSION.sub("", parts.path).rstrip("/")
    root = f"{parts.scheme}://{parts.netloc}{path}"
    return Address(root=root, api=f"{root}/v1", origin=(parts.scheme, parts.hostname, port))


def _unusable() -> EndpointError:
    # The URL is not shown: it may carry a password.
    return EndpointError(
        "the base URL is no http or https address of a service",
        'write endpoint.url as "http://10.1.2.200:30000/v1", without user and password',
    )
