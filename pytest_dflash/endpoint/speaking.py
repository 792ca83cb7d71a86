"""Tokens from the service, and what it thinks of them: one request or several at once.

Law: an agent; asks by the client, in the engine's own spelling, and measures how long that took. Judges nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

from pytest_dflash.endpoint.client import Client
from pytest_dflash.endpoint.trouble import EndpointTrouble, Kind
from pytest_dflash.engines.scoring import Ask, Drafting, Order, Scored, Scoring, Spoken
from pytest_dflash.errors import EndpointError
from pytest_dflash.facts.reading import Reading, Silent, Value

T = TypeVar("T")
U = TypeVar("U")
DEADLINE_S = 180.0
"""How long one request may take: some hundred tokens of a slow engine behind others."""


@dataclass
class Spent:
    """Seconds and requests, apart for generating and for scoring. `last_s`: of the last call alone."""

    seconds: float = 0.0
    last_s: float = 0.0
    requests: int = 0
    tokens: int = 0


@dataclass
class Speaker:
    """The service as who speaks, and as who scores."""

    client: Client
    scoring: Scoring
    model: str = ""
    generating: Spent = field(default_factory=Spent)
    rescoring: Spent = field(default_factory=Spent)

    @property
    def seconds(self) -> float:
        """Everything so far."""
        return self.generating.seconds + self.rescoring.seconds

    def ids(self, text: str) -> Reading[tuple[int, ...]]:
        """The token ids of a text."""
        ask = self.scoring.tokenise(text, self._model())
        if ask is None:
            return self.scoring.ids(None)
        try:
            return self.scoring.ids(self._document(ask))
        except EndpointError as error:
            return Silent(str(error), f"POST {ask.path}")

    def say(self, order: Order) -> Spoken:
        """One answer.

        Raises:
            EndpointError: None came, with what the engine said instead.
        """
        return self.say_all([order], at_once=1)[0]

    def say_all(self, orders: Sequence[Order], at_once: int) -> list[Spoken]:
        """Answers in the order of the orders, so many of them at once.

        Raises:
            EndpointError: One of them did not come.
        """
        self._model()
        with self._spent(self.generating, len(orders)):
            said = several(self._say, orders, at_once)
        self.generating.tokens += sum(each.completion_tokens or 0 for each in said)
        return said

    def _say(self, order: Order) -> Spoken:
        ask = self.scoring.generate(order, self._model())
        found = self.scoring.spoken(self._document(ask))
        if not isinstance(found, Value):
            why = found.why if isinstance(found, Silent) else "nothing"
            raise EndpointError(f"POST {ask.path} gave no answer that can be read: {why}")
        return found.value

    def score_all(
        self, many: Sequence[tuple[tuple[int, ...], int]], at_once: int, *, afresh: bool = False
    ) -> list[Reading[tuple[Scored, ...]]]:
        """What the target thinks of each of these sequences, from its position on.

        Args:
            many: Token ids of prompt and answer, and the position of the first token to score.
            at_once: How many are asked at a time.
            afresh: Nothing may come from a cache.
        """

        def score(one: tuple[tuple[int, ...], int]) -> Reading[tuple[Scored, ...]]:
            tokens, start = one
            ask = self.scoring.score(tokens, start, self._model(), afresh=afresh)
            if ask is None:
                return self.scoring.scored(None, start, len(tokens))
            try:
                return self.scoring.scored(self._document(ask), start, len(tokens))
            except EndpointError as error:
                return Silent(str(error), f"POST {ask.path}")

        self._model()
        with self._spent(self.rescoring, len(many)):
            return several(score, many, at_once)

    def counters(self) -> Reading[Drafting]:
        """The counters of speculation, now."""
        path = self.scoring.counters_path()
        if not path:
            return self.scoring.counters("")
        try:
            answer = self.client.get(path)
        except EndpointError as error:
            return Silent(str(error), f"GET {path}")
        if answer.status != 200:
            return Silent(f"it answered {answer.status}", f"GET {path}")
        return self.scoring.counters(answer.text)

    def _model(self) -> str:
        self.model = self.model or self.client.door().model
        return self.model

    def _document(self, ask: Ask) -> Any:
        answer = self.client.post(ask.path, ask.body, deadline_s=DEADLINE_S)
        if answer.json is None:
            raise EndpointTrouble(Kind.NOT_JSON, f"POST {ask.path} was answered with no JSON")
        return answer.json

    @contextmanager
    def _spent(self, on: Spent, requests: int) -> Iterator[None]:
        started = time.monotonic()
        try:
            yield
        finally:
            on.last_s = time.monotonic() - started
            on.seconds += on.last_s
            on.requests += requests


def several(act: Callable[[T], U], on: Sequence[T], at_once: int) -> list[U]:
    """The results in the order of what is acted on; the first error is raised once all have ended."""
    if at_once <= 1 or len(on) <= 1:
        return [act(each) for each in on]
    with ThreadPoolExecutor(at_once) as workers:
        return list(workers.map(act, on))
