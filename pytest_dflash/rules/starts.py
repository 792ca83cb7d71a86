"""Whether a load is the same in each process: one may land in a slow mode at its start and stay there.

Law: pure; the measurements of several starts in, a judgement out. With limits each start has to meet them; without,
the starts have to be alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean

from pytest_dflash.findings import Json, Judgement, Outcome, failed, passed, unproven
from pytest_dflash.load.floors import MEASURES, TOTAL
from pytest_dflash.load.measurement import Measurement
from pytest_dflash.load.spread import slow_starts
from pytest_dflash.rules.measured import finish, judge, moved, number, tainted

REMEDY = (
    "restart the unit and look again; what differs from start to start: the choice of kernels (autotuning), "
    "which cores and memory node the process got, clocks, a link that trained lower"
)


def starts(measured: Sequence[Measurement]) -> Judgement:
    """The load meets its limits in each of several processes, or is alike in all of them."""
    first = measured[0]
    rates = [each.values(TOTAL) for each in measured]
    mute = [at for at, each in enumerate(rates, start=1) if not each]
    if mute:
        return finish(unproven(f"start {mute[0]} of {len(measured)} has no total rate"), first)
    means = [fmean(each) for each in rates]
    slow = slow_starts(rates)
    told = _told(slow, means)
    judgement = _limited(measured, told)
    if judgement is None:
        disturbed = next((why for each in measured if (why := moved(each))), "")
        if disturbed:
            judgement = unproven(f"{told}; that proves nothing: {disturbed}", cause=disturbed)
        elif slow:
            judgement = failed(told, remedy=REMEDY)
        else:
            judgement = passed(told)
    series: dict[str, Json] = {
        "total_rate_by_start": [round(each, 4) for each in means],
        "values_by_start": [[round(value, 4) for value in each] for each in rates],
    }
    measures = {
        "starts": float(len(measured)),
        "slow_starts": float(len(slow)),
        "slowest_tokens_per_s": min(means),
    }
    return finish(replace(judgement, series=series, measures=measures), first)  # fmt: skip


def _limited(measured: Sequence[Measurement], told: str) -> Judgement | None:
    """By the limits of the load, each start by itself; None where it has none."""
    worst: tuple[int, Judgement] | None = None
    for at, each in enumerate(measured, start=1):
        for measure in MEASURES:
            decision = each.decision(measure)
            if decision is None:
                continue
            said = judge(decision, each, tainted(measure, decision, each))
            if worst is None or _rank(said) > _rank(worst[1]):
                worst = at, said
    if worst is None:
        return None
    at, said = worst
    many = len(measured)
    if said.outcome is Outcome.PASS:
        return passed(f"the limits are met in each of {many} starts; {told}")
    summary = f"{told}; start {at} of {many}: {said.summary}"
    return replace(said, summary=summary, remedy=REMEDY if said.outcome is Outcome.FAIL else said.remedy)


def _rank(judgement: Judgement) -> int:
    return (Outcome.PASS, Outcome.UNPROVEN, Outcome.FAIL).index(judgement.outcome)


def _told(slow: Sequence[int], means: Sequence[float]) -> str:
    """The starts in words."""
    many = len(means)
    if not slow:
        return f"{many} starts are alike: {', '.join(f'{each:.4g}' for each in means)} {TOTAL.unit}"
    others = [mean for at, mean in enumerate(means) if at not in slow]
    which = ", ".join(str(at + 1) for at in slow)
    noun = "start" if len(slow) == 1 else "starts"
    return (
        f"{noun} {which} of {many} landed in a slow mode: "
        f"{number(fmean(means[at] for at in slow), TOTAL.unit)}, the others {number(fmean(others), TOTAL.unit)}"
    )
