"""A load of the profile: what is sent for it, what is measured of each repeat, and which limits that has.

Law: the profile's words to a plan and to numbers; nothing is sent, nothing judged. Definitions stand here once:

    total rate    output tokens of all requests per second of the steady window, prefill included
    decode rate   output tokens per second of one request after its first one: 1 / mean TPOT
    TTFT          from the write of a request to its first chunk with content or reasoning
    TPOT          (last chunk - first chunk) / (output tokens - 1)
    accept length generated tokens per verify step, the bonus token included
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from statistics import fmean

from pytest_dflash.load.confidence import ERROR
from pytest_dflash.load.limit import Limit
from pytest_dflash.load.phase import Repeat
from pytest_dflash.load.plan import Plan
from pytest_dflash.profile.schema import Profile, Throughput

ENOUGH_REPEATS = 8
"""With fewer, little is decided: a plan is cut so that as many fit the time budget, as far as floors tell."""
UNLIMITED = 10_000
PATIENCE = 20
"""An answer may take so many times longer than its floors promise before it counts as none."""
SLOWEST_ANSWER_S = 120.0


@dataclass(frozen=True, slots=True)
class Measure:
    """Something that each repeat has one number of.

    Attributes:
        name: Of the check, after `throughput.`.
        key: In `measures`, with the unit.
        what: In a sentence. unit: of the values.
        of: The number; None where the repeat has none.
    """

    name: str
    key: str
    what: str
    unit: str
    of: Callable[[Repeat], float | None]


def _mean_ms(values: tuple[float, ...]) -> float | None:
    return 1000 * fmean(values) if values else None


TOTAL = Measure(
    "total_rate",
    "output_tokens_per_s",
    "output of all requests together",
    "tokens/s",
    lambda repeat: repeat.steady_tokens_per_s,
)
DECODE = Measure(
    "decode_rate",
    "decode_tokens_per_s",
    "decode rate of one request",
    "tokens/s",
    lambda repeat: repeat.decode_tokens_per_s,
)
TTFT = Measure(
    "ttft", "ttft_ms", "mean time to the first token", "ms", lambda repeat: _mean_ms(repeat.ttft_s)
)
TPOT = Measure("tpot", "tpot_ms", "mean time per output token", "ms", lambda repeat: _mean_ms(repeat.tpot_s))
MEASURES = (TOTAL, DECODE, TTFT, TPOT)


def limit_of(load: Throughput, measure: Measure) -> Limit | None:
    """What the profile wants of this measure; None where it wants nothing."""
    floor, ceiling = {
        TOTAL.name: (load.min_output_tokens_per_s_total, None),
        DECODE.name: (load.min_decode_tokens_per_s_per_request, None),
        TTFT.name: (None, load.max_ttft_ms),
        TPOT.name: (None, load.max_tpot_ms),
    }[measure.name]
    if floor is not None:
        return Limit(measure.what, measure.unit, floor, "floor")
    return None if ceiling is None else Limit(measure.what, measure.unit, ceiling, "ceiling")


def accept_limits(load: Throughput) -> tuple[Limit, ...]:
    """Lower and upper limit of the accept length, as far as the profile has them."""
    bounds = load.accept_length
    if bounds is None:
        return ()
    what = f"accept length on {load.text_class.replace('_', ' ')}"
    ends = (("floor", bounds.min), ("ceiling", bounds.max))
    return tuple(Limit(what, "", wanted, kind) for kind, wanted in ends if wanted is not None)  # type: ignore[arg-type]  # the two words above


def error_of_each(profile: Profile) -> float:
    """The chance of error that each limit gets, so that all limits of a run together have `ERROR`."""
    limits = sum(
        load.starts
        * (sum(limit_of(load, measure) is not None for measure in MEASURES) + len(accept_limits(load)))
        for load in profile.throughput
    )
    return ERROR / max(limits, 1)


def plan_of(load: Throughput, run: str) -> Plan:
    """What is sent for a load. Two requests a stream make a repeat, or one where the time would be too short for that."""
    answer_s = _answer_s(load)
    per_stream = 1 if 2 * answer_s * ENOUGH_REPEATS > load.time_budget_s else 2
    return Plan(
        text_class=load.text_class,
        concurrency=load.concurrency,
        prompt_tokens=load.prompt_tokens,
        output_tokens=load.output_tokens,
        run=run,
        per_stream=per_stream,
        time_budget_s=load.time_budget_s,
        request_timeout_s=max(SLOWEST_ANSWER_S, PATIENCE * answer_s),
        max_repeats=UNLIMITED,
    )


def _answer_s(load: Throughput) -> float:
    """How long one answer takes by the load's own floors; 0 where they do not tell."""
    rate = load.min_decode_tokens_per_s_per_request
    if rate is None and load.min_output_tokens_per_s_total is not None:
        rate = load.min_output_tokens_per_s_total / load.concurrency
    decode_s = load.output_tokens / rate if rate else 0.0
    return decode_s + (load.max_ttft_ms or 0.0) / 1000
