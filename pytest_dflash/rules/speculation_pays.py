"""Whether a load is faster than the same load without speculation: recorded by somebody, or measured by this run.

Law: pure. A rate that was recorded counts as exact; two that were measured have to lie apart, bounds and all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from statistics import fmean

from pytest_dflash.findings import Json, Judgement, failed, not_applicable, passed, unproven
from pytest_dflash.load.confidence import ERROR, Interval, interval
from pytest_dflash.load.floors import TOTAL
from pytest_dflash.load.limit import Decision, Limit, Standing, decide
from pytest_dflash.load.measurement import Measurement, values
from pytest_dflash.load.phase import Repeat
from pytest_dflash.profile import schema
from pytest_dflash.rules.measured import finish, judge, number, tainted, unanswered
from pytest_dflash.rules.under_load import unsound

PLAIN = "without speculation"
REMEDY = "compare accept length and step time; a smaller budget costs less where many requests share the GPU"
OTHER_SIDE = {Standing.MET: Standing.MISSED, Standing.MISSED: Standing.MET, Standing.OPEN: Standing.OPEN}


def recorded(found: Measurement) -> Judgement:
    """The load is faster than the rate without speculation that the profile records."""
    plain = found.load.plain_output_tokens_per_s_total
    if plain is None:
        why = (
            "no rate without speculation is recorded: write plain_output_tokens_per_s_total, or let this run "
            "measure it with --dflash-allow=load,reconfigure"
        )
        return finish(not_applicable(why), found)
    mine = found.values(TOTAL)
    if not mine:
        return finish(unproven(f"no repeat of {found.load.name!r} has a total rate"), found)
    decision = decide(mine, Limit(TOTAL.what, TOTAL.unit, plain), found.error)
    judgement = judge(decision, found, tainted(TOTAL, decision, found))
    gain = fmean(mine) / plain
    said = {
        Standing.MET: f"speculation pays: {gain:.2f} times the {plain:g} tokens/s without it",
        Standing.MISSED: f"speculation costs more than it saves: {gain:.2f} times the {plain:g} tokens/s without it",
    }
    summary = said.get(decision.standing, judgement.summary) if not judgement.cause else judgement.summary
    measures = {"speculation_gain": gain, "plain_output_tokens_per_s": plain}
    return finish(
        replace(judgement, summary=summary, measures=measures, remedy=judgement.remedy or REMEDY), found
    )


def measured(
    found: Measurement,
    plain: Measurement,
    loads: int,
    expected: schema.Gpu | None = None,
    drafting: Judgement | None = None,
) -> Judgement:
    """The load is faster than it was just now without speculation.

    Args:
        found: As the unit is.
        plain: The same load without speculation.
        loads: How many loads share the chance of error.
        expected: Of the GPUs, which are looked at in the plain process too.
        drafting: Why the second one may have drafted too; None where it is proven that it did not.
    """
    mine, other = found.values(TOTAL), plain.values(TOTAL)
    if not mine or not other:
        which = plain.label if mine else "with speculation"
        return finish(unproven(f"no repeat of {found.load.name!r} {which} has a total rate"), found)
    if drafting is not None:
        return finish(drafting, found)
    fast, slow = (interval(each, share(loads)) for each in (mine, other))
    standing, gain = _standing(fast, slow), fast.mean / slow.mean
    rates = f"{number(fast.mean, TOTAL.unit)} with it{_bounds(fast)}, {number(slow.mean, TOTAL.unit)} without{_bounds(slow)}"
    why = _tainted(standing, found, plain, fast, slow)
    if not why and (unwell := unsound(plain, expected or schema.Gpu())):
        why = f"{plain.label}: {unwell}"
    if why:
        judgement = unproven(f"{gain:.2f} times the plain rate proves nothing: {why}", cause=why)
    elif standing is Standing.MET:
        judgement = passed(f"speculation pays: {gain:.2f} times plain decoding ({rates})")
    elif standing is Standing.MISSED:
        judgement = failed(
            f"speculation costs more than it saves: {gain:.2f} times plain decoding ({rates})", remedy=REMEDY
        )
    else:
        judgement = unproven(
            f"whether speculation pays is not decided: {gain:.2f} times plain decoding ({rates})",
            remedy="give time_budget_s of this load more seconds",
        )
    measures = {"speculation_gain": gain, "plain_output_tokens_per_s": slow.mean}
    series: dict[str, Json] = {
        "values": [round(each, 4) for each in mine],
        "plain": [round(each, 4) for each in other],
    }
    return finish(
        replace(judgement, expected=round(slow.mean, 4), observed=round(fast.mean, 4), measures=measures, series=series),
        found,
    )  # fmt: skip


def apart(found: Measurement, loads: int) -> Callable[[Sequence[Repeat]], bool]:
    """Whether the repeats without speculation tell already which of both is faster."""
    mine = found.values(TOTAL)

    def told(repeats: Sequence[Repeat]) -> bool:
        other = values(repeats, TOTAL)
        if not mine or not other:
            return False
        fast, slow = (interval(each, share(loads)) for each in (mine, other))
        return _standing(fast, slow) is not Standing.OPEN

    return told


def share(loads: int) -> float:
    """The chance of error that each of the two rates of each load has."""
    return ERROR / (2 * max(loads, 1))


def _standing(fast: Interval, slow: Interval) -> Standing:
    if fast.low > slow.high:
        return Standing.MET
    return Standing.MISSED if fast.high < slow.low else Standing.OPEN


def _tainted(
    standing: Standing, found: Measurement, plain: Measurement, fast: Interval, slow: Interval
) -> str:
    """What else may have put one above the other."""
    mine = Decision(Limit(TOTAL.what, TOTAL.unit, slow.mean), standing, fast)
    if why := unanswered(found) or tainted(TOTAL, mine, found):
        return why
    other = Decision(Limit(TOTAL.what, TOTAL.unit, fast.mean), OTHER_SIDE[standing], slow)
    why = unanswered(plain) or tainted(TOTAL, other, plain)
    return f"{plain.label}: {why}" if why else ""


def _bounds(found: Interval) -> str:
    return f" ({found.low:.4g} to {found.high:.4g})" if found.high < float("inf") else ""
