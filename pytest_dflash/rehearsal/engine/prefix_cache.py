"""What is kept of finished requests, so that the next one with the same beginning need not be read again.

Law: entries by their tokens; the oldest go first. Pages hold one token.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence

import numpy as np

from .target import ENTRY
from .weights import Floats

CAPACITY = 32_768
"""Tokens, at most."""
SPACES = 64
"""So many `extra_key`s are kept apart; the oldest goes first."""


class PrefixCache:
    """Texts and their entries, the one used last at the end."""

    def __init__(self, capacity: int = CAPACITY) -> None:
        self.capacity = capacity
        self._kept: OrderedDict[bytes, Floats] = OrderedDict()
        self._spaces: OrderedDict[str, PrefixCache] = OrderedDict()

    def of(self, space: str) -> PrefixCache:
        """What requests with this `extra_key` share; "" for all without one."""
        if not space:
            return self
        if space not in self._spaces and len(self._spaces) >= SPACES:
            self._spaces.popitem(last=False)
        return self._spaces.setdefault(space, type(self)(self.capacity))

    def __len__(self) -> int:
        """How many tokens are kept."""
        return sum(map(len, self._kept.values()))

    def flush(self) -> None:
        """Forgets all."""
        self._kept.clear()
        self._spaces.clear()

    def put(self, text: Sequence[int], entries: Floats) -> None:
        """Keeps the entries of a text, in the place of texts that it continues."""
        key = _key(text[: len(entries)])
        if not key or any(known.startswith(key) for known in self._kept):
            return
        for known in [known for known in self._kept if key.startswith(known)]:
            del self._kept[known]
        self._kept[key] = entries.copy()
        while len(self._kept) > 1 and len(self) > self.capacity:
            self._kept.popitem(last=False)

    def longest(self, text: Sequence[int], most: int) -> Floats:
        """The entries of the longest known beginning of `text`, of at most `most` tokens."""
        key = _key(text[:most])
        best, length = None, 0
        for known in self._kept:
            common = _common(known, key)
            if common > length:
                best, length = known, common
        if best is None:
            return np.zeros((0, ENTRY))
        self._kept.move_to_end(best)
        return self._kept[best][:length].copy()


class DeadCache(PrefixCache):
    """Keeps nothing, and says so to nobody."""

    def put(self, text: Sequence[int], entries: Floats) -> None:
        """Forgets them at once."""


def _key(text: Sequence[int]) -> bytes:
    return np.asarray(text, dtype=np.uint16).tobytes()


def _common(one: bytes, two: bytes) -> int:
    """How many tokens two keys have in common at their beginning."""
    size = min(len(one), len(two))
    differ = np.flatnonzero(
        np.frombuffer(one, np.uint16, size // 2) != np.frombuffer(two, np.uint16, size // 2)
    )
    return int(differ[0]) if len(differ) else size // 2
