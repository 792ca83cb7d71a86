"""The weights of the target: laid out and drawn, not trained.

Law: arrays from a seed, nothing else; the same numbers on every machine. The first layer reads the last seven
tokens (heads that look exactly so far back) and holds the lexicon, one hidden unit a state. The second is drawn
at random: which of the allowed letters comes next depends on everything before, so that greedy text does not
run in circles, and a wrong mask, position or cache entry is soon heard.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from . import lexicon, tokens

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]

SYMBOLS = ' abcdefghijklmnopqrstuvwxyz,.\n"-'
CODE = 16
"""Numbers that tell one token from another: 32 of them are pairwise orthogonal or opposite, the symbols'."""
SLOTS = lexicon.REACH
TURNS = 4
"""Rotations of a head: half the width of a query."""
MIXED = 32
HIDDEN = 96
SAID = slice(0, SLOTS * CODE)
SCORES = slice(SAID.stop, SAID.stop + len(SYMBOLS))
MIX = slice(SCORES.stop, SCORES.stop + MIXED)
"""The residual stream: the present token and those before it, the symbols' scores, what was heard from afar."""
WIDTH = MIX.stop
SURE = 40.0
"""By how many nats the lexicon prefers a letter that may come."""
USUAL = 1.0
CHOICE = 2.6
"""Spread in nats of what is usual, and of what the second layer makes of everything before."""
NEVER = -60.0
LOCAL = 64
"""Beyond this the first layer's heads would hear nothing that a float can hold."""
_LOCAL_SHARPNESS = 18.0
_LOCAL_TURNS = (2.1, 1.15, 0.58, 0.23)
_LOCAL_SLOPE = 0.5
_FAR_TURNS = (1.7, 0.7, 0.21, 0.043)
_FAR_SLOPES = (0.5, 0.2, 0.08, 0.03)


@dataclass(frozen=True, slots=True)
class Layer:
    """One block: attention with shared keys and values for all heads, then two matrices with a ReLU between.

    Attributes:
        query, query_bias: (width, heads x 2 turns), (heads x 2 turns,).
        key, key_bias: (width, 2 turns), (2 turns,).
        value: (width, value width).
        out: (heads x value width, width).
        turns: Radians a position, for each rotated pair.
        slopes: What each head takes off a score for every position in between.
        reach: How many committed tokens it looks back over at most; None for all, as a local layer and a global one do.
        reads, writes: The parts of the stream that the two matrices know, which saves two thirds of the work.
        up, up_bias, down, down_bias: (reads, hidden), (hidden,), (hidden, writes), (writes,).
    """

    query: Floats
    query_bias: Floats
    key: Floats
    key_bias: Floats
    value: Floats
    out: Floats
    turns: Floats
    slopes: Floats
    reach: int | None
    reads: slice
    writes: slice
    up: Floats
    up_bias: Floats
    down: Floats
    down_bias: Floats


@dataclass(frozen=True, slots=True)
class Weights:
    """All of the target.

    Attributes:
        embedding: (tokens.SIZE, width).
        layers: Its two blocks.
        head, head_bias: (symbols, tokens.SIZE), (tokens.SIZE,): from the symbols' scores to logits.
        usual: (states, symbols): the lexicon's own scores, of which the draft has a copy.
    """

    embedding: Floats
    layers: tuple[Layer, ...]
    head: Floats
    head_bias: Floats
    usual: Floats


def codes(random: np.random.Generator) -> Floats:
    """(tokens.SIZE, CODE): signs for the symbols, short random vectors for all other bytes."""
    signs = np.array([[1.0]])
    while len(signs) < CODE:
        signs = np.block([[signs, signs], [signs, -signs]])
    made = random.normal(size=(tokens.SIZE, CODE))
    made *= 1.5 / np.linalg.norm(made, axis=1, keepdims=True)
    for at, symbol in enumerate(SYMBOLS):
        made[tokens.of_byte(ord(symbol))] = signs[at % CODE] * (1 if at < CODE else -1)
    return made


def rotated(angle: Floats) -> Floats:
    """Pairs (cos, sin) of angles, the layout of queries and keys: all cosines, then all sines."""
    return np.concatenate([np.cos(angle), np.sin(angle)], axis=-1)


def _usual(random: np.random.Generator) -> Floats:
    """The scores of each state, over what the same text gives where no state is known."""
    states = lexicon.states()
    at = {symbol: index for index, symbol in enumerate(SYMBOLS)}
    scores = np.zeros((len(states), len(SYMBOLS)))
    for index, state in enumerate(states):
        for symbol, _ in state.follow:
            rare = {",": 7.0, ".": 6.0}.get(symbol, 0.0) if len(state.follow) > 1 else 0.0
            scores[index, at[symbol]] = SURE - rare + random.normal(scale=USUAL)
    return scores


def _reading(usual: Floats, embedding: Floats) -> Layer:
    """The first layer."""
    turns = np.array(_LOCAL_TURNS)
    heads = SLOTS - 1
    # Looking from position p, a head is keenest on p - 1, p - 2, … whatever stands there.
    looking = np.concatenate([rotated(-turns * back) for back in range(1, SLOTS)]) * _LOCAL_SHARPNESS
    out = np.zeros((heads * CODE, WIDTH))
    for head in range(heads):
        rows = slice(head * CODE, (head + 1) * CODE)
        out[rows, (head + 1) * CODE : (head + 2) * CODE] = np.eye(CODE)
    value = np.zeros((WIDTH, CODE))
    value[:CODE] = np.eye(CODE)
    states = lexicon.states()
    up = np.zeros((SAID.stop, len(states)))
    for index, state in enumerate(states):
        for back, letter in enumerate(reversed(state.said)):
            rows = slice(back * CODE, (back + 1) * CODE)
            up[rows, index] = embedding[tokens.of_byte(ord(letter)), :CODE] / CODE
    # A unit answers 1 when all of its characters are there, else nothing.
    length = np.array([len(state.said) for state in states])
    unknown = np.zeros(len(SYMBOLS))
    unknown[:27] = SURE - 4.0
    unknown[0] = SURE
    return Layer(
        query=np.zeros((WIDTH, heads * 2 * TURNS)),
        query_bias=looking,
        key=np.zeros((WIDTH, 2 * TURNS)),
        key_bias=rotated(np.zeros(TURNS)),
        value=value,
        out=out,
        turns=turns,
        slopes=np.full(heads, _LOCAL_SLOPE),
        reach=LOCAL,
        reads=SAID,
        writes=SCORES,
        up=up * 2,
        up_bias=1.0 - 2 * length,
        down=usual - unknown,
        down_bias=unknown,
    )


def _choosing(random: np.random.Generator) -> Layer:
    """The second layer."""
    heads, turns = len(_FAR_SLOPES), np.array(_FAR_TURNS)
    near = slice(0, 3 * CODE)

    def drawn(rows: slice, columns: int, scale: float) -> Floats:
        matrix = np.zeros((WIDTH, columns))
        count = rows.stop - rows.start
        matrix[rows] = random.normal(scale=scale / np.sqrt(count), size=(count, columns))
        return matrix

    out = np.zeros((heads * MIXED, WIDTH))
    out[:, MIX] = random.normal(scale=1 / np.sqrt(heads * MIXED), size=(heads * MIXED, MIXED))
    up = drawn(near, HIDDEN, 1.0)
    up[MIX] = random.normal(scale=6.0 / np.sqrt(MIXED), size=(MIXED, HIDDEN))
    down = random.normal(size=(HIDDEN, len(SYMBOLS)))
    down -= down.mean(axis=0)
    down *= CHOICE / np.sqrt(HIDDEN) / 1.5
    return Layer(
        query=drawn(near, heads * 2 * TURNS, 1.0),
        query_bias=np.zeros(heads * 2 * TURNS),
        key=drawn(near, 2 * TURNS, 1.0),
        key_bias=np.zeros(2 * TURNS),
        value=drawn(near, MIXED, 1.0),
        out=out,
        turns=turns,
        slopes=np.array(_FAR_SLOPES),
        reach=None,
        reads=slice(0, WIDTH),
        writes=SCORES,
        up=up,
        up_bias=np.zeros(HIDDEN),
        down=down,
        down_bias=np.zeros(len(SYMBOLS)),
    )


@cache
def drawn(seed: int = 1) -> Weights:
    """The target's weights."""
    random = np.random.default_rng(seed)
    embedding = np.zeros((tokens.SIZE, WIDTH))
    embedding[:, :CODE] = codes(random)
    usual = _usual(random)
    head = np.zeros((len(SYMBOLS), tokens.SIZE))
    bias = np.full(tokens.SIZE, -12.0)
    head[:] = random.normal(scale=0.1, size=head.shape)
    for at, symbol in enumerate(SYMBOLS):
        token = tokens.of_byte(ord(symbol))
        head[:, token] = np.eye(len(SYMBOLS))[at]
        bias[token] = 0.0
    bias[[tokens.BEGIN, tokens.EOS]] = NEVER
    return Weights(embedding, (_reading(usual, embedding), _choosing(random)), head, bias, usual)
