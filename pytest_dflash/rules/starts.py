"""Whether a load is the same in each process: one may land in a slow mode at its start and stay there.

Law: pure; the measurements of several starts in, a judgement out. Each start has to meet the limits of the load; where
none is of a rate or a latency, the starts have to be alike, and noise must not be able to hide that they are not.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean

from pytest_dflash.findings import Json, Judgement, Outcome, failed, passed, unproven
from pytest_dflash.load.confidence import interval
from pytest_dflash.load.floors import MEASURES, TOTAL, accept_limits, limit_of
from pytest_dflash.load.limit import Decision, Limit, Standing
from pytest_dflash.load.measurement import Measurement
from pytest_dflash.load.spread import SLOW_MODE, alike_from, slow_starts, slower_at_most
from pytest_dflash.profile import schema
from pytest_dflash.rules import throughput
from pytest_dflash.rules.measured import finish, moved, number, tainted, unanswered
from pytest_dflash.rules.under_load import unsound

REMEDY = (
    "restart the unit and look again; what differs from start to start: the choice of kernels (autotuning), "
    "which cores and memory node the process got, clocks, a link that trained lower"
)


def starts(measured: Sequence[Measurement], expected: schema.Gpu | None = None) -> Judgement:
    """The load meets its limits in each of several processes, or is alike in all of them.

    Args:
        measured: The load in each process, in order.
        expected: Of the GPUs, which are looked at in each process.
    """
    first, wanted = measured[0], measured[0].load.starts
    if len(measured) < wanted:
        return finish(unproven(f"only {len(measured)} of {wanted} starts were measured"), first)
    rates = [each.values(TOTAL) for each in measured]
    mute = [at for at, each in enumerate(rates, start=1) if not each]
    if mute:
        return finish(unproven(f"start {mute[0]} of {len(measured)} has no total rate"), first)
    means = [fmean(each) for each in rates]
    slow, hidden = slow_starts(rates), slower_at_most(rates)
    told = _told(slow, means, hidden)
    limited = _limited(measured, told)
    alike = (
        None if any(limit_of(first.load, each) for each in MEASURES) else _alike(measured, slow, hidden, told)
    )
    found = [each for each in (_answered(measured), limited, alike, _sound(measured, expected)) if each]
    judgement = max(found, key=_rank)
    bounds = [interval(each.values(TOTAL), each.error) for each in measured]
    series: dict[str, Json] = {
        "total_rate_by_start": [round(each, 4) for each in means],
        "low_by_start": [_finite(each.low) for each in bounds],
        "high_by_start": [_finite(each.high) for each in bounds],
        "values_by_start": [[round(value, 4) for value in each] for each in rates],
        "slow": [at + 1 for at in slow],
        "alike_from": round(alike_from(rates), 4),
        "floor": first.load.min_output_tokens_per_s_total,
    }
    measures = {
        "starts": float(len(measured)),
        "slow_starts": float(len(slow)),
        "slowest_tokens_per_s": min(means),
    }
    return finish(replace(judgement, series=series, measures=measures), first)


def _finite(bound: float) -> float | None:
    """A bound as JSON says it: of a single repeat there is none."""
    return round(bound, 4) if math.isfinite(bound) else None


def _answered(measured: Sequence[Measurement]) -> Judgement | None:
    """That a fresh process left requests unanswered; of the first one `throughput.errors` tells."""
    many = len(measured)
    if why := unanswered(measured[0]):
        return unproven(f"start 1 of {many}: {why}, so that there is nothing to compare with", cause=why)
    judged = ((at, throughput.errors(each)) for at, each in enumerate(measured[1:], start=2))
    wrong = next(((at, said) for at, said in judged if said.outcome is not Outcome.PASS), None)
    return (
        None
        if wrong is None
        else replace(wrong[1], summary=f"start {wrong[0]} of {many}: {wrong[1].summary}")
    )


def _sound(measured: Sequence[Measurement], expected: schema.Gpu | None) -> Judgement | None:
    """That the host was not sound under the load in a fresh process."""
    looked = ((at, unsound(each, expected or schema.Gpu())) for at, each in enumerate(measured[1:], start=2))
    at, why = next(((at, why) for at, why in looked if why), (0, ""))
    return unproven(f"start {at} of {len(measured)} proves nothing: {why}", cause=why) if why else None


def _alike(measured: Sequence[Measurement], slow: Sequence[int], hidden: float, told: str) -> Judgement:
    """Whether the starts have one rate."""
    disturbed = next((why for each in measured if (why := moved(each))), "") or _disturbed(measured, slow)
    if disturbed:
        return unproven(f"{told}; that proves nothing: {disturbed}", cause=disturbed)
    if slow:
        return failed(told, remedy=REMEDY)
    if hidden > SLOW_MODE:
        return unproven(
            told, remedy="give time_budget_s of this load more seconds, so that more repeats fit into it"
        )
    return passed(told)


def _disturbed(measured: Sequence[Measurement], slow: Sequence[int]) -> str:
    """What else than a slow mode may have put one start below another."""
    means = [fmean(each.values(TOTAL)) for each in measured]
    others = [mean for at, mean in enumerate(means) if at not in slow]
    if not slow or not others:
        return ""
    limit = Limit(TOTAL.what, TOTAL.unit, fmean(others))
    for at, each in enumerate(measured):
        standing = Standing.MISSED if at in slow else Standing.MET
        decision = Decision(limit, standing, interval(each.values(TOTAL), each.error))
        if why := tainted(TOTAL, decision, each):
            return f"start {at + 1}: {why}"
    return ""


def _limited(measured: Sequence[Measurement], told: str) -> Judgement | None:
    """By the limits of the load, each start by itself; None where it has none."""
    load, many = measured[0].load, len(measured)
    judged = [
        (at, throughput.floor(measure, each))
        for at, each in enumerate(measured, start=1)
        for measure in MEASURES
        if limit_of(load, measure) is not None
    ]
    if accept_limits(load):
        judged += [(at, throughput.acceptance(each)) for at, each in enumerate(measured, start=1)]
    if not judged:
        return None
    at, said = max(judged, key=lambda each: _rank(each[1]))
    if said.outcome is Outcome.PASS:
        return passed(f"the limits are met in each of {many} starts; {told}")
    summary = f"{told}; start {at} of {many}: {said.summary}"
    return replace(said, summary=summary, remedy=REMEDY if said.outcome is Outcome.FAIL else said.remedy)


def _rank(judgement: Judgement) -> int:
    return (Outcome.PASS, Outcome.UNPROVEN, Outcome.FAIL).index(judgement.outcome)


def _told(slow: Sequence[int], means: Sequence[float], hidden: float) -> str:
    """The starts in words."""
    many = len(means)
    if not slow:
        rates = f"{', '.join(f'{each:.4g}' for each in means)} {TOTAL.unit}"
        if hidden <= SLOW_MODE:
            return f"{many} starts are alike: {rates}"
        most = (
            f"one slower by {min(hidden, 1.0):.0%} is not excluded"
            if hidden < math.inf
            else "one repeat each bounds nothing"
        )
        return f"whether {many} starts are alike is not decided: {rates}; {most}"
    others = [mean for at, mean in enumerate(means) if at not in slow]
    which = ", ".join(str(at + 1) for at in slow)
    noun = "start" if len(slow) == 1 else "starts"
    return (
        f"{noun} {which} of {many} landed in a slow mode: "
        f"{number(fmean(means[at] for at in slow), TOTAL.unit)}, the others {number(fmean(others), TOTAL.unit)}"
    )
