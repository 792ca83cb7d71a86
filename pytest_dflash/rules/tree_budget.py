"""One budget of the profile after the other: what stands in the way of judging one, and what they have in common.

Law: pure; what came of a change, and the trials of the cells visited so far in, judgements out.
"""

from __future__ import annotations

from collections.abc import Sequence

from pytest_dflash.findings import Judgement, Outcome, failed, not_applicable, unproven
from pytest_dflash.levels import MEANING, Allowed
from pytest_dflash.lifecycle.changing import Changed


def nothing() -> Judgement:
    """No budget is named."""
    return not_applicable("the profile names no budgets ([tree] budgets)")


def untold(allowed: Allowed, changing: str = "reconfigure") -> Judgement | None:
    """Why nothing is visited, or restarted for: sustained requests are not allowed."""
    if not allowed.permits("load"):
        why = f"needs --dflash-allow=load,{changing} ({MEANING['load']}); allowed: {', '.join(allowed.words)}"
        return Judgement(outcome=Outcome.NOT_RUN, summary=why)
    return None


def never_ready(cell: str, changed: Changed) -> Judgement | None:
    """The engine does not start with a cell's flags; None where it does."""
    if not changed.restart.ready:
        return failed(
            f"the engine does not get ready with budget {cell}: {changed.restart.settled.why}",
            expected=cell,
            observed=str(changed.restart.settled.phase),
            remedy="leave this budget out, or see the journal for what the engine says of it",
        )
    return None


def unready(cell: str, changed: Changed) -> Judgement | None:
    """Why this cell cannot be judged: the engine does not start with it, or does not run with it."""
    if unstarted := never_ready(cell, changed):
        return unstarted
    wrong = [each for each in changed.proofs if each.outcome is Outcome.FAIL]
    if wrong:
        return unproven(
            f"budget {cell} is not in force, so what is said now says nothing about it: {wrong[0].summary}",
            remedy=wrong[0].remedy,
        )
    return None


def no_speculation(*, known: bool) -> Judgement:
    """There is nothing to take out for a reference."""
    return not_applicable(
        "the process was started without any flag of speculation"
        if known
        else "which flags make this engine speculate is not known"
    )


def still_speculates(flags: Sequence[str]) -> Judgement:
    """The reference is none."""
    return unproven(
        f"without {', '.join(flags)} the engine still tells verify steps, so it is no reference",
        remedy="look for switches in the environment of the process (SGLANG_…) and in its --config file",
    )
