"""How an engine is asked for its tokens, and for what it thinks of tokens that are handed to it.

Law: requests and answers as values, and the Protocol behind which each engine spells them. Nothing is sent here,
nothing judged. Logprobs are natural logarithms; a position is counted from the first token of the prompt, 0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from pytest_dflash.facts.reading import Reading
from pytest_dflash.findings import Json

TOP = 5
"""How many alternatives are asked for at each position: the best, the said one, and what a tie is made of."""


@dataclass(frozen=True, slots=True)
class Ask:
    """A POST: the path below the engine's root, and the body."""

    path: str
    body: Mapping[str, Json]


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """Tokens that are asked for.

    Attributes:
        prompt: Token ids; a text where only text is to be had.
        max_tokens: At most so many new ones. to_the_limit: the end token does not end it.
        temperature: 0 is greedy. seed: of the sampling, where the engine takes one.
        schema: A JSON schema that the answer must fulfil.
        apart: A name: nothing is taken from a cache but what requests of this name have put there, where the engine can
            be told so. "" for what all share.
    """

    prompt: tuple[int, ...] | str
    max_tokens: int
    temperature: float = 0.0
    seed: int | None = None
    to_the_limit: bool = True
    schema: Json = None
    apart: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spoken:
    """What an engine answered.

    Attributes:
        tokens: Ids of the answer; None where the engine tells none. text: the answer as text.
        finish: Why it ended, in the engine's words: "length", "stop".
        ended_by: The id of the token that ended it, or the text; None where the engine does not tell.
        prompt_tokens: As the engine counts them. cached_tokens: those of them that it did not compute again.
        steps: Verify steps. histogram: how many of them accepted 0, 1, 2 … drafts. None: not told.
    """

    tokens: tuple[int, ...] | None
    text: str = ""
    finish: str = ""
    ended_by: int | str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int | None = None
    steps: int | None = None
    histogram: tuple[int, ...] | None = None

    @property
    def whole(self) -> tuple[int, ...]:
        """Its tokens, and the one that ended it behind them, where the engine tells that but does not send it."""
        tokens, by = self.tokens or (), self.ended_by
        if self.tokens is None or not isinstance(by, int) or by in tokens:
            return tokens
        return (*tokens, by)


@dataclass(frozen=True, slots=True)
class Scored:
    """What the target thinks of one token that was handed to it.

    Attributes:
        token: The token. logprob: of it, after all tokens before it.
        best: Tokens and logprobs of the likeliest ones there, the likeliest first; never empty.
    """

    token: int
    logprob: float
    best: tuple[tuple[int, float], ...]

    @property
    def gap(self) -> float:
        """How much likelier the likeliest token is, in nats; 0 where this one is the likeliest."""
        return max(self.best[0][1] - self.logprob, 0.0)

    @property
    def lead(self) -> float | None:
        """How much likelier the likeliest token is than the next one, in nats; None where only one is told."""
        return self.best[0][1] - self.best[1][1] if len(self.best) > 1 else None


@dataclass(frozen=True, slots=True)
class Bounds:
    """Where an engine's own edges are, in tokens; None where it does not say."""

    context: int | None = None
    page: int | None = None
    chunk: int | None = None


@dataclass(frozen=True, slots=True)
class Drafting:
    """Counters of speculation, since the engine's start.

    Attributes:
        tokens: Generated ones. steps: verify steps.
        accepted_at: Steps in which the draft at this depth (0 is the first) was accepted; empty where not told.
    """

    tokens: float
    steps: float
    accepted_at: Mapping[int, float] = field(default_factory=dict)


class Scoring(Protocol):
    """One engine's spelling."""

    speculative_flags: tuple[str, ...]
    """How the flags begin without which the engine does not speculate; () where that is not known."""

    def withheld(self, version: str | None, settings: Mapping[str, Json]) -> str:
        """Why this version must not even be asked for logprobs; "" where it may be tried."""

    def tokenise(self, text: str, model: str) -> Ask | None:
        """Asks for the ids of a text; None where the engine has no way."""

    def ids(self, document: Json) -> Reading[tuple[int, ...]]:
        """The ids that it answered."""

    def generate(self, order: Order, model: str) -> Ask:
        """Asks for tokens."""

    def spoken(self, document: Json) -> Reading[Spoken]:
        """What it answered."""

    def score(self, tokens: Sequence[int], start: int, model: str, *, afresh: bool = False) -> Ask | None:
        """Asks what the target thinks of the tokens from position `start` (at least 1) on.

        `afresh`: nothing of it may come from a cache. None where the engine cannot tell.
        """

    def scored(self, document: Json, start: int, length: int) -> Reading[tuple[Scored, ...]]:
        """One for each position from `start` to `length`."""

    def bounds(self, settings: Mapping[str, Json]) -> Bounds:
        """The edges, from the settings that the engine tells."""

    def counters_path(self) -> str:
        """A passive route with counters; "" where there is none."""

    def counters(self, text: str) -> Reading[Drafting]:
        """The counters in what it answered."""
