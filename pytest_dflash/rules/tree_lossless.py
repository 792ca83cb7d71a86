"""Tokens that must be the target's own: the judgement over a part of a trial, or several.

Law: pure; what was said and what the oracle thinks of it in, judgements out. By rescoring one violation is enough, and
the tolerance is that of the whole run, so that many positions do not make false alarms likely; without logprobs it is
`tree_agreement` that judges.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from pytest_dflash.findings import Evidence, Judgement, Outcome, failed, passed, unproven
from pytest_dflash.oracle import alarm, rescoring
from pytest_dflash.oracle.answers import Grounds, Part
from pytest_dflash.oracle.choice import Oracle
from pytest_dflash.oracle.noise import CEILING
from pytest_dflash.oracle.rescoring import Tally, Violation
from pytest_dflash.rules import tree_ends
from pytest_dflash.rules.tree_agreement import by_agreement
from pytest_dflash.rules.tree_situation import ANYWHERE, ENOUGH, REMEDY, Situation, spent

PER_TRIAL = 8000
"""Positions of one trial, at most: for so many times the trials of a run the tolerance holds."""
DRAWN = 200
"""At most so many margins are kept for the picture."""


def tolerance(grounds: Grounds) -> float:
    """Nats, for all positions of the run."""
    return grounds.noise.tolerance(PER_TRIAL * (grounds.cells + 1), alarm.RUN_ALPHA / alarm.TESTS)


def lossless(parts: Sequence[Part], grounds: Grounds, situation: Situation = ANYWHERE) -> Judgement:
    """Every token is what the target alone would have said.

    Args:
        parts: What was said.
        grounds: The oracle and its noise.
        situation: In which it was said.
    """
    if grounds.choice.oracle is not Oracle.RESCORING:
        return by_agreement(parts, grounds, situation, alarm.share(grounds.cells))
    within = tolerance(grounds)
    found = rescoring.tally([line for part in parts for line in part.lines], within)
    return _by_tally(parts, grounds, situation, found, within)


def pointless(other: Judgement, what: str) -> Judgement | None:
    """That greedy answers are wrong already, so that nothing follows from others; None where they are not."""
    if other.outcome is not Outcome.FAIL:
        return None
    return Judgement(
        outcome=Outcome.BLOCKED,
        summary=f"{what} proves nothing, as greedy answers are wrong: {other.summary}",
    )


def _counted(found: Tally, grounds: Grounds, within: float) -> dict[str, float]:
    return {
        "positions": float(found.positions),
        "near_ties": float(found.near_ties),
        "violations": float(len(found.violations)),
        "widest_tie_nats": round(found.widest_tie, 6),
        "tolerance_nats": round(within, 6),
        "noise_nats": round(grounds.noise.widest, 6),
        "unseen_rate": round(found.unseen_rate, 6),
    }


def _by_tally(
    parts: Sequence[Part], grounds: Grounds, situation: Situation, found: Tally, within: float
) -> Judgement:
    what, ends = situation.what, tree_ends.evidence(parts)
    measures = spent(parts, grounds) | _counted(found, grounds, within) | tree_ends.measures(parts)
    by, series = f"; {grounds.choice}", {"margins": thinned(found.gaps)} if found.gaps else {}
    if found.violations:
        first = found.violations[0]
        return failed(
            f"{len(found.violations)} of {found.positions} {what} are not what the target would have said: "
            f"{told(first)}; noise explains {within:.3g} nats{by}",
            expected=first.wanted,
            observed=tree_ends.said(first),
            evidence=(*_witnesses(first, grounds, within), *ends),
            cause=tree_ends.CAUSE if all(each.ended for each in found.violations) else situation.cause,
            remedy=REMEDY,
            measures=measures,
            series=series,
        )
    if silent := [each for part in parts for each in part.silent]:
        return unproven(
            f"{len(silent)} answers could not be scored, the first is {silent[0]}{by}",
            remedy="ask the same by hand: the engine's log at that time tells why it gave no logprobs",
            measures=measures,
        )
    if found.positions < ENOUGH:
        return unproven(
            f"only {found.positions} {what} were said, too few for a verdict{by}",
            remedy="the model ends its answers at once: is this the model that was meant, with its own tokenizer?",
            measures=measures,
        )
    if found.near_ties and not grounds.noise.measured:
        return unproven(
            f"{found.near_ties} of {found.positions} {what} are not the target's first choice, and what the engine "
            f"differs from itself by could not be measured{by}",
            measures=measures,
        )
    if within > CEILING:
        return unproven(
            f"the engine differs from itself by up to {grounds.noise.widest:.3g} nats when it scores the same tokens "
            f"again, so a difference up to {within:.3g} nats proves nothing{by}",
            cause="kernels whose results depend on the batch, or a cache that gives other values than were computed",
            measures=measures,
        )
    ties = (
        f", {found.near_ties} within {found.widest_tie:.3g} nats of it (a tie; noise explains {within:.3g})"
        if found.near_ties
        else ""
    )
    return passed(
        f"all {found.positions} {what} are the target's own: {found.argmax} its first choice{ties}{by}",
        expected=0,
        observed=0,
        evidence=ends,
        measures=measures,
        series=series,
    )


def thinned(gaps: Sequence[float]) -> list[float]:
    """Evenly picked, the smallest and the largest among them."""
    last, kept = len(gaps) - 1, min(len(gaps), DRAWN)
    return [round(gaps[last * n // max(kept - 1, 1)], 4) for n in range(kept)]


def told(first: Violation) -> str:
    """The first violation in a sentence."""
    times = math.exp(min(first.gap, 50.0))
    least = "at least " if first.said is None else ""
    return f"the first is {tree_ends.place(first)}, which is {least}{first.gap:.2f} nats ({times:,.0f} times) likelier"


def _witnesses(first: Violation, grounds: Grounds, within: float) -> tuple[Evidence, ...]:
    where = f"{first.label}, token {first.index + 1} of the answer, {first.position + 1} of the sequence"
    said = tree_ends.said(first)
    return (
        Evidence(source="tokens before it", reading="value", value=list(first.before), where=where),
        Evidence(source="target", reading="value", value=first.wanted, where=str(grounds.choice.oracle)),
        Evidence(source="answer", reading="value", value=said, where=where, differs=True),
        Evidence(source="margin, nats", reading="value", value=round(first.gap, 4), where="target's choice over the answer's"),
        Evidence(source="noise, nats", reading="value", value=round(grounds.noise.widest, 6), where=grounds.noise.how or None),
        Evidence(source="tolerance, nats", reading="value", value=round(within, 6), where="for the whole run"),
    )  # fmt: skip
