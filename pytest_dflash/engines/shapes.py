"""JSON of foreign origin, by shape: what is not of the shape is nothing.

Law: total functions of one value; no names of fields, no engine.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any


def table(value: Any) -> Mapping[str, Any]:
    """An object, else an empty one."""
    return value if isinstance(value, dict) else {}


def listed(value: Any) -> list[Any]:
    """A list, else an empty one."""
    return value if isinstance(value, list) else []


def text(value: Any) -> str | None:
    """A text that is not empty, else None."""
    return value if isinstance(value, str) and value else None


LARGEST = 2**63
"""Nothing that is counted is more: with what is, sums and quotients would be no numbers any more."""


def count(value: Any) -> int | None:
    """A whole number that something may count to, else None."""
    whole = isinstance(value, int) and not isinstance(value, bool)
    return value if whole and abs(value) < LARGEST else None


def count_or_text(value: Any) -> int | str | None:
    """A whole number, or a text that is not empty, else None."""
    return text(value) if isinstance(value, str) else count(value)


def counts(value: Any) -> tuple[int, ...] | None:
    """A list of whole numbers, else None."""
    if not isinstance(value, list) or any(count(each) is None for each in value):
        return None
    return tuple(value)


def number(value: Any) -> float | None:
    """A finite number, else None."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        found = float(value)
    except OverflowError:
        return None
    return found if math.isfinite(found) else None
