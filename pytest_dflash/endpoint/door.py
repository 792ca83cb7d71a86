"""Where a service is and how one is let in: what whoever asks it by other means than `client` needs.

Law: a value. The key is in no repr; who asks keeps the client's rules: no redirect, no proxy, one origin.
"""

from __future__ import annotations

import ssl
from dataclasses import dataclass, field

from pytest_dflash.endpoint.address import Address


@dataclass(frozen=True, slots=True)
class Door:
    """One service.

    Attributes:
        address: Its roots.
        model: The model to ask for.
        authorization: The header's value; None for a service without a key.
        trust: Certificates that are trusted; None for the system's.
    """

    address: Address
    model: str
    authorization: str | None = field(default=None, repr=False)
    trust: ssl.SSLContext | None = field(default=None, repr=False)
