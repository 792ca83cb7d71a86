"""The one thing that the target says by rule and not by weights: the word that it is asked to reply with.

Law: a text in, the tokens that must follow from some place on. Its weights know no instructions, and a check of a
served model asks for a word, so whoever asks "Reply with the word X" gets X and the end.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from . import reasoning, tokens

_ASKED = re.compile(rb"[Rr]eply with (?:only )?the (?:single )?word[s:]? [\"'`]?(\w+)[\"'`]?[.!]?")
_TURN = b"<|assistant|>"


def follows(prompt: Sequence[int], thought: bytes = b"") -> Mapping[int, int]:
    """From place in the text to the token that stands there, for the last such question in `prompt`.

    The answer begins after the question, or, where a turn of the assistant is opened behind it, with that turn.
    `thought` comes before the word.
    """
    # One byte a token, so that places in the bytes are places in the text.
    said = b"".join(tokens.to_byte(token) or b"\0" for token in prompt)
    every = list(_ASKED.finditer(said))
    if not every:
        return {}
    asked = every[-1]
    turn = said.find(_TURN, asked.end())
    begin = asked.end() if turn < 0 else turn + len(_TURN)
    if said.endswith(reasoning.NO_THOUGHT.encode()):
        begin, thought = len(said), b""
    word = [tokens.of_byte(byte) for byte in thought + asked.group(1)]
    return dict(enumerate([*word, tokens.EOS], begin))
