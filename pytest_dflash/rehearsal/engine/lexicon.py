"""The words that the target knows, as a tree of their letters.

Law: letters only; what is made of them (weights, guesses) is told elsewhere. A state is what has been said of
the present word; state 0 is "a word begins".
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

WORDS = (Path(__file__).parent / "words.txt").read_text("ascii").split()
ENDS = (" ", ",", ".")
"""What may follow a word; a mark is followed by a space."""


@dataclass(frozen=True, slots=True)
class State:
    """One state.

    Attributes:
        said: The end of the text by which it is known: a space and the letters so far, at most seven characters.
        follow: Which characters may come, and the state that each leads to; the first is the most usual.
    """

    said: str
    follow: tuple[tuple[str, int], ...]


REACH = 7
"""How many characters of the text tell a state."""


@cache
def states() -> tuple[State, ...]:
    """All states; a mark after a word is one too."""
    prefixes = sorted({word[:end] for word in WORDS for end in range(len(word) + 1)})
    number = {prefix: at for at, prefix in enumerate(prefixes)}
    marks = {mark: len(prefixes) + at for at, mark in enumerate(ENDS[1:])}
    made = []
    for prefix in prefixes:
        letters = sorted({word[len(prefix)] for word in WORDS if word.startswith(prefix) and word != prefix})
        follow = [(letter, number[prefix + letter]) for letter in letters]
        if prefix in WORDS:
            follow += [(" ", 0), *marks.items()]
        made.append(State((" " + prefix)[-REACH:], tuple(follow)))
    made += [State(mark, ((" ", 0),)) for mark in marks]
    return tuple(made)
