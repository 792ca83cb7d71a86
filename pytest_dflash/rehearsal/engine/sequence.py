"""One request on its way through the engine: its text, its cache, what it has said and how it was accepted.

Law: state of one request; no forward passes, no clocks.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from . import grammar, tokens
from .target import DRAFTS, ENTRY
from .weights import Floats, Whole

_MASK = (1 << 64) - 1


@dataclass(frozen=True, slots=True)
class Wishes:
    """What a client asks for.

    Attributes:
        limit: Tokens to be said at most; 0 only scores the prompt.
        temperature: 0 for the likeliest token.
        seed: For the same draws again; None for fresh ones.
        scored_from: From which token of the prompt on scores are wanted; None for none.
        scores: Whether the scores of what is said are wanted.
        top: How many of the likeliest tokens go with each score.
        also: Tokens whose scores are always told.
        schema: The machine that the answer must obey.
        space: The `extra_key`: only requests with the same one share what is kept of prompts.
    """

    limit: int
    temperature: float = 0.0
    seed: int | None = None
    ignore_eos: bool = False
    scored_from: int | None = None
    scores: bool = False
    top: int = 0
    also: tuple[int, ...] = ()
    schema: grammar.State | None = None
    space: str = ""


@dataclass(frozen=True, slots=True)
class Score:
    """How likely the target held one token: log probabilities.

    Attributes:
        logprob: Of the token that stands there; None for a first token, before which nothing stands.
        top: (token, log probability) of the likeliest, best first.
        also: (token, log probability) of those asked for.
    """

    token: int
    logprob: float | None
    top: tuple[tuple[int, float], ...] = ()
    also: tuple[tuple[int, float], ...] = ()


@dataclass(slots=True)
class Sequence:
    """One request.

    Attributes:
        text: Ids of the prompt and of all that was said; the last one, the root, is not in the cache yet.
        told: What the client got.
        buffer: The cache; its first `cached` rows count.
        reused: How many of the prompt's entries came from the prefix cache.
        histogram: How many verifications accepted 0, 1, 2, … draft tokens.
        finish: "stop" or "length" once it is over.
    """

    prompt: tuple[int, ...]
    wishes: Wishes
    rule: Mapping[int, int] = field(default_factory=dict)
    text: list[int] = field(init=False)
    buffer: Floats = field(init=False)
    told: list[int] = field(default_factory=list)
    cached: int = 0
    reused: int = 0
    histogram: dict[int, int] = field(default_factory=dict)
    finish: str | None = None
    grammar_at: grammar.State | None = None
    prompt_scores: list[Score] = field(default_factory=list)
    said_scores: list[Score] = field(default_factory=list)
    seed: int = field(init=False)

    def __post_init__(self) -> None:
        self.text = list(self.prompt)
        self.buffer = np.zeros((len(self.prompt) + 256, ENTRY))
        self.grammar_at = self.wishes.schema
        self.seed = secrets.randbits(64) if self.wishes.seed is None else self.wishes.seed

    @property
    def verified(self) -> int:
        """How many verifications it took part in."""
        return sum(self.histogram.values())

    @property
    def accepted(self) -> int:
        """How many draft tokens were accepted, the bonus tokens not counted."""
        return sum(length * times for length, times in self.histogram.items())

    @property
    def cache(self) -> Floats:
        """The entries of all committed tokens."""
        return self.buffer[: self.cached]

    @property
    def heard(self) -> Floats:
        """The draft's part of the cache."""
        return self.cache[:, DRAFTS]

    def commit(self, entries: Floats) -> None:
        """Appends entries to the cache."""
        needed = self.cached + len(entries)
        if needed > len(self.buffer):
            grown = np.zeros((2 * needed, ENTRY))
            grown[: self.cached] = self.cache
            self.buffer = grown
        self.buffer[self.cached : needed] = entries
        self.cached = needed

    def keep(self, rows: Whole, fresh: Floats) -> None:
        """Compaction: of the fresh entries that lie behind the cache, those of `rows` stay, in that order."""
        self.commit(fresh[rows])

    def say(self, said: list[int], told: list[int]) -> list[int]:
        """Adds to the text, and tells the client of it, up to its end or limit.

        Returns:
            What was told.
        """
        self.text += said
        fresh: list[int] = []
        for token in told:
            if self.finish is not None:
                break
            fresh.append(token)
            if token == tokens.EOS and not self.wishes.ignore_eos:
                self.finish = "stop"
            elif len(self.told) + len(fresh) >= self.wishes.limit:
                self.finish = "length"
        self.told += fresh
        return fresh

    def chance(self, place: int) -> float:
        """The draw for the token at `place`, in [0, 1): the same for the same seed, whatever was drafted."""
        mixed = (self.seed * 0x9E3779B97F4A7C15 + (place + 1) * 0xBF58476D1CE4E5B9) & _MASK
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
            mixed = ((mixed ^ (mixed >> shift)) * factor) & _MASK
        return ((mixed ^ (mixed >> 31)) >> 11) / (1 << 53)
