"""From a measurement to a judgement: which side of its limit a measure is on, and what may have put it there.

Law: pure; the one place where a load that was disturbed proves nothing, and where the words for bounds stand.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import fmean

from pytest_dflash.findings import Json, Judgement, failed, passed, unproven
from pytest_dflash.load.floors import DECODE, TOTAL, TPOT, TTFT, Measure
from pytest_dflash.load.instrument import CPU_SHARE
from pytest_dflash.load.limit import Decision, Standing
from pytest_dflash.load.measurement import Measurement
from pytest_dflash.load.phase import Stop
from pytest_dflash.load.spread import outliers

FOREIGN = "foreign_traffic"
BURST_GAP_S = 0.001
BURST_CHUNKS = 3.0
"""Chunks that come within a millisecond of each other: more than this on average, and something holds them back."""
FEW_CHUNKS = 4
BURST_OF_FEW = 1.5
"""The same for answers that came in two or three chunks, as short ones with many tokens a chunk do."""


def judge(decision: Decision, found: Measurement, why: str) -> Judgement:
    """The decision in words; unproven where something else may have brought the number about: `why`."""
    limit, interval = decision.limit, decision.interval
    mean, wanted = number(interval.mean, limit.unit), number(limit.wanted, limit.unit)
    repeats = f"{interval.repeats} repeats"
    outside, within = ("at most", "at least") if limit.kind == "floor" else ("at least", "at most")
    low, high = _bound(interval.low), _bound(interval.high)
    best, worst = (high, low) if limit.kind == "floor" else (low, high)
    if why:
        return unproven(
            f"{limit.what}: {mean} against a {limit.kind} of {wanted} proves nothing: {why}",
            expected=limit.wanted,
            cause=why,
        )
    if decision.standing is Standing.MET:
        return passed(
            f"{limit.what}: {mean}, {within} {worst} in {repeats}; the {limit.kind} is {wanted}",
            expected=limit.wanted,
        )
    if decision.standing is Standing.MISSED:
        side = "below its floor" if limit.kind == "floor" else "above its ceiling"
        return failed(
            f"{limit.what} is {side} of {wanted}: {mean}, {outside} {best} in {repeats}",
            expected=limit.wanted,
        )
    if decision.modes is not None:
        return unproven(
            f"{limit.what} has two modes, {decision.modes}, on both sides of the {limit.kind} of {wanted}",
            expected=limit.wanted,
            cause="something switches between two states: clocks, a neighbour, a graph that only some batches have",
            remedy="look at throughput.host_under_load and at the values per repeat; averages would hide it",
        )
    return unproven(
        f"{limit.what}: {mean} in {repeats}, between {low} and {high}, does not decide the {limit.kind} of {wanted}; "
        + _needed(decision, found),
        expected=limit.wanted,
        remedy="give time_budget_s of this load more seconds, or choose a limit that is further away",
    )


def _needed(decision: Decision, found: Measurement) -> str:
    if decision.needed is None:
        return "the mean is too near for any number of repeats"
    done = max(decision.interval.repeats, 1)
    seconds = decision.needed * found.result.took_s / done
    return f"about {decision.needed} repeats ({seconds:.0f} s) would, where they go on like this"


def tainted(measure: Measure, decision: Decision, found: Measurement) -> str:
    """What may have brought the number about besides the host; "" where nothing can have."""
    met = decision.standing is Standing.MET
    if why := moved(found):
        return why
    if measure in (DECODE, TPOT):
        chunks, bursts = bursts_of(found)
        if bursts and chunks / bursts > BURST_CHUNKS * chunks_of_a_step(found):
            return "chunks come in bursts, so that their times are not those of the tokens"
    if met:
        return found.from_cache if measure in (TOTAL, TTFT) else ""
    if why := crowded(found):
        return why
    if found.result.bottleneck and not _missed_anyway(measure, decision, found):
        return found.result.bottleneck
    return ""


def _missed_anyway(measure: Measure, decision: Decision, found: Measurement) -> bool:
    """Whether the limit is missed by more than a late client can have brought about.

    It may be late before each answer's first stamp, and again at its last one. A client without CPU to spare has slowed
    down everything, by nobody knows how much.
    """
    instruments = [repeat.instrument for repeat in found.result.repeats]
    answers = [each for each in found.result.requests if each.ok and each.arrived_at_s]
    if (
        decision.standing is not Standing.MISSED
        or not answers
        or max(each.cpu_share for each in instruments) > CPU_SHARE
    ):
        return False
    late_s = max(each.lag_p99_s for each in instruments)
    before_s = late_s + max(each.send_lag_p99_s for each in instruments)
    limit, low, high = decision.limit.wanted, decision.interval.low, decision.interval.high
    if measure is TTFT:
        return low - 1000 * before_s > limit
    spans = (
        [each.latency_s for each in answers]
        if measure is TOTAL
        else [each.arrived_at_s[-1] - each.arrived_at_s[0] for each in answers]
    )
    lost_s, span_s = (before_s if measure is TOTAL else late_s) + late_s, fmean(spans)
    kept = (span_s - lost_s) / span_s if span_s > lost_s else 0.0
    return kept * low > limit if measure is TPOT else kept > 0 and high / kept < limit


def moved(found: Measurement) -> str:
    """Why the load is not that of one process from its beginning to its end; "" where it is."""
    if found.replaced:
        return "another process served at the end than at the beginning"
    return f"the load was ended: {found.result.why}" if found.result.stop is Stop.ABORTED else ""


def crowded(found: Measurement) -> str:
    """That somebody else's requests were there, whose steps the engine counts with ours; "" where nobody's were."""
    return f"{FOREIGN}: requests that are not ours: {found.beside.foreign[0]}" if found.beside.foreign else ""


def unanswered(found: Measurement) -> str:
    """That requests of the load were not answered, so that its rate is not that of the load; "" where all were."""
    bad, asked = found.result.failed, found.result.requests
    return f"{len(bad)} of {len(asked)} requests were not answered" if bad else ""


def bursts_of(found: Measurement, fewest: int = FEW_CHUNKS) -> tuple[int, int]:
    """Chunks, and groups of chunks that came together, of the answers that came in enough chunks to tell."""
    chunks = bursts = 0
    for request in found.result.requests:
        if request.ok and len(request.arrived_at_s) >= fewest:
            chunks += len(request.arrived_at_s)
            bursts += 1 + sum(gap > BURST_GAP_S for gap in request.gaps_s)
    return chunks, bursts


def chunks_of_a_step(found: Measurement) -> float:
    """How many chunks a verify step brings at once, 1 or more: llama.cpp sends each token that was accepted by itself."""
    accepted = fmean(found.accept_lengths) if found.accept_lengths else 1.0
    each = tokens_of_a_chunk(found)
    return max(accepted / each, 1.0) if each else 1.0


def tokens_of_a_chunk(found: Measurement) -> float:
    """On average; 0 where no answer came."""
    asked = [each for each in found.result.requests if each.ok and each.arrived_at_s]
    chunks = sum(len(each.arrived_at_s) for each in asked)
    return sum(each.output_tokens or 0 for each in asked) / chunks if chunks else 0.0


def number(value: float, unit: str) -> str:
    """A number with its unit, four digits of it."""
    return f"{value:.4g} {unit}".rstrip()


def _bound(value: float) -> str:
    return f"{value:.4g}" if math.isfinite(value) else "any value"


def numbers(key: str, decision: Decision | None, values: Sequence[float]) -> dict[str, float]:
    """What goes into `measures`: the mean by its key, bounds and limit beside it."""
    mean = fmean(values)
    told = {key: mean, "repeats": float(len(values))}
    if decision is None:
        return told
    interval = decision.interval
    told[f"{key}_{decision.limit.kind}"] = decision.limit.wanted
    told |= {
        f"{key}_{end}": value
        for end, value in (("low", interval.low), ("high", interval.high))
        if math.isfinite(value)
    }
    return told | ({"spread_percent": 100 * interval.spread / mean} if mean else {})


def series_of(values: Sequence[float], found: Measurement) -> dict[str, Json]:
    """The repeats as a picture shows them, outliers by their place."""
    ended = [round(repeat.ended_at_s - found.began_at_s, 2) for repeat in found.result.repeats]
    return {
        "class": found.load.text_class,
        "values": [round(value, 4) for value in values],
        "outliers": list(outliers(values)),
        "at_s": list(ended),
    }


def finish(judgement: Judgement, found: Measurement) -> Judgement:
    """The judgement of a load, with what is told of every load."""
    load, result = found.load, found.result
    shares = [repeat.instrument.cpu_share for repeat in result.repeats]
    common: Mapping[str, float] = {
        "concurrency": load.concurrency,
        "prompt_tokens": load.prompt_tokens,
        "output_tokens": load.output_tokens,
        "took_s": result.took_s,
        **({"client_cpu_percent": 100 * max(shares)} if shares else {}),
        **({"cached_percent": 100 * result.cached_share} if result.cached_share is not None else {}),
    }
    return replace(judgement, param=load.name, measures={**judgement.measures, **common})
