"""The mask of a batch of trees as the attention kernel gets it: one flat buffer, and what the kernel reads there.

Law: bits and their places. The layout is that of the triton backend: request after request, row after row, a row
as long as the request's cache and its nodes; the part over the cache is known to be full and is not read.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Mask = NDArray[np.bool_]


def flat(ancestries: Sequence[Mask], pasts: Sequence[int]) -> Mask:
    """The buffer: for each request its nodes' rows over its cache and its nodes."""
    return np.concatenate([
        np.concatenate([np.ones((len(nodes), past), dtype=np.bool_), nodes], axis=1).ravel()
        for nodes, past in zip(ancestries, pasts, strict=True)
    ])  # fmt: skip


def read(buffer: Mask, nodes: Sequence[int], pasts: Sequence[int], believed: Sequence[int]) -> list[Mask]:
    """What the kernel makes of the buffer.

    Args:
        buffer: As `flat` made it.
        nodes: How many rows each request has.
        pasts: How many entries its cache has.
        believed: How many rows the kernel believes it to have, by which it strides; the same when all is well.

    Returns:
        For each request (nodes, past + nodes); beyond the buffer's end nothing is visible.
    """
    guarded = np.append(buffer, False)
    masks, begin = [], 0
    for count, past, width in zip(nodes, pasts, believed, strict=True):
        at = begin + np.arange(count)[:, None] * (past + width) + past + np.arange(count)
        seen = guarded[np.minimum(at, len(buffer))]
        masks.append(np.concatenate([np.ones((count, past), dtype=np.bool_), seen], axis=1))
        begin += width * (past + width)
    return masks
