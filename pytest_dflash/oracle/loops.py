"""Does an answer repeat itself?

Law: arithmetic on tokens. That the target itself would repeat is for the other oracles to say.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

LONGEST = 48
"""The longest unit, in tokens, whose repetition is looked for."""
TIMES = 4
"""It must stand there at least so many times,"""
LEAST = 48
"""and fill at least so many tokens."""


@dataclass(frozen=True, slots=True)
class Loop:
    """An answer that ends in repetitions of `unit`, from token `start` on."""

    start: int
    unit: tuple[int, ...]
    tokens: int


def loop(tokens: Sequence[int]) -> Loop | None:
    """The shortest unit that the end of the answer repeats; None where there is none."""
    for size in range(1, min(LONGEST, len(tokens) // TIMES) + 1):
        start = len(tokens) - size
        while start > 0 and tokens[start - 1] == tokens[start - 1 + size]:
            start -= 1
        filled = len(tokens) - start
        if filled >= max(TIMES * size, LEAST):
            return Loop(start, tuple(tokens[start : start + size]), filled)
    return None
