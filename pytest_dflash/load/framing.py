"""HTTP/1.1 answers as bytes: the head, where the body ends, and the body without its chunk sizes.

Law: pure, RFC 9112 as far as engines and proxies use it. Total: any bytes in. While a load runs only `head`
and `LAST_CHUNK` are used; the body is taken apart afterwards.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

HEAD_END = b"\r\n\r\n"
LAST_CHUNK = b"\r\n0\r\n\r\n"
"""How a chunked answer ends. The CRLF in front closes the chunk before, or the head where there was none."""
LAST_CHUNK_AT_LENGTH = re.compile(rb"\r\n0+[ \t]*(?:;[^\r\n]*)?\r\n(?:[!-9;-~]+:[^\r\n]*\r\n)*\r\n\Z")
"""The same with all that the RFC allows in it: more zeros, extensions, trailer fields."""
TAIL = 1024
MAX_HEAD = 64 * 2**10

STATUS = re.compile(rb"HTTP/1\.[01] (\d{3})")
HEADER = re.compile(rb"^([!-9;-~]+):[ \t]*(.*?)[ \t]*$", re.MULTILINE)
SIZE = re.compile(rb"([0-9A-Fa-f]{1,15})[ \t]*(?:;[^\r\n]*)?\r\n")


@dataclass(frozen=True, slots=True)
class Head:
    """The head of an answer.

    Attributes:
        size: Its bytes, the empty line included.
        chunked: The body comes in chunks. length: of the body, where it was announced.
        closes: The connection is not to be used again.
    """

    size: int
    status: int
    chunked: bool
    length: int | None
    closes: bool


def head(raw: bytes | bytearray) -> Head | None:
    """The head at the start of these bytes; None while it is not whole. Status 0: this is no HTTP."""
    end = raw.find(HEAD_END)
    if end < 0:
        return Head(len(raw), 0, chunked=False, length=None, closes=True) if len(raw) > MAX_HEAD else None
    found = STATUS.match(raw)
    fields = {
        name.lower(): value.lower() for name, value in HEADER.findall(raw[:end].replace(b"\r\n", b"\n"))
    }
    length = fields.get(b"content-length", b"")
    return Head(
        size=end + len(HEAD_END),
        status=int(found[1]) if found else 0,
        chunked=b"chunked" in fields.get(b"transfer-encoding", b""),
        length=int(length[:15]) if length.isdigit() else None,
        closes=b"close" in fields.get(b"connection", b"") or raw.startswith(b"HTTP/1.0"),
    )


def ended(raw: bytes | bytearray, head_: Head) -> bool:
    """Whether the answer is whole, as far as its last bytes tell. What only the close ends is never."""
    if head_.chunked:
        if raw.endswith(LAST_CHUNK):
            return True
        unusual = raw.endswith(HEAD_END) and LAST_CHUNK_AT_LENGTH.search(raw, max(len(raw) - TAIL, 0))
        return bool(unusual)
    return head_.length is not None and len(raw) >= head_.size + head_.length


def spans(raw: bytes | bytearray, head_: Head) -> tuple[list[tuple[int, int]], bool]:
    """Where the body is: (from, to) in these bytes, one for each chunk, and whether it is whole."""
    if not head_.chunked:
        whole = head_.length is None or len(raw) >= head_.size + head_.length
        end = len(raw) if head_.length is None else min(len(raw), head_.size + head_.length)
        return [(head_.size, end)], whole
    found: list[tuple[int, int]] = []
    at = head_.size
    while size := SIZE.match(raw, at):
        begin, end = size.end(), size.end() + int(size[1], 16)
        if begin == end:
            return found, True
        found.append((begin, min(end, len(raw))))
        at = end + 2
        if raw[end:at] != b"\r\n":
            break
    return found, False
