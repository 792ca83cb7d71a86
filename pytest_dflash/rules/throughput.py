"""What is right about a load: its rates, latencies and acceptance against their limits, its answers, its stream.

Law: pure; a measurement in, judgements out. A load that somebody else's requests, this side's own slowness or the
prefix cache has touched proves only what that cannot have caused.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from statistics import fmean

from pytest_dflash.findings import (
    Evidence,
    Json,
    Judgement,
    Outcome,
    failed,
    not_applicable,
    passed,
    unproven,
)
from pytest_dflash.load.floors import TOTAL, TPOT, TTFT, Measure, accept_limits, limit_of
from pytest_dflash.load.instrument import quantile
from pytest_dflash.load.limit import Decision, Standing, decide
from pytest_dflash.load.measurement import Measurement
from pytest_dflash.load.records import Failure, RequestRecord
from pytest_dflash.rules.judge import COUNT
from pytest_dflash.rules.measured import (
    BURST_CHUNKS,
    BURST_OF_FEW,
    bursts_of,
    chunks_of_a_step,
    crowded,
    finish,
    judge,
    moved,
    number,
    numbers,
    series_of,
    tainted,
    tokens_of_a_chunk,
)

DRAWN = 200
"""So many latencies of single requests go into findings.json; all of them are among the samples."""
ONE_TOKEN = 1.2
"""Tokens of a chunk, at most, where an engine sends each by itself."""
DEEPEST = 16
"""A verify step accepts no more tokens than this in any engine that is known."""
WORSE = {Standing.MET: 0, Standing.OPEN: 1, Standing.MISSED: 2}


def floor(measure: Measure, found: Measurement) -> Judgement:
    """A measure against its limit in the profile, whatever both are."""
    values = found.values(measure)
    decision = found.decision(measure)
    if not values:
        why = f"{measure.what}: no repeat of {found.load.name!r} has one"
        limited = limit_of(found.load, measure) is not None
        return finish(
            but_for_errors(unproven(why), measure, found) if limited else not_applicable(why), found
        )
    if decision is None:
        said = f"{measure.what}: {number(fmean(values), measure.unit)}; the profile has no limit for it"
        judgement = not_applicable(said)
    else:
        judgement = judge(decision, found, tainted(measure, decision, found))
        if not _far_below(decision, found):
            judgement = but_for_errors(judgement, measure, found)
    return finish(
        replace(
            judgement,
            observed=round(fmean(values), 4),
            measures=numbers(measure.key, decision, values) | _latencies(measure, found),
            series=series_of(values, found) | _single(measure, found),
        ),
        found,
    )


def _far_below(decision: Decision, found: Measurement) -> bool:
    """Whether it would be below its floor also if each failed request had brought as much as an answered one."""
    asked, failed_ones = len(found.result.requests), len(found.result.failed)
    answered = asked - failed_ones
    return answered > 0 and decision.interval.high * asked / answered < decision.limit.wanted


def but_for_errors(judgement: Judgement, measure: Measure, found: Measurement) -> Judgement:
    """A rate of all requests that is too low or open because some failed is no second fault: it is blocked by them."""
    failed_ones = len(found.result.failed)
    if measure is not TOTAL or not failed_ones or judgement.outcome not in {Outcome.FAIL, Outcome.UNPROVEN}:
        return judgement
    why = f"{failed_ones} of {len(found.result.requests)} requests failed (throughput.errors), which makes it lower"
    return replace(judgement, outcome=Outcome.BLOCKED, summary=f"{judgement.summary}; {why}", remedy=None)


def acceptance(found: Measurement) -> Judgement:
    """The accept length of this class of text between its limits."""
    limits, lengths = accept_limits(found.load), found.accept_lengths
    what = f"accept length on {found.load.text_class.replace('_', ' ')}"
    if not lengths:
        why = f"{what} could not be told: {found.deaf_counters}"
        silent = Evidence(source="engine counters", reading="silent", why=found.deaf_counters)
        remedy = f"{COUNT}; or take accept_length out of the profile"
        return finish(
            unproven(why, evidence=(silent,), remedy=remedy) if limits else not_applicable(why), found
        )
    decisions = [decide(lengths, limit, found.error) for limit in limits]
    if not decisions:
        judgement = not_applicable(f"{what}: {fmean(lengths):.2f}; the profile has no limit for it")
    else:
        worst = max(decisions, key=lambda each: WORSE[each.standing])
        judgement = judge(worst, found, moved(found) or crowded(found))
    measures = {"accept_length": fmean(lengths)}
    for decision in decisions:
        measures |= numbers("accept_length", decision, lengths)
    series = series_of(lengths, found) | {"accepted_at": [round(share, 4) for share in found.accepted_at]}
    judgement = replace(judgement, observed=round(fmean(lengths), 4), measures=measures, series=series)
    return finish(judgement, found)


def errors(found: Measurement) -> Judgement:
    """Every request is answered: to its end, counted, and as long as the engine says."""
    asked = found.result.requests
    bad = [(each, why) for each in asked if (why := _fault(each, found))]
    measures = {"requests": float(len(asked)), "failed_requests": float(len(bad))}
    if bad:
        kinds = Counter(str(each.failure or "cut_short") for each, _ in bad)
        told = ", ".join(f"{many} {kind}" for kind, many in kinds.most_common())
        return finish(
            failed(
                f"{len(bad)} of {len(asked)} requests were not answered properly ({told}); the first: {bad[0][1]}",
                expected=0,
                observed=len(bad),
                remedy="read the engine's log at that time; samples/ has every request with its complaint",
                measures=measures,
            ),
            found,
        )
    if not asked:
        return finish(unproven(f"no request was measured: {found.result.why or found.result.stop}"), found)
    return finish(
        passed(
            f"all {len(asked)} requests were answered to their end", expected=0, observed=0, measures=measures
        ),
        found,
    )


def streaming(found: Measurement) -> Judgement:
    """Tokens come when they are made, and are not held back and sent in bursts."""
    step = chunks_of_a_step(found)
    (chunks, bursts), limit = bursts_of(found), BURST_CHUNKS * step
    if not bursts:
        (chunks, bursts), limit = bursts_of(found, 2), BURST_OF_FEW * step
    if not bursts:
        return finish(unproven(f"no answer of {found.load.name!r} came in more than one chunk"), found)
    each = chunks / bursts
    measures = {"chunks_per_burst": each}
    if each <= limit:
        how = f"as steps make them, {step:.1f} at once" if step > 1 else "one by one"
        return finish(
            passed(f"chunks come {how} ({each:.1f} within a millisecond)", measures=measures), found
        )
    if why := found.result.bottleneck or _perhaps_steps(found, each):
        return finish(unproven(why, measures=measures), found)
    return finish(
        failed(
            f"chunks come in bursts of {each:.0f}: something between the engine and here holds them back",
            expected=round(limit, 1),
            observed=round(each, 1),
            cause="a proxy that buffers answers; users see nothing, and then much at once",
            remedy="switch buffering off for this route (nginx: proxy_buffering off), or ask the engine itself: endpoint.url",
            measures=measures,
        ),
        found,
    )


def _perhaps_steps(found: Measurement, together: float) -> str:
    """That so many chunks at once may be the tokens of one step, in words; "" where they cannot."""
    if not found.deaf_counters or tokens_of_a_chunk(found) > ONE_TOKEN or together > DEEPEST:
        return ""
    return (
        f"chunks of one token come {together:.0f} at once: a proxy may hold them back, or a step that accepted so many "
        f"sends them, and the engine tells no accept length ({found.deaf_counters})"
    )


def _fault(request: RequestRecord, found: Measurement) -> str:
    """Why a request does not count as answered properly; "" where it does."""
    if request.failure is Failure.STOPPED:
        return ""
    if request.failure is not None:
        return request.complaint or str(request.failure)
    asked, came = found.load.output_tokens, request.output_tokens or 0
    if request.finish_reason == "length" and came < asked:
        return f"it ended with finish_reason length after {came} of {asked} tokens"
    return ""


def _latencies(measure: Measure, found: Measurement) -> dict[str, float]:
    ms = _each_ms(measure, found)
    if not ms:
        return {}
    name = measure.name
    shares = {f"{name}_p{share}_ms": quantile(ms, share / 100) for share in (50, 90, 99)}
    return {**shares, f"{name}_max_ms": max(ms)}


def _each_ms(measure: Measure, found: Measurement) -> list[float]:
    if measure not in (TTFT, TPOT):
        return []
    repeats = found.result.repeats
    seconds = (repeat.ttft_s if measure is TTFT else repeat.tpot_s for repeat in repeats)
    return sorted(1000 * each for some in seconds for each in some)


def _single(measure: Measure, found: Measurement) -> dict[str, Json]:
    ms = _each_ms(measure, found)
    step = max(1, math.ceil(len(ms) / DRAWN))
    return {f"{measure.name}_ms": [round(each, 3) for each in ms[::step]]} if ms else {}
