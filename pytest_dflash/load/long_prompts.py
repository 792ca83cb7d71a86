"""Prompts of several lengths, and the same long prompt twice: a few requests each, one after the other.

Law: plans for the runner, and what came of them as values; nothing is judged. No more than one request is in flight,
so that a step is a step of one request.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from statistics import fmean, median

from pytest_dflash.endpoint.door import Door
from pytest_dflash.engines.scoring import Drafting
from pytest_dflash.facts.reading import Reading, Value, deaf
from pytest_dflash.load import runner
from pytest_dflash.load.phase import PhaseResult
from pytest_dflash.load.plan import Plan
from pytest_dflash.load.records import RequestRecord
from pytest_dflash.profile.schema import Context

REQUESTS = 3
NEW_TOKENS = 96
"""So many requests of so many tokens a length: about 70 verify steps, which tell an accept length to a few per cent."""
ROOM = NEW_TOKENS + 64
"""Of the engine's context: the answer, and a prompt that came out longer than it should."""
REPEATED_TOKENS = 2048
REPEATED_NEW_TOKENS = 8
BUDGET_S = 120.0
STILL = "the counters did not move"


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """What requests with prompts of one length came to.

    Attributes:
        asked_tokens: The length that was meant. context_tokens: what the engine counted, on average.
        accept_length: Generated tokens per verify step; None where the counters do not tell.
        tpot_s: Mean time per output token.
        failed: Complaints of requests that were not answered.
        why: Why there is no accept length; "" where there is one.
    """

    asked_tokens: int
    context_tokens: float
    accept_length: float | None
    tpot_s: float | None
    failed: tuple[str, ...] = ()
    why: str = ""

    @property
    def step_s(self) -> float | None:
        """Time of a verify step: what all its tokens took together."""
        if self.tpot_s is None or self.accept_length is None:
            return None
        return self.tpot_s * self.accept_length


@dataclass(frozen=True, slots=True, kw_only=True)
class Reuse:
    """The same long prompt again, beside fresh ones of the same length.

    Attributes:
        fresh_ttft_s, again_ttft_s: Medians; None where nothing was answered.
        cached_share: Of the repeated prompt; None where the engine does not tell in usage.
        prompt_tokens: Of the repeated prompt.
        failed: As in `Point`.
    """

    fresh_ttft_s: float | None
    again_ttft_s: float | None
    cached_share: float | None
    prompt_tokens: float
    failed: tuple[str, ...] = ()


@dataclass
class LongPrompts:
    """Asks for them, each once.

    Attributes:
        door, counters: As of `measuring.Loads`.
        limit: The longest context that the engine takes, in tokens; None where it is not known.
    """

    door: Callable[[], Door]
    counters: Callable[[], Reading[Drafting]]
    run: str
    limit: int | None = None
    tell: Callable[[str], None] = lambda _line: None
    _points: dict[tuple[int, ...], tuple[Point, ...]] = field(default_factory=dict)

    def points(self, lengths: Sequence[int]) -> tuple[Point, ...]:
        """What came of each length.

        Raises:
            EndpointError: The service does not take a request at all.
        """
        key = tuple(lengths)
        if key not in self._points:
            self._points[key] = tuple(self._point(length) for length in lengths)
        return self._points[key]

    def reuse(self) -> Reuse:
        """What came of the same prompt twice.

        Raises:
            EndpointError: As above.
        """
        length = REPEATED_TOKENS if self.limit is None else min(REPEATED_TOKENS, self.limit // 2)
        self.tell(f"the same prompt of {length} tokens again")
        fresh, again = (self._asked(length, REPEATED_NEW_TOKENS, fresh=fresh) for fresh in (True, False))
        return Reuse(
            fresh_ttft_s=_ttft_s(fresh),
            again_ttft_s=_ttft_s(again),
            cached_share=again.cached_share,
            prompt_tokens=_mean_prompt(again.requests),
            failed=(*_complaints(fresh), *_complaints(again)),
        )

    def _point(self, length: int) -> Point:
        self.tell(f"prompts of {length} tokens")
        before = self.counters()
        result = self._asked(length, NEW_TOKENS, fresh=True)
        after = self.counters()
        accept_length, why = None, ""
        if isinstance(before, Value) and isinstance(after, Value):
            steps = after.value.steps - before.value.steps
            tokens = after.value.tokens - before.value.tokens
            accept_length = tokens / steps if steps > 0 and tokens > 0 else None
            why = "" if accept_length else STILL
        else:
            why = deaf(before) or deaf(after)
        times = [each.tpot_s for each in result.requests if each.tpot_s is not None]
        return Point(
            asked_tokens=length,
            context_tokens=_mean_prompt(result.requests),
            accept_length=accept_length,
            tpot_s=fmean(times) if times else None,
            failed=_complaints(result),
            why=why,
        )

    def _asked(self, length: int, tokens: int, *, fresh: bool) -> PhaseResult:
        plan = Plan(
            text_class="long_context",
            concurrency=1,
            prompt_tokens=length,
            output_tokens=tokens,
            seed=length,
            run=self.run,
            per_stream=REQUESTS,
            max_repeats=1,
            time_budget_s=BUDGET_S,
            fresh=fresh,
        )
        return runner.run(self.door(), plan, decided=lambda _: True)


def lengths_of(context: Context, limit: int | None) -> tuple[int, ...]:
    """Which of the profile's lengths are asked for: those that leave room for an answer."""
    return tuple(each for each in context.lengths if limit is None or each <= limit - ROOM)


def _mean_prompt(requests: Sequence[RequestRecord]) -> float:
    told = [each.prompt_tokens for each in requests if each.prompt_tokens]
    return fmean(told) if told else 0.0


def _ttft_s(result: PhaseResult) -> float | None:
    told = [each.ttft_s for each in result.requests if each.ok and each.ttft_s is not None]
    return median(told) if told else None


def _complaints(result: PhaseResult) -> tuple[str, ...]:
    failed = tuple(each.complaint or str(each.failure) for each in result.failed)
    return failed or ((result.why,) if not result.requests else ())
