"""Moves cache slots between a flat list and the table of requests, and what lies in them from slot to slot.

Law: arithmetic on the tensors handed in.
"""

from __future__ import annotations

import ctypes
from typing import Any

from torch import Tensor


def into_table(rows: Tensor, table: Tensor, start: Tensor, end: Tensor, flat: Tensor, *_rest: Any) -> None:
    """Writes the flat slots into columns start to end of each request's row."""
    taken = 0
    for row, first, last in zip(rows.tolist(), start.tolist(), end.tolist(), strict=True):
        table[row, first:last] = flat[taken : taken + last - first].to(table.dtype)
        taken += last - first


def from_table(rows: Tensor, table: Tensor, start: Tensor, end: Tensor, flat: Tensor, *_rest: Any) -> None:
    """Reads columns start to end of each request's row into the flat slots."""
    taken = 0
    for row, first, last in zip(rows.tolist(), start.tolist(), end.tolist(), strict=True):
        flat[taken : taken + last - first] = table[row, first:last].to(flat.dtype)
        taken += last - first


def copy(layers: Tensor, widths: Tensor, targets: Tensor, sources: Tensor) -> None:
    """Copies cached keys and values; layers are addresses, widths the bytes of a slot in each."""
    for layer, width in zip(layers.tolist(), widths.tolist(), strict=True):
        held = [ctypes.string_at(layer + source * width, width) for source in sources.tolist()]
        for target, data in zip(targets.tolist(), held, strict=True):
            ctypes.memmove(layer + target * width, data, width)
