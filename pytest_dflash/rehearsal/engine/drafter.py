"""The draft: for each of the next tokens a guess that does not know which tokens come before it.

Law: arithmetic on arrays. As with DFlash, a block is guessed in one go from what the target's layers made of the
committed text: row d is the marginal of the token d places after the root. The draft has a copy of the lexicon,
hears from afar only through its window, and averages over what it cannot know.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np

from . import lexicon, tokens
from .weights import CODE, MIX, SAID, SLOTS, SURE, SYMBOLS, WIDTH, Floats, Weights, Whole, drawn

BLOCK = 8
"""Tokens of a block where no config says otherwise: the root and seven guesses."""
DEEPEST = 32
SPREAD = 2.0
"""How unsure, in nats, the draft is about a choice that depends on what it has not heard."""
HEARS = 0.8
"""How much of the target's own choice for the first place reaches the draft."""


@cache
def _later() -> Floats:
    """(depth, states, symbols): the chances of each symbol so many places after a state."""
    scores = drawn().usual / SPREAD
    chances = np.where(drawn().usual > SURE / 2, np.exp(scores - scores.max(axis=1, keepdims=True)), 0.0)
    chances /= chances.sum(axis=1, keepdims=True)
    after = _leads_to()
    later = [chances]
    for _ in range(DEEPEST - 1):
        later.append(np.einsum("sc,scx->sx", chances, later[-1][after]))
    return np.stack(later)


@cache
def _leads_to() -> Whole:
    """(states, symbols): the state after a symbol; what is no part of a word ends it."""
    table = np.zeros((len(lexicon.states()), len(SYMBOLS)), dtype=np.int64)
    for index, state in enumerate(lexicon.states()):
        for symbol, then in state.follow:
            table[index, SYMBOLS.index(symbol)] = then
    return table


@cache
def _places() -> list[int]:
    return [tokens.of_byte(ord(symbol)) for symbol in SYMBOLS]


def _known(spelt: Floats, weights: Weights) -> int:
    """The state of a text that ends with `spelt` (slots x code, newest first); where it has none, a word begins."""
    reading = weights.layers[0]
    units = spelt @ reading.up + reading.up_bias
    best = int(units.argmax())
    return best if units[best] > 0 else 0


def marginals(said: Sequence[int], heard: Floats, depth: int, window: int | None = None) -> Floats:
    """Guesses for the next `depth` tokens.

    Args:
        said: The text so far, the root included; only its end matters.
        heard: (m, MIXED) the draft's own part of the cache, oldest first: what the target heard from afar.
        depth: How many, at most `DEEPEST`.
        window: How many of the last committed tokens the draft may look back on; None for all.

    Returns:
        (depth, tokens.SIZE) log probabilities.
    """
    weights = drawn()
    last = list(said[: -SLOTS - 1 : -1])
    spelt = np.zeros(SAID.stop)
    spelt[: CODE * len(last)] = weights.embedding[last, :CODE].ravel()
    state = _known(spelt, weights)
    first = weights.usual[state] / SPREAD
    if len(heard):
        first = first + HEARS * _afar(spelt, heard[-window:] if window else heard, weights)
    first = np.exp(first - first.max())
    first /= first.sum()
    rows = np.empty((depth, len(SYMBOLS)))
    rows[0] = first
    if depth > 1:
        rows[1:] = np.tensordot(first, _later()[: depth - 1, _leads_to()[state]], axes=(0, 1))
    spread = np.full((depth, tokens.SIZE), 1e-9)
    spread[:, _places()] += rows
    # Nothing is surer than sure: by a rounding above 0 a guess would seem likelier than the one it continues.
    logs: Floats = np.minimum(np.log(spread), 0.0)
    return logs


def _afar(spelt: Floats, heard: Floats, weights: Weights) -> Floats:
    """What the target's second layer might say of the first place; the newest it heard weighs most."""
    choosing = weights.layers[1]
    shares = 0.5 ** np.arange(len(heard), 0, -1)
    stream = np.zeros(WIDTH)
    stream[SAID] = spelt
    stream[MIX] = shares @ heard / shares.sum()
    scores: Floats = np.maximum(stream @ choosing.up + choosing.up_bias, 0) @ choosing.down
    return scores
