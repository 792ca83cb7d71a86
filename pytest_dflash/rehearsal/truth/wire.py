"""The truth server's HTTP and its event stream, as bytes.

Law: pure. What is sent often is made once: a chunk is the same for every stream.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cache
from typing import Any

LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
STREAM_HEAD = (
    b"HTTP/1.1 200 OK\r\nserver: truth\r\ncontent-type: text/event-stream; charset=utf-8\r\n"
    b"transfer-encoding: chunked\r\n\r\n"
)
END = b"e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n"
WORD = " the"  # one token for most tokenizers, however often it is repeated: clients that count for themselves are right


@dataclass(frozen=True, slots=True)
class Asked:
    """A request."""

    method: str
    path: str
    body: Any

    @property
    def chat(self) -> bool:
        """By which of the two routes."""
        return "chat" in self.path


def take(raw: bytearray) -> Asked | None:
    """The first whole request of these bytes, taken out of them; None while there is none."""
    end = raw.find(b"\r\n\r\n")
    if end < 0:
        return None
    length = LENGTH.search(raw, 0, end)
    size = end + 4 + (int(length[1]) if length else 0)
    if len(raw) < size:
        return None
    method, path, *_ = [*bytes(raw[: raw.find(b"\r\n")]).decode("latin-1").split(" "), "", ""]
    try:
        body = json.loads(raw[end + 4 : size] or b"null")
    except ValueError:
        body = None
    del raw[:size]
    return Asked(method, path, body)


def answer(body: Any, status: str = "200 OK") -> bytes:
    """A whole answer."""
    said = json.dumps(body).encode()
    head = f"HTTP/1.1 {status}\r\nserver: truth\r\ncontent-type: application/json\r\ncontent-length: {len(said)}\r\n\r\n"
    return head.encode() + said


@cache
def role() -> bytes:
    """The chunk that says nothing but who speaks."""
    return _framed(_event("truth", [{"index": 0, "delta": {"role": "assistant", "content": ""}}], chat=True))


@cache
def text(tokens: int, *, chat: bool, reasoning: bool) -> bytes:
    """A chunk of so many tokens."""
    said = WORD * tokens
    choice: dict[str, Any] = {"index": 0, "logprobs": None, "finish_reason": None}
    if chat:
        choice["delta"] = {"reasoning_content" if reasoning else "content": said}
    else:
        choice["text"] = said
    return _framed(_event("truth", [choice], chat=chat))


def last(*, chat: bool, finish: str, usage: tuple[int, int] | None) -> bytes:
    """The end of a stream: why it ended, usage where it was asked for, [DONE]."""
    choice: dict[str, Any] = {"index": 0, "finish_reason": finish}
    choice["delta" if chat else "text"] = {} if chat else ""
    counted = b""
    if usage:
        prompt, output = usage
        counts = {"prompt_tokens": prompt, "completion_tokens": output, "total_tokens": prompt + output}
        counted = _framed(_event("truth", [], chat=chat, usage=counts))
    return _framed(_event("truth", [choice], chat=chat)) + counted + END


def _event(model: str, choices: list[dict[str, Any]], *, chat: bool, **more: Any) -> bytes:
    kind = "chat.completion.chunk" if chat else "text_completion"
    said = {"id": "truth", "object": kind, "created": 0, "model": model, "choices": choices, **more}
    return b"data: " + json.dumps(said, separators=(",", ":")).encode() + b"\n\n"


def _framed(data: bytes) -> bytes:
    return f"{len(data):x}\r\n".encode() + data + b"\r\n"
