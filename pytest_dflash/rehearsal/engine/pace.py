"""How long things take: a stated time for each step, so that speed is a property of the engine and not of the machine.

Law: seconds in, seconds out; the clock is handed in. Without a pace everything takes as long as it takes.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

LATEST_S = 1.0
"""Lateness up to this is caught up, so that a busy machine changes no mean; more is lost."""


@dataclass(frozen=True, slots=True)
class Pace:
    """Times of a card that is not there; 0 for none.

    Attributes:
        step_ms: One step of the whole batch: a verification, or a plain decoding.
        step_ms_per_request: On top, for each running request after the first.
        prefill_ms_per_token: Reading one token of a prompt that is not in the prefix cache; nothing else runs meanwhile.
        ttft_ms: From a request's arrival to its reading, as if it had waited in a queue.
        slow_factor: By how much steps take longer …
        slow_from_concurrency: … when so many requests run (1 for always), …
        slow_past_tokens: … or when the longest text has more tokens than this, …
        slow_after_s: … or when the engine has worked for so long without a rest, …
        slow_every_start: … or in every so-manieth start of the process; the host's earlier run is the first.
        draft_ms: On top of a step, where drafts are made for it.
        stall_every_s, stall_ms: Every so often a pause.
    """

    step_ms: float = 0.0
    step_ms_per_request: float = 0.0
    prefill_ms_per_token: float = 0.0
    ttft_ms: float = 0.0
    slow_factor: float = 1.0
    slow_from_concurrency: int = 0
    slow_past_tokens: int = 0
    slow_after_s: float = 0.0
    slow_every_start: int = 0
    draft_ms: float = 0.0
    stall_every_s: float = 0.0
    stall_ms: float = 0.0

    def step_s(self, running: int, longest: int, busy_s: float) -> float:
        """How long a step takes, in seconds.

        Args:
            running: Requests in the batch.
            longest: Tokens of its longest text.
            busy_s: For how long the engine has been working without a rest.
        """
        slow = (
            0 < self.slow_from_concurrency <= running
            or 0 < self.slow_past_tokens < longest
            or 0 < self.slow_after_s <= busy_s
        )
        each = self.step_ms + self.draft_ms + self.step_ms_per_request * (running - 1)
        return each * (self.slow_factor if slow else 1.0) / 1000

    def in_process(self, start: int, *, drafts: bool) -> Pace:
        """The pace of this start, the first one is 1, with drafts or without."""
        slow = self.slow_every_start and start % self.slow_every_start == 0
        return replace(
            self,
            draft_ms=self.draft_ms if drafts else 0.0,
            slow_from_concurrency=1 if slow else self.slow_from_concurrency,
        )


def of(values: dict[str, Any]) -> Pace:
    """The pace in a file of switches.

    Raises:
        ValueError: For a name that is none.
    """
    known = {field.name for field in fields(Pace)}
    if unknown := sorted(set(values) - known):
        raise ValueError(f"unknown in pace: {', '.join(unknown)}; known are {', '.join(sorted(known))}")
    return Pace(**values)


class Schedule:
    """When the work in hand is due to be done."""

    def __init__(self, pace: Pace) -> None:
        self.pace = pace
        self.due = 0.0
        self.begun = 0.0
        self.next_stall = 0.0

    def begin(self, now: float) -> None:
        """Work begins after a rest."""
        self.due = self.begun = now
        self.next_stall = now + self.pace.stall_every_s

    def after(self, seconds: float, now: float) -> float:
        """How long to wait, now that work for so many seconds has been computed."""
        self.due = max(self.due, now - LATEST_S) + seconds
        if self.pace.stall_every_s and self.due >= self.next_stall:
            self.due += self.pace.stall_ms / 1000
            self.next_stall += self.pace.stall_every_s
        return max(self.due - now, 0.0)

    def after_step(self, running: int, longest: int, now: float) -> float:
        """How long to wait after a step."""
        return self.after(self.pace.step_s(running, longest, self.due - self.begun), now)

    def after_prompt(self, fresh: int, now: float) -> float:
        """How long to wait after a prompt of which `fresh` tokens were read."""
        return self.after(self.pace.prefill_ms_per_token * fresh / 1000, now)
