"""The target: one forward pass over the rows of a batch, each seeing what its mask lets it see.

Law: arithmetic on arrays. Which rows there are, what they may see and what is kept of them is decided elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .weights import CODE, MIX, MIXED, SCORES, TURNS, Floats, Layer, Weights, Whole, drawn

KEPT = (2 * TURNS + CODE, 2 * TURNS + MIXED)
"""Numbers a token in the cache, for each layer: its key, turned by its position, and its value."""
DRAFTS = slice(sum(KEPT), sum(KEPT) + MIXED)
"""The draft's part of an entry: what the target's second layer heard from afar."""
ENTRY = DRAFTS.stop
_HIDDEN_FROM = -1e30


@dataclass(frozen=True, slots=True)
class Rows:
    """What one request brings to a forward pass.

    Attributes:
        tokens: (n,) ids.
        positions: (n,) their places in the text.
        past: (m, ENTRY) the request's cache, read only.
        visible: (n, m + n) which entries each row may see; a row that sees none sees nothing but zeros.
    """

    tokens: Whole
    positions: Whole
    past: Floats
    visible: NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of one request's rows.

    Attributes:
        logits: (n, tokens.SIZE).
        entries: (n, ENTRY) what the cache may keep of them.
    """

    logits: Floats
    entries: Floats


def causal(rows: int, past: int) -> NDArray[np.bool_]:
    """The mask of plain text: everything before, and itself."""
    return np.tri(rows, past + rows, past, dtype=np.bool_)


def _turned(pairs: Floats, cos: Floats, sin: Floats) -> Floats:
    """Rotates the pairs of each row; `pairs` is (n, heads, 2 x turns), the angles' `cos` and `sin` (n, turns)."""
    one, two = pairs[..., :TURNS], pairs[..., TURNS:]
    cos, sin = cos[:, None], sin[:, None]
    return np.concatenate([one * cos - two * sin, one * sin + two * cos], axis=-1)


def attend(layer: Layer, query: Floats, rows: Rows, past: Floats, fresh: Floats) -> Floats:
    """(n, heads x value width): what the rows of one request take from what they see.

    Args:
        layer: The layer's slopes and reach.
        query: (n, heads, 2 x turns), turned.
        rows: Positions and mask.
        past: (m, key and value) this layer's part of the cache.
        fresh: (n, key and value) of the rows themselves.
    """
    count, heads, width = query.shape
    skip = max(len(past) - layer.reach, 0) if layer.reach is not None else 0
    entries = np.concatenate([past[skip:], fresh])
    keys, values, visible = entries[:, :width], entries[:, width:], rows.visible[:, None, skip:]
    places = np.concatenate([np.arange(skip, len(past)), rows.positions])
    scores = (query.reshape(-1, width) @ keys.T).reshape(count, heads, -1)
    scores -= layer.slopes[:, None] * np.abs(rows.positions[:, None] - places)[:, None, :]
    scores = np.where(visible, scores, _HIDDEN_FROM)
    scores -= scores.max(axis=-1, keepdims=True)
    shares = np.exp(scores)
    shares *= visible
    total = shares.sum(axis=-1, keepdims=True)
    shares /= np.where(total > 0, total, 1.0)
    took: Floats = (shares.reshape(count * heads, -1) @ values).reshape(count, -1)
    return took


def forward(batch: Sequence[Rows], weights: Weights | None = None) -> list[Outcome]:
    """One pass over all rows of all requests."""
    weights = weights or drawn()
    ends = np.cumsum([len(rows.tokens) for rows in batch])
    each = [slice(end - len(rows.tokens), end) for rows, end in zip(batch, ends, strict=True)]
    positions = np.concatenate([rows.positions for rows in batch])
    stream = weights.embedding[np.concatenate([rows.tokens for rows in batch])]
    kept, begin = [], 0
    for layer, size in zip(weights.layers, KEPT, strict=True):
        heads = len(layer.slopes)
        query = (stream @ layer.query + layer.query_bias).reshape(len(stream), heads, 2 * TURNS)
        angle = positions[:, None] * layer.turns
        cos, sin = np.cos(angle), np.sin(angle)
        query = _turned(query, cos, sin)
        key = _turned((stream @ layer.key + layer.key_bias)[:, None], cos, sin)[:, 0]
        entries = np.concatenate([key, stream @ layer.value], axis=1)
        took = [
            attend(layer, query[at], rows, rows.past[:, begin : begin + size], entries[at])
            for rows, at in zip(batch, each, strict=True)
        ]
        stream = stream + np.concatenate(took) @ layer.out
        hidden = np.maximum(stream[:, layer.reads] @ layer.up + layer.up_bias, 0)
        stream[:, layer.writes] += hidden @ layer.down + layer.down_bias
        kept.append(entries)
        begin += size
    logits = stream[:, SCORES] @ weights.head + weights.head_bias
    entries = np.concatenate([*kept, stream[:, MIX]], axis=1)
    return [Outcome(logits[at], entries[at]) for at in each]
