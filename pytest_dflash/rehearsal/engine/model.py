"""What turns tokens into tokens: a seam, and a tiny deterministic text model behind it.

Law: pure; no HTTP, no log. A real transformer may stand here later, behind the same `TextModel`.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Sequence
from typing import Protocol

EOS = 2
_BYTES_FROM = 3
_ANSWER = re.compile(r"[Rr]eply with (?:only )?the (?:single )?word[s:]? [\"']?(\w+)")
_SENTENCES = (
    "The window counts the tokens that the draft may look back on.",
    "A tree of guesses is verified in one pass of the target.",
    "What the target would not have said is thrown away.",
    "The bonus token comes from the target itself.",
    "Eight cards share one model, and each holds an eighth of it.",
)


class TextModel(Protocol):
    """The target model as the scheduler sees it."""

    def encode(self, text: str) -> list[int]:
        """The tokens of `text`."""

    def decode(self, tokens: Sequence[int]) -> str:
        """The text of `tokens`; special tokens have none."""

    def answer(self, prompt: Sequence[int]) -> list[int]:
        """The greedy continuation of `prompt` up to and including the end token."""


class Parrot:
    """One token a byte; says the word it is asked for, else sentences chosen by the prompt."""

    def encode(self, text: str) -> list[int]:
        """One token for each UTF-8 byte."""
        return [byte + _BYTES_FROM for byte in text.encode("utf-8")]

    def decode(self, tokens: Sequence[int]) -> str:
        """Bytes back to text; what is cut within a character is replaced."""
        return bytes(token - _BYTES_FROM for token in tokens if token >= _BYTES_FROM).decode(
            "utf-8", "replace"
        )

    def answer(self, prompt: Sequence[int]) -> list[int]:
        """The word asked for, or about 2000 tokens of prose."""
        text = self.decode([token for token in prompt if token < 256 + _BYTES_FROM])
        if asked := _ANSWER.search(text):
            return [*self.encode(asked.group(1)), EOS]
        first = zlib.crc32(text.encode("utf-8"))
        prose = " ".join(_SENTENCES[(first + step * 7) % len(_SENTENCES)] for step in range(32))
        return [*self.encode(prose), EOS]
