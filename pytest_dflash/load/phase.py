"""What a load came to: repeats of requests, and why it stopped.

Law: values and their arithmetic; floors are not known here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from pytest_dflash.load.instrument import Instrument
from pytest_dflash.load.plan import Plan
from pytest_dflash.load.records import Failure, RequestRecord


class Stop(StrEnum):
    """Why no further repeat was begun."""

    DECIDED = "decided"  # whoever judges has seen enough
    ENOUGH = "enough"  # `max_repeats`
    TIME_UP = "time_up"  # one more would not fit the time budget
    ABORTED = "aborted"  # `abort` said a reason
    BROKEN = "broken"  # a whole repeat, or the warm-up, was not answered


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """Where the load is, a few times a second.

    Attributes:
        repeat: Which one runs; -1 while warming up.
        begun: Requests written since the start. ended: of these, over in one way or another.
        chunks: Pieces that came.
        statuses: How often each HTTP status came. lost: connections that broke or could not be made.
    """

    at_s: float
    repeat: int
    in_flight: int
    begun: int
    ended: int
    chunks: int
    statuses: Mapping[int, int] = field(default_factory=dict)
    lost: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeat:
    """One closed loop, from all streams idle to all streams idle."""

    number: int
    began_at_s: float
    ended_at_s: float
    requests: tuple[RequestRecord, ...]
    instrument: Instrument

    @property
    def answered(self) -> tuple[RequestRecord, ...]:
        """The requests that count."""
        return tuple(each for each in self.requests if each.ok)

    @property
    def failed(self) -> tuple[RequestRecord, ...]:
        """The requests that the host did not answer; what this side stopped is not among them."""
        return tuple(each for each in self.requests if each.failure not in (None, Failure.STOPPED))

    @property
    def output_tokens(self) -> int:
        """Of all answered requests, by usage."""
        return sum(each.output_tokens or 0 for each in self.answered)

    @property
    def output_tokens_per_s(self) -> float | None:
        """All tokens over the whole repeat, the drain at its end included."""
        took = self.ended_at_s - self.began_at_s
        return self.output_tokens / took if took > 0 and self.answered else None

    @property
    def steady_window(self) -> tuple[float, float] | None:
        """From the first write until the first stream has nothing more to ask: all streams are busy.

        Every stream begins a request at its start and (but for the first to end) is in one at its end: decode and
        prefill have the share in it that they have in a loop without end. A stream that got no answer at all tells no end:
        a refusal comes at once, and the stream is idle from then on, so that the rate is rather too low.
        """
        answered, streams = {each.stream for each in self.answered}, self._by_stream()
        ends = [max(each.ended_at_s for each in streams[one]) for one in answered]
        if not ends:
            return None
        begin, end = min(each.sent_at_s for each in self.requests), min(ends)
        return (begin, end) if end > begin else None

    @property
    def steady_tokens_per_s(self) -> float | None:
        """The tokens that came in the steady window over its length: the total rate at this concurrency."""
        window = self.steady_window
        if window is None or not self.answered:
            return None
        begin, end = window
        return sum(each.tokens_until(end) for each in self.answered) / (end - begin)

    @property
    def decode_tokens_per_s(self) -> float | None:
        """What one user sees after the first token: tokens over the time that they took, all answers together.

        Each token counts alike: a short answer, whose few tokens are one or two steps, says little of a rate.
        """
        timed = [((each.output_tokens or 1) - 1, each.tpot_s) for each in self.answered if each.tpot_s]
        return (
            sum(tokens for tokens, _ in timed) / sum(tokens * time for tokens, time in timed)
            if timed
            else None
        )

    @property
    def ttft_s(self) -> tuple[float, ...]:
        """Of each answered request."""
        return tuple(each.ttft_s for each in self.answered if each.ttft_s is not None)

    @property
    def tpot_s(self) -> tuple[float, ...]:
        """Of each answered request that has two tokens or more."""
        return tuple(each.tpot_s for each in self.answered if each.tpot_s is not None)

    def _by_stream(self) -> dict[int, list[RequestRecord]]:
        streams: dict[int, list[RequestRecord]] = {}
        for each in self.requests:
            streams.setdefault(each.stream, []).append(each)
        return streams


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseResult:
    """All repeats of one load.

    Attributes:
        warm_up: The throw-away request and one wave of the load's own shape. Never measured.
        chars_per_token: Of these prompts, by the engine's count; with the plan it names every prompt.
        why: The reason of an abort, or what broke.
        took_s: All in all.
    """

    plan: Plan
    model: str
    chars_per_token: float
    warm_up: tuple[RequestRecord, ...]
    repeats: tuple[Repeat, ...]
    stop: Stop
    why: str
    took_s: float

    @property
    def requests(self) -> tuple[RequestRecord, ...]:
        """Of all repeats."""
        return tuple(request for repeat in self.repeats for request in repeat.requests)

    @property
    def failed(self) -> tuple[RequestRecord, ...]:
        """Of all repeats."""
        return tuple(request for repeat in self.repeats for request in repeat.failed)

    @property
    def cached_share(self) -> float | None:
        """Prompt tokens that the prefix cache answered for; None where the engine does not tell."""
        told = [each for each in self.requests if each.cached_tokens is not None and each.prompt_tokens]
        asked = sum(each.prompt_tokens or 0 for each in told)
        return sum(each.cached_tokens or 0 for each in told) / asked if asked else None

    @property
    def bottleneck(self) -> str | None:
        """The first repeat in which the client was too slow to measure, in a sentence."""
        return next(filter(None, (repeat.instrument.bottleneck() for repeat in self.repeats)), None)
