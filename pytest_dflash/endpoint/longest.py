"""The longest prompt that a profile names, sent once: what a fresh process may not survive.

Law: one request by the client, as far as the level allows; the answer is not judged here.
"""

from __future__ import annotations

from pytest_dflash.endpoint.client import Client
from pytest_dflash.levels import Allowed
from pytest_dflash.profile.schema import Profile

NEW_TOKENS = 16


def send_longest(client: Client, profile: Profile, allowed: Allowed) -> str:
    """Sends it, and tells what was sent."""
    if not allowed.permits("probe"):
        return "no request, as none is allowed (--dflash-allow)"
    tokens = max((load.prompt_tokens for load in profile.throughput), default=0)
    tokens = tokens if allowed.permits("load") else 0
    client.complete(" ".join([profile.endpoint.prompt, *["word"] * tokens]), max_tokens=NEW_TOKENS)
    return f"a prompt of about {tokens} tokens" if tokens else "a short prompt"
