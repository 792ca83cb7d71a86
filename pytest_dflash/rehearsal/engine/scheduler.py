"""Requests in, steps of several tokens out, and the counters that an engine keeps.

Law: no HTTP. A step is what one verification of the target accepts, the bonus token included.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from . import log, startup
from .model import EOS, TextModel

ACCEPTED = (4, 7, 5, 3, 6)  # tokens a step, taken in turn: 5.0 on average of a block of 8


@dataclass(slots=True)
class Counters:
    """Totals since start, or since the last flush."""

    requests: int = 0
    running: int = 0
    prompt_tokens: int = 0
    generation_tokens: int = 0
    verify_calls: int = 0


@dataclass(frozen=True, slots=True)
class Step:
    """The tokens of one step, and why the request ended with it (`stop`, `length`), if it did."""

    tokens: tuple[int, ...]
    finish: str | None


@dataclass(slots=True)
class Scheduler:
    """One queue for all requests."""

    fields: Mapping[str, Any]
    model: TextModel
    counters: Counters = field(default_factory=Counters)
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def speculates(self) -> bool:
        """Whether steps hold more than one token."""
        return self.fields["speculative_algorithm"] is not None

    def generate(self, prompt: Sequence[int], limit: int, *, ignore_eos: bool = False) -> Iterator[Step]:
        """The answer to `prompt`, step by step, at most `limit` tokens."""
        scheduler = startup.rank(self.fields)
        with self.lock:
            self.counters.requests += 1
            self.counters.running += 1
            self.counters.prompt_tokens += len(prompt)
        log.line(
            f"Prefill batch, #new-seq: 1, #new-token: {len(prompt)}, #cached-token: 0, token usage: 0.00, "
            "#running-req: 0, #queue-req: 0, #pending-token: 0, cuda graph: False, input throughput (token/s): 512.00",
            scheduler,
        )
        began, produced, verified = time.monotonic(), 0, 0
        try:
            for step in self._steps(self._answer(prompt, limit, ignore_eos=ignore_eos), limit):
                with self.lock:
                    self.counters.generation_tokens += len(step.tokens)
                    self.counters.verify_calls += self.speculates
                produced, verified = produced + len(step.tokens), verified + 1
                yield step
        finally:
            with self.lock:
                self.counters.running -= 1
            self._report(produced, verified, time.monotonic() - began, len(prompt), scheduler)

    def _answer(self, prompt: Sequence[int], limit: int, *, ignore_eos: bool) -> list[int]:
        answer = self.model.answer(prompt)
        if ignore_eos:
            said = answer[:-1]
            answer = (said * (limit // max(len(said), 1) + 1))[:limit]
        return answer

    def _steps(self, answer: Sequence[int], limit: int) -> Iterator[Step]:
        at, turn = 0, 0
        while at < min(len(answer), limit):
            # The first token is the prefill's own, so it comes alone, speculation or not.
            width = ACCEPTED[turn % len(ACCEPTED)] if self.speculates and at else 1
            tokens = tuple(answer[at : min(at + width, limit)])
            at, turn = at + len(tokens), turn + 1
            finish = "stop" if tokens[-1] == EOS else "length" if at >= limit else None
            yield Step(tokens, finish)

    def _report(self, produced: int, steps: int, took: float, prompt: int, scheduler: str) -> None:
        length = produced / steps if steps else 0.0
        accepted = (
            f"accept len: {length:.2f}, accept rate: {max(length - 1, 0) / 7:.2f}, "
            if self.speculates
            else ""
        )
        log.line(
            f"Decode batch, #running-req: 1, #token: {prompt + produced}, token usage: 0.00, {accepted}"
            f"cuda graph: True, gen throughput (token/s): {produced / max(took, 1e-3):.2f}, #queue-req: 0",
            scheduler,
        )

    @property
    def accept_length(self) -> float | None:
        """Tokens per verification since the start; None before the first."""
        counted = self.counters
        return counted.generation_tokens / counted.verify_calls if counted.verify_calls else None
