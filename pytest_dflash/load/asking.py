"""The bytes of a request, made before anything is measured.

Law: pure. Greedy, streamed, with usage; nothing that an OpenAI client could not ask.
"""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import urlsplit

from pytest_dflash.endpoint.door import Door
from pytest_dflash.load.plan import Plan

ROUTES = {"chat": "/chat/completions", "completions": "/completions"}


def request(door: Door, plan: Plan, prompt: str, output_tokens: int) -> bytes:
    """A POST of this prompt."""
    body: dict[str, Any] = {
        "model": door.model,
        "temperature": 0,
        "max_tokens": output_tokens,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    body |= {"ignore_eos": True} if plan.ignore_eos else {}
    body |= (
        {"messages": [{"role": "user", "content": prompt}]} if plan.route == "chat" else {"prompt": prompt}
    )
    said = json.dumps(body, separators=(",", ":")).encode()
    where = urlsplit(door.address.api)
    fields = [
        f"POST {where.path}{ROUTES[plan.route]} HTTP/1.1",
        f"host: {where.netloc}",
        "user-agent: pytest-dflash",
        "accept: text/event-stream",
        "content-type: application/json",
        f"content-length: {len(said)}",
        *([f"authorization: {door.authorization}"] if door.authorization else []),
    ]
    return "\r\n".join([*fields, "", ""]).encode() + said
