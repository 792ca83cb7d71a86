"""The unit without its flags of speculation: is it something to compare with?

Law: pure; what came of the change, and what both processes say of their verify steps in, the reason against it out. All
who compare with such a process ask here, so that one host gets one answer.

Every answer is `unproven`. Nobody serves with this process, so what is wrong with it accuses nothing that is accepted:
there is only nothing to compare with. A budget that the profile names is meant to be served; that it does not start is a
failure of its own (`rules.tree_budget`).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from pytest_dflash.engines.scoring import Drafting
from pytest_dflash.facts.reading import Absent, Reading, Silent, Value, deaf
from pytest_dflash.findings import Judgement, Outcome, not_applicable, unproven
from pytest_dflash.lifecycle.changing import Changed
from pytest_dflash.oracle.answers import Part
from pytest_dflash.rules.judge import COUNT
from pytest_dflash.witness.chain import ASKED

Account = tuple[Reading[float], Reading[float]]
"""Verify steps by one source: of the process with speculation, and of the one without."""


def no_flags(*, known: bool) -> Judgement:
    """There is nothing to take out."""
    return not_applicable(
        "the process was started without any flag of speculation"
        if known
        else "which flags make this engine speculate is not known"
    )


def unready(changed: Changed) -> Judgement | None:
    """Why the process cannot even be asked; None where it can."""
    if not changed.restart.ready:
        return unproven(
            "the engine does not get ready without speculation, so that there is nothing to compare with: "
            f"{changed.restart.settled.why}",
            observed=str(changed.restart.settled.phase),
            remedy="see its journal for what the engine says of it; where it never runs without, leave this check out by "
            "name (-k)",
        )
    wrong = [each for each in changed.proofs if each.outcome is Outcome.FAIL]
    if wrong:
        return unproven(
            f"the flags of speculation are still in force, so that there is nothing to compare with: {wrong[0].summary}",
            remedy=wrong[0].remedy,
        )
    return None


def drafts(
    accounts: Sequence[Account], flags: Sequence[str], proofs: Sequence[Judgement]
) -> Judgement | None:
    """Why the process drafts all the same, or may; None where it is proven that it does not.

    Proof is one of these: a source that told steps before was heard and tells none, or counts none; its own engine says
    that the flags are not in force.

    Args:
        accounts: By each source.
        flags: Those that were taken out.
        proofs: Of each flag, by the witnesses.
    """
    said = ", ".join(flags) or "its flags of speculation"
    if any(isinstance(now, Value) and now.value > 0 for _, now in accounts):
        return unproven(
            f"without {said} the engine still tells verify steps, so it is nothing to compare with",
            remedy="look for switches in the environment of the process (SGLANG_…) and in its --config file",
        )
    if any(_told(before) and isinstance(now, (Value, Absent)) for before, now in accounts):
        return None
    if _by_its_engine(proofs):
        return None
    still = "it counts no verify steps with its flags either" if accounts else "nobody was asked"
    why = next((why for _, now in accounts if (why := deaf(now))), still)
    return unproven(
        f"whether the engine drafts without {said} is not known, so it is nothing to compare with: {why}",
        remedy=COUNT,
    )


def counted(counters: Sequence[Reading[Drafting]]) -> Reading[float]:
    """The verify steps between the first look at the counters and the last one; counters that were not there are at 0."""
    known = [
        each.value.steps if isinstance(each, Value) else 0.0
        for each in counters
        if not isinstance(each, Silent)
    ]
    steps = sum(max(after - before, 0.0) for before, after in pairwise(known))
    if steps > 0:
        return Value(steps)
    if silent := next((each for each in reversed(counters) if isinstance(each, Silent)), None):
        return silent
    if absent := next((each for each in counters if isinstance(each, Absent)), None):
        return absent
    return Value(0.0) if counters else Silent("no counters were asked for")


def in_answers(parts: Sequence[Part]) -> Reading[float]:
    """The verify steps that answers tell of themselves."""
    said = [each.spoken.steps for part in parts for each in part.said]
    if not said:
        return Silent("nothing was answered")
    return (
        Value(float(steps))
        if (steps := sum(filter(None, said)))
        else Absent("count of verify steps in its answers")
    )


def _told(before: Reading[float]) -> bool:
    return isinstance(before, Value) and before.value > 0


def _by_its_engine(proofs: Sequence[Judgement]) -> bool:
    """Whether the engine itself says that no flag is in force.

    Of the unit file, the loaded unit and the command line nothing follows here: a variable may switch drafting on.
    """
    heard = [
        each for proof in proofs if proof.outcome is Outcome.PASS
        for each in proof.evidence if each.source not in ASKED and each.reading != "silent"
    ]  # fmt: skip
    return bool(heard) and not any(proof.outcome is Outcome.FAIL for proof in proofs)
