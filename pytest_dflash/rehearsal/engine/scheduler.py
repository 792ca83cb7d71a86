"""Requests in, steps of several tokens out: one thread that reads prompts and steps all that runs.

Law: no HTTP. A step of a request is what one verification accepts, the bonus token included; a prompt's first
token comes alone, from its reading.
"""

from __future__ import annotations

import os
import queue
import threading
import time
import traceback
from collections.abc import Iterator, Mapping
from collections.abc import Sequence as Many
from dataclasses import dataclass, field
from typing import Any

from . import log, reasoning, startup, text_rule
from .decoding import Decoder
from .pace import Pace, Schedule
from .sequence import Sequence, Wishes

DIED = 1


@dataclass(slots=True)
class Counters:
    """Totals since start, or since the last flush."""

    requests: int = 0
    prompt_tokens: int = 0
    cached_tokens: int = 0
    generation_tokens: int = 0
    verify_calls: int = 0
    accepted: int = 0

    @property
    def accept_length(self) -> float | None:
        """Tokens per verification, the bonus token included; None before the first."""
        return 1 + self.accepted / self.verify_calls if self.verify_calls else None


@dataclass(frozen=True, slots=True)
class Step:
    """The tokens of one step, and why the request ended with it (`stop`, `length`), if it did."""

    tokens: tuple[int, ...]
    finish: str | None


@dataclass(slots=True)
class Job:
    """A request in the scheduler's hands.

    Attributes:
        arrived: Seconds of the monotonic clock.
        said: Its steps, for the thread that answers.
        given_up: The client went away.
        paced: It keeps the stated times. Those who wait for a whole document are answered as fast as it goes.
    """

    sequence: Sequence
    arrived: float
    said: queue.SimpleQueue[Step] = field(default_factory=queue.SimpleQueue)
    given_up: bool = False
    paced: bool = False

    def steps(self) -> Iterator[Step]:
        """Its steps as they come; whoever stops listening gives the request up."""
        try:
            while True:
                step = self.said.get()
                yield step
                if step.finish:
                    return
        finally:
            self.given_up = True


class Scheduler:
    """All requests of the engine."""

    def __init__(
        self, fields: Mapping[str, Any], decoder: Decoder, pace: Pace | None = None, foreign: int = 0
    ) -> None:
        """Nothing runs before `start`.

        Args:
            fields: The engine's arguments.
            decoder: The models.
            pace: Times to keep.
            foreign: Requests of somebody else that run all the time.
        """
        self.fields = fields
        self.thought = reasoning.thought(fields)
        self.decoder = decoder
        self.schedule = Schedule(pace or Pace())
        self.foreign = foreign
        self.graphs_up_to = 0
        self.cached_claim = 0.0
        self.counters = Counters()
        self.last_throughput = 0.0
        self._changed = threading.Condition()
        self._waiting: list[Job] = []
        self._running: list[Job] = []

    @property
    def speculates(self) -> bool:
        """Whether steps hold more than one token."""
        return self.decoder.shape.budget > 0

    @property
    def running(self) -> int:
        """How many requests are being answered."""
        return len(self._running) + self.foreign

    @property
    def waiting(self) -> int:
        """How many requests wait to be read."""
        return len(self._waiting)

    @property
    def used_tokens(self) -> int:
        """How many tokens the caches of the running requests hold."""
        return sum(job.sequence.cached for job in list(self._running))

    def start(self) -> None:
        """Starts the thread; it ends with the process."""
        threading.Thread(target=self._run, name="scheduler", daemon=True).start()

    def submit(self, prompt: Many[int], wishes: Wishes, *, paced: bool = False) -> Job:
        """Takes a request."""
        sequence = Sequence(tuple(prompt), wishes, text_rule.follows(prompt, self.thought))
        job = Job(sequence, time.monotonic(), paced=paced)
        with self._changed:
            self._waiting.append(job)
            self.counters.requests += 1
            self._changed.notify()
        return job

    def flush(self) -> bool:
        """Empties prefix cache and counters, unless requests run."""
        with self._changed:
            if self.running or self._waiting:
                return False
            self.decoder.prefixes.flush()
            self.counters = Counters()
            return True

    def _run(self) -> None:
        try:
            while True:
                self._turn()
        except BaseException:  # noqa: BLE001 - whatever it was, an engine without its scheduler must not go on
            log.line(f"Scheduler hit an exception: {traceback.format_exc()}")
            os._exit(DIED)

    def _turn(self) -> None:
        """Reads the prompts that may be read, then steps what runs."""
        with self._changed:
            if not self._waiting and not self._running:
                self._changed.wait()
                self.schedule.begin(time.monotonic())
            job = self._next()
            if job is not None:
                if not self._running:  # waiting for its time was no work that could be late
                    self.schedule.begin(time.monotonic())
                self._waiting.remove(job)
                self._running.append(job)
        if job is not None:
            self._read(job)
        elif self._running:
            self._step()
        else:
            time.sleep(0.001)

    def _next(self) -> Job | None:
        """The next request to be read, where there is room and its time has come."""
        most = self.fields["max_running_requests"] or 2048
        if len(self._running) >= most:
            return None
        ready = time.monotonic() - self.schedule.pace.ttft_ms / 1000
        return next((job for job in self._waiting if job.arrived <= ready or not job.paced), None)

    def _read(self, job: Job) -> None:
        sequence = job.sequence
        told = self.decoder.read_prompt(sequence, len(self._running))
        fresh = len(sequence.prompt) - sequence.reused
        if job.paced:
            self._wait(self.schedule.after_prompt(fresh, time.monotonic()))
        self.counters.prompt_tokens += len(sequence.prompt)
        self.counters.cached_tokens += sequence.reused
        log.line(
            f"Prefill batch, #new-seq: 1, #new-token: {fresh}, #cached-token: {sequence.reused}, token usage: 0.00, "
            f"#running-req: {len(self._running) - 1}, #queue-req: {self.waiting}, #pending-token: 0, "
            "cuda graph: False, input throughput (token/s): 512.00",
            startup.rank(self.fields),
        )
        self._tell(job, told)

    def _step(self) -> None:
        jobs = [job for job in self._running if not job.given_up]
        for job in self._running:
            if job.given_up:
                self._end(job)
        if not jobs:
            return
        before = [(job.sequence.verified, job.sequence.accepted) for job in jobs]
        told = self.decoder.step([job.sequence for job in jobs])
        if any(job.paced for job in jobs):
            longest = max(len(job.sequence.text) for job in jobs)
            self._wait(self.schedule.after_step(len(jobs) + self.foreign, longest, time.monotonic()))
        for job, tokens, (verified, accepted) in zip(jobs, told, before, strict=True):
            self.counters.verify_calls += job.sequence.verified - verified
            self.counters.accepted += job.sequence.accepted - accepted
            self._tell(job, tokens)

    @staticmethod
    def _wait(seconds: float) -> None:
        if seconds > 0:
            time.sleep(seconds)

    def _tell(self, job: Job, tokens: Many[int]) -> None:
        self.counters.generation_tokens += len(tokens)
        finish = job.sequence.finish
        if finish is not None:
            self._end(job)
        if tokens or finish is not None:
            job.said.put(Step(tuple(tokens), finish))

    def _end(self, job: Job) -> None:
        """Takes a request out, keeps what was read of it, and reports it in the log."""
        with self._changed:
            self._running.remove(job)
        sequence = job.sequence
        self.decoder.release(sequence)
        produced, took = len(sequence.told), max(time.monotonic() - job.arrived, 1e-3)
        self.last_throughput = produced / took
        accepted = ""
        if verified := sequence.verified:
            most = verified * self.decoder.shape.budget
            accepted = (
                f"accept len: {1 + sequence.accepted / verified:.2f}, "
                f"accept rate: {sequence.accepted / most:.2f}, "
            )
        running = len(self._running) + 1
        graph = not self.graphs_up_to or running <= self.graphs_up_to
        log.line(
            f"Decode batch, #running-req: {running}, #token: {len(sequence.text)}, token usage: 0.00, "
            f"{accepted}cuda graph: {graph}, gen throughput (token/s): {self.last_throughput:.2f}, "
            f"#queue-req: {self.waiting}",
            startup.rank(self.fields),
        )
