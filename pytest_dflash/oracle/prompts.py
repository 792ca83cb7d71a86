"""What is asked: own sentences, never the same twice, and the lengths at which engines have their edges.

Law: pure; the seed is handed in, and told in the report.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from pytest_dflash.engines.scoring import Bounds

CHARACTERS_PER_TOKEN = 5
"""Own sentences need fewer; what is too much is cut off."""
FIXED = (63, 64, 65, 66, 127, 128, 129)
"""Around tiles of 64 and 128 of the attention kernels, plus the one after."""
ROOM = 64
"""Tokens that are left free in the context for the answer."""
FARTHEST = 16384
"""Longer prompts are not sent for the sake of an edge."""
TRIES = 500
"""So often a place is drawn for a prompt that begins as no other does."""

_WHO = (
    "the night shift", "a courier", "the old clock maker", "every second engineer", "my neighbour's daughter",
    "the harbour office", "nobody in the village", "a patient gardener", "the youngest of the crew", "our guide",
)  # fmt: skip
_DOES = (
    "counted", "painted", "carried home", "wrote down", "forgot about", "measured again", "sold", "borrowed",
    "hid", "repaired",
)  # fmt: skip
_WHAT = (
    "copper kettles", "railway timetables", "letters with foreign stamps", "the roofs of the lower town",
    "baskets of plums", "a map without names", "glass floats", "two dozen keys", "the windows facing north", "ropes",
)  # fmt: skip
_WHEN = (
    "before the first snow", "while the kettle sang", "on the last day of the fair", "at low tide", "by candlelight",
    "as soon as the bridge opened", "for the third time that week", "without telling anyone", "in the rain", "twice",
)  # fmt: skip


def prose(seed: int, tokens: int) -> str:
    """A text of at least so many tokens, other than that of any other seed."""
    draw = random.Random(seed)  # noqa: S311 - no secret
    said: list[str] = []
    while sum(map(len, said)) < tokens * CHARACTERS_PER_TOKEN:
        said.append(
            f"In {draw.randrange(1100, 2000)} {draw.choice(_WHO)} {draw.choice(_DOES)} "
            f"{draw.randrange(3, 98)} {draw.choice(_WHAT)} {draw.choice(_WHEN)}."
        )
    return " ".join(said)


def cuts(ids: Sequence[int], lengths: Sequence[int], seed: int) -> list[tuple[int, ...]]:
    """Prompts of exactly these lengths out of a longer text; where each begins is drawn by the seed.

    As long as there are enough tokens each begins with another one: not even a first token comes from a cache.
    """
    draw, used = random.Random(seed), set[int]()  # noqa: S311 - no secret
    found = []
    for length in lengths:
        for _ in range(TRIES):
            start = draw.randrange(max(len(ids) - length, 1))
            if ids[start] not in used:
                break
        used.add(ids[start])
        found.append(tuple(ids[start : start + length]))
    return found


def edges(bounds: Bounds, window: int | None) -> tuple[int, ...]:
    """Prompt lengths at which kernels, pages, prefill chunks and the draft window begin anew.

    Args:
        bounds: The engine's own.
        window: The draft window, tokens; None where there is none.
    """
    found = {*FIXED}
    for edge in (bounds.page, bounds.chunk):
        if edge and edge > 1:
            found |= {edge - 1, edge, edge + 1}
    if window:
        found |= {window - 1, window, window + 1, window + window // 4}
    most = min((bounds.context or FARTHEST) - ROOM, FARTHEST)
    return tuple(sorted(each for each in found if 2 <= each <= most))


def spread(lengths: Sequence[int], most: int) -> tuple[int, ...]:
    """These lengths as far as there is text for them."""
    return tuple(each for each in lengths if each <= most)
