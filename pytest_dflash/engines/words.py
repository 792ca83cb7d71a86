"""A word of a command line as the value that a person means.

Law: one word in, one value out, never an exception; what a flag is for is not known here.
"""

from __future__ import annotations

import json
import re

from pytest_dflash.engines.literals import plain
from pytest_dflash.findings import Json


def typed(text: str) -> None | bool | int | float | str | list[object] | dict[str, object]:
    """A word as the value that a person means, where writing the value gives the word back; else the word.

    >>> typed("2048"), typed("0.9"), typed("1.10"), typed("007")
    (2048, 0.9, '1.10', '007')
    """
    if re.fullmatch(r"-?(0|[1-9]\d{0,17})", text):
        return int(text)
    if re.fullmatch(r"-?\d+\.\d+(e-?\d+)?", text) and repr(float(text)) == text:
        return float(text)
    if text[:1] in "[{" and text[-1:] in "]}":
        try:
            value: list[object] | dict[str, object] = json.loads(text)
        except (ValueError, RecursionError):
            return text
        return value
    return text


def document(text: str) -> Json:
    """JSON text as what it says; other text as itself."""
    try:
        return plain(json.loads(text))
    except (ValueError, RecursionError):
        return text


def real(text: str) -> Json:
    """A number with a point or without; other text as itself."""
    try:
        return plain(float(text))
    except ValueError:
        return text
