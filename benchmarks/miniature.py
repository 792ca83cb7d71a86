"""The miniature engine and the trial in one process: the same requests and answers as over HTTP, without the sockets.

Law: wiring for benchmarks and tests; nothing is judged here.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from inspect import signature
from types import SimpleNamespace
from typing import Any, cast

from pytest_dflash.endpoint.answer import Answer
from pytest_dflash.endpoint.client import Client
from pytest_dflash.endpoint.speaking import Speaker
from pytest_dflash.endpoint.trial import Trial
from pytest_dflash.endpoint.trouble import EndpointTrouble, Kind
from pytest_dflash.engines.scoring import Bounds
from pytest_dflash.engines.sglang.scoring import SGLangScoring
from pytest_dflash.findings import Judgement
from pytest_dflash.rehearsal.engine import corruption, generate_route, log, pace, tokens
from pytest_dflash.rehearsal.engine.decoding import Decoder, Shape
from pytest_dflash.rehearsal.engine.refusal import Refused
from pytest_dflash.rehearsal.engine.scheduler import Scheduler
from suites import test_tree

CONTEXT = 4096
WINDOW = 2048
BLOCK = 8
UNBOUNDED = SimpleNamespace(tree=SimpleNamespace(accept_length=None))
"""A profile that expects no accept length."""


@dataclass
class InProcess:
    """Stands for `endpoint.client.Client`; the engine's scheduler runs in a thread of this process."""

    corruptions: Sequence[str] = ()
    budget: int = 7
    top_k: int = 4
    noise_nats: float = 0.02
    window: int = WINDOW
    pace: Mapping[str, float] = field(default_factory=dict)
    model: str = "Kimi-K2.6"
    scheduler: Scheduler = field(init=False)

    def __post_init__(self) -> None:
        log.line = lambda *_: None  # its lines belong to a service
        shape = Shape(budget=self.budget, top_k=self.top_k, block=BLOCK, window=self.window)
        decoder = Decoder(shape, corruption.of(tuple(self.corruptions), self.noise_nats))
        fields = {
            "max_running_requests": 48,
            "context_length": CONTEXT,
            "speculative_num_draft_tokens": self.budget + 1,
            "tp_size": 1,
            "reasoning_parser": "",
        }
        self.scheduler = Scheduler(fields, decoder, pace.of(dict(self.pace)))
        self.scheduler.start()

    def door(self) -> InProcess:
        """Knows the model."""
        return self

    def get(self, path: str) -> Answer:
        """No counters."""
        return Answer(path, 404, "", None, {}, 0.0)

    def post(self, path: str, body: Mapping[str, Any], *, deadline_s: float | None = None) -> Answer:  # noqa: ARG002 - the client's
        """What the route answers, once through JSON as over HTTP."""
        if path == "/tokenize":
            document: Any = {"tokens": tokens.encode(str(body["prompt"]))}
        else:
            try:
                document = generate_route.complete(json.loads(json.dumps(body)), self.scheduler)
            except Refused as refused:
                raise EndpointTrouble(Kind.REJECTED, str(refused), 400) from None
        return Answer(path, 200, "", json.loads(json.dumps(document)), {}, 0.0)

    def trial(self, seed: int, cells: int = 0) -> Trial:
        """A trial of this engine, which has forgotten all earlier ones."""
        self.scheduler.flush()
        speaker = Speaker(cast("Client", self), SGLangScoring())
        bounds = Bounds(context=CONTEXT, page=1, chunk=8192)
        return Trial(speaker, seed, bounds, self.window, cells=cells)

    @property
    def depth(self) -> int:
        """Of its tree, as `trials.Trials` knows it."""
        return min(self.budget, BLOCK - 1)


def checks(engine: InProcess, trial: Trial) -> Mapping[str, Callable[[], Judgement]]:
    """The checks of `suites/test_tree.py` at the running budget, in their order."""
    known: dict[str, Any] = {"trial": trial, "trials": engine, "profile": UNBOUNDED}
    found: dict[str, Callable[[], Judgement]] = {}
    for function in vars(test_tree).values():
        for mark in getattr(function, "pytestmark", ()):
            if mark.args[0].level == "load":
                asked = {name: known[name] for name in signature(function).parameters}
                found[mark.args[0].name] = partial(function, **asked)
    return found
