"""A floor or a ceiling, and what the repeats so far say of it.

Law: repeats and a limit in, met, missed or open out; no clock. Asked after each repeat: the error holds over all
looks (`confidence`). Repeats of two kinds are not averaged: a rate with two modes is judged by the one in question.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from pytest_dflash.load.confidence import ERROR, Interval, interval, repeats_for
from pytest_dflash.load.spread import Modes, modes


class Standing(StrEnum):
    """Where the mean stands to its limit, as far as the repeats prove it."""

    MET = "met"
    MISSED = "missed"
    OPEN = "open"


@dataclass(frozen=True, slots=True)
class Limit:
    """What a measure must reach, or must not pass.

    Attributes:
        what: The measure as a person calls it. unit: of its values, "" for a ratio.
        wanted: The limit, in that unit.
        kind: A floor is met from above, a ceiling from below.
    """

    what: str
    unit: str
    wanted: float
    kind: Literal["floor", "ceiling"] = "floor"


@dataclass(frozen=True, slots=True)
class Decision:
    """What the repeats say.

    Attributes:
        needed: Repeats in all that would decide at the present mean and spread; None where no number would,
            or where it is decided.
        modes: The two kinds of repeats, where there are two.
    """

    limit: Limit
    standing: Standing
    interval: Interval
    needed: int | None = None
    modes: Modes | None = None


def decide(values: Sequence[float], limit: Limit, error: float = ERROR) -> Decision:
    """Whether the mean of the repeats meets the limit.

    Args:
        values: One number a repeat, at least one, in the limit's unit.
        limit: The floor or the ceiling.
        error: The chance of a wrong "met" where the limit is just missed, at any look; of a wrong "missed" likewise.
    """
    whole = interval(values, error)
    found = modes(values)
    standing = _standing(whole, limit)
    if found is not None:
        # The kind of repeat that is worse for this limit has to meet it, and the better one has to miss it.
        parts = [_standing(interval(part, error), limit) for part in (found.low, found.high)]
        standing = parts[0] if parts[0] == parts[1] else Standing.OPEN
    needed = None
    if standing is Standing.OPEN and found is None:
        needed = repeats_for(abs(whole.mean - limit.wanted), whole.spread, error)
    return Decision(limit, standing, whole, needed, found)


def _standing(found: Interval, limit: Limit) -> Standing:
    sign = 1 if limit.kind == "floor" else -1
    worst, best = (found.low, found.high) if sign > 0 else (found.high, found.low)
    if sign * (worst - limit.wanted) >= 0:
        return Standing.MET
    return Standing.MISSED if sign * (best - limit.wanted) < 0 else Standing.OPEN
