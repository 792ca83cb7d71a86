"""A shell's script as the simple commands in it.

Law: text in, words out. Quotes are removed and redirections dropped; nothing is expanded or run.
"""

from __future__ import annotations

import re
import shlex

_TOKEN = re.compile(
    r"""(?P<blank>(?:[ \t\r]|\\\n)+) | (?P<comment>\#[^\n]*)
      | (?P<redirect>(?:\d*|&)(?:>>|>\||<<<|<<-?|<>|>|<)(?:&(?:\d+|-))?)
      | (?P<end>&&|\|\||;;|[;|&()\n])
      | (?P<word>(?:\\.|"(?:\\.|[^"\\])*"|'[^']*'|[^\s;|&()<>"'\\])+)
      | (?P<stray>.)""",
    re.VERBOSE | re.DOTALL,
)


def simple_commands(script: str) -> tuple[tuple[str, ...], ...]:
    """The simple commands of a shell script, quotes removed, redirections dropped, nothing expanded."""
    found: list[tuple[str, ...]] = []
    words: list[str] = []
    skip = False
    for token in _TOKEN.finditer(script):
        kind, text = token.lastgroup, token.group()
        if kind == "redirect":
            skip = not re.search(r"&(\d+|-)$", text)
        elif kind == "end":
            found.append(tuple(words))
            words, skip = [], False
        elif kind in {"word", "stray"}:
            if not skip:
                words.extend(split(text) if kind == "word" else [text])
            skip = False
    return tuple(simple for simple in [*found, tuple(words)] if simple)


def split(text: str) -> list[str]:
    """The words of a text, quotes removed."""
    try:
        return shlex.split(text)
    except ValueError:  # an unclosed quote: better the text than nothing
        return text.split()
