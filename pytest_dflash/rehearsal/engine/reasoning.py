"""What a reasoning parser makes of an answer: thoughts in one field, the answer in another.

Law: text in, text out; of the kind that takes every answer for begun with a thought, as deepseek-r1's does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

END = "</think>"
NO_THOUGHT = "<think></think>"
"""What a chat's template opens the answer with where it was asked not to think."""
_LONG = "deepseek-r1"
_SHORT_THOUGHT = "It wants one word."
_LONG_THOUGHT = "It wants one word, and which one it is should be thought over from every side. " * 4


def thought(fields: Mapping[str, Any]) -> bytes:
    """What is thought before a word that was asked for; one of the parsers belongs to a model that thinks long."""
    parser = fields["reasoning_parser"]
    if parser is None:
        return b""
    return f"{_LONG_THOUGHT if parser == _LONG else _SHORT_THOUGHT}{END}".encode()


def declined(body: Mapping[str, Any]) -> bool:
    """Whether a request asks not to think, by either name that templates have for it."""
    asked = body.get("chat_template_kwargs")
    return isinstance(asked, Mapping) and False in (asked.get("thinking"), asked.get("enable_thinking"))


def unparted(text: str) -> tuple[str, str]:
    """The whole text as the answer: nobody asked for a parser."""
    return "", text


class Parser:
    """Parts one answer, piece by piece."""

    def __init__(self) -> None:
        self._held, self._thinks = "", True

    def __call__(self, text: str) -> tuple[str, str]:
        """(thought, answer) in this piece. What may be the beginning of the end of a thought is held back."""
        if not self._thinks:
            return "", text
        said = self._held + text
        thought, end, answer = said.partition(END)
        if end:
            self._held, self._thinks = "", False
            return thought, answer
        kept = next((at for at in range(len(END) - 1, 0, -1) if said.endswith(END[:at])), 0)
        self._held = said[len(said) - kept :]
        return said[: len(said) - kept], ""


def parser(*, asked: bool) -> Callable[[str], tuple[str, str]]:
    """Who parts an answer."""
    return Parser() if asked else unparted
