"""The end of an answer: would the target have ended there?

Law: values, and which token has to be judged behind an answer that ended by itself. An end is a token that was said like
any other. Where an engine sends it, it is judged as one; where it only tells which one it was, that token is scored
behind the answer; where it tells neither, the answer's last token is asked for again, and the target goes on or does not.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from pytest_dflash.engines.scoring import Spoken

STOP = "stop"
AGAIN = 3
"""Tokens that are asked for: the last one, the one behind it, and one that tells whether that ended the answer."""
UNNAMED = "the end"
"""What was said where an answer ended, and nobody names the token."""
UNTOLD = "the engine does not tell which token ended it"


class Kind(StrEnum):
    """What is known of an end."""

    SENT = "sent"
    """The end token is among the tokens, or follows the last one also when that is asked for again."""
    TOLD = "told"
    """It is not, and the engine tells which one it was."""
    GOES_ON = "goes on"
    """Asked for its last token again, the engine goes on: behind that one nothing ended."""
    OPEN = "open"
    """Nobody knows."""


@dataclass(frozen=True, slots=True)
class Ending:
    """The end of one answer.

    Attributes:
        beyond: The token that has to be scored behind the answer's own: the one that ended it, or the one with which the
            engine goes on.
        why: Why nobody knows.
    """

    kind: Kind
    beyond: int | None = None
    why: str = ""


def by_its_account(spoken: Spoken) -> Ending | None:
    """What an answer tells of its end; None where it did not end by itself, `Kind.OPEN` where it does not tell enough."""
    if spoken.finish != STOP:
        return None
    if spoken.tokens is None:
        return Ending(Kind.OPEN, why="the engine sends no token ids")
    if isinstance(spoken.ended_by, str):
        return Ending(Kind.OPEN, why=f"it was ended by the text {spoken.ended_by!r:.40}")
    if spoken.ended_by is None:
        return Ending(Kind.OPEN, why=UNTOLD)
    return Ending(Kind.SENT) if spoken.ended_by in spoken.tokens else Ending(Kind.TOLD, spoken.ended_by)


def to_ask_again(spoken: Spoken, ending: Ending) -> bool:
    """Whether an answer to its last token alone may tell more."""
    return ending.kind is Kind.OPEN and spoken.ended_by is None and bool(spoken.tokens)


def asked_again(spoken: Spoken, again: Spoken) -> Ending:
    """What a second answer tells, to the prompt and all tokens but the last of the first one.

    Of `AGAIN` tokens at most: of one alone some engines say that its limit ended it, also where it is an end token.
    """
    last, tokens = (spoken.tokens or ())[-1:], again.tokens or ()
    if tokens[:1] != last:
        other = "another one" if tokens else "nothing"
        return Ending(Kind.OPEN, why=f"{UNTOLD}, and asked for its last token again it says {other}")
    if len(tokens) == 1:
        return Ending(Kind.SENT)
    ends_there = len(tokens) == 2 and again.finish == STOP
    return Ending(Kind.TOLD if ends_there else Kind.GOES_ON, tokens[1])
