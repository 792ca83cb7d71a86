"""Whole numbers in what a tool prints.

Law: text in, a number or None out; what the number counts is not known here.
"""

from __future__ import annotations

_LONGEST = 20
"""Digits of the largest number of 64 bits. Python refuses to read endless ones, and nobody means them."""


def whole(text: str | None) -> int | None:
    """A decimal without sign; None for anything else: "[not set]", "infinity", "-", nothing."""
    return int(text) if text and len(text) <= _LONGEST and text.isascii() and text.isdigit() else None
