"""How far a run may go.

Law: the words of `--dflash-allow` and their order, pure. Two ladders stand apart: read < probe < load, and
restart < reconfigure. What changes a host counts only when it was typed on the command line.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches

from pytest_dflash.errors import UsageError

ASKING = ("read", "probe", "load")
CHANGING = ("restart", "reconfigure")
MEANING = {
    "read": "commands that change nothing, and passive routes only",
    "probe": "also at most 5 requests of at most 64 new tokens",
    "load": "also sustained requests",
    "restart": "also restarts the unit",
    "reconfigure": "also writes a volatile drop-in under /run and takes it away again",
}
RANK = {word: rank for rank, word in enumerate((*ASKING, *CHANGING))}
"""Intrusiveness of a check, the order in which checks run on a host."""


@dataclass(frozen=True, slots=True)
class Allowed:
    """What a run may do.

    Attributes:
        words: As they were given, for the report.
        load_typed: `load` was typed on the command line, so foreign traffic does not hold the run back.
    """

    words: tuple[str, ...] = ("load",)
    load_typed: bool = False

    def permits(self, level: str) -> bool:
        """Whether a check of this level may run."""
        for ladder in (ASKING, CHANGING):
            if level in ladder:
                return any(
                    word in ladder and ladder.index(word) >= ladder.index(level) for word in self.words
                )
        raise UsageError(f"a check asks for the level {level!r}; known are {', '.join(MEANING)}")


def parse(text: str | None, typed: Iterable[str]) -> Allowed:
    """Reads the words of `--dflash-allow`.

    Args:
        text: The option's value as pytest merged it from command line, addopts and environment.
        typed: The words that were typed on the command line itself.

    Raises:
        UsageError: An unknown word, or a changing word that was not typed.
    """
    if text is None:
        return Allowed()
    words = tuple(word.strip() for word in text.split(",") if word.strip())
    if not words:
        raise UsageError(f"--dflash-allow: no word given; allowed are {', '.join(MEANING)}")
    typed = frozenset(typed)
    for word in words:
        if word not in MEANING:
            near = get_close_matches(word, MEANING, 1)
            hint = f"; did you mean {near[0]}?" if near else "."
            raise UsageError(f"--dflash-allow: {word!r} is unknown{hint} Allowed are {', '.join(MEANING)}")
        if word in CHANGING and word not in typed:
            raise UsageError(
                f"--dflash-allow: {word!r} changes the host, so it counts only when typed on the "
                "command line, not from an ini file, addopts or PYTEST_ADDOPTS; type it, or take it out there"
            )
    asking = any(word in ASKING for word in words)
    return Allowed(words if asking else ("read", *words), load_typed="load" in typed)
