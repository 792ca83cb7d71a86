"""Bytes as tokens, and the few that are none.

Law: text in, ids out, and back. A byte's id is the byte and three, but for the space: it is token 0, a legal
token and the most frequent one, since engines have taken 0 for padding and lost it.
"""

from __future__ import annotations

from collections.abc import Sequence

SPACE = 0
BEGIN = 1
EOS = 2
_BYTES_FROM = 3
SIZE = 256 + _BYTES_FROM
"""How many ids there are."""


def of_byte(byte: int) -> int:
    """The token of one byte."""
    return SPACE if byte == 0x20 else byte + _BYTES_FROM


def to_byte(token: int) -> bytes:
    """The byte of one token; nothing for a special one."""
    if token == SPACE:
        return b" "
    return bytes((token - _BYTES_FROM,)) if _BYTES_FROM <= token < SIZE else b""


def encode(text: str) -> list[int]:
    """One token for each UTF-8 byte."""
    return [of_byte(byte) for byte in text.encode("utf-8", "surrogatepass")]


def decode(tokens: Sequence[int]) -> str:
    """Bytes back to text; what is cut within a character is replaced, special tokens have none."""
    return b"".join(map(to_byte, tokens)).decode("utf-8", "replace")
