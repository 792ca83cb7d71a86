"""One budget of the profile after the other: what stands in the way of judging it.

Law: pure; what is allowed and what came of a change in, judgements out.
"""

from __future__ import annotations

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
    """The engine does not start with a cell's flags, although the profile wants to serve with them; None where it does."""
    if changed.restart.ready:
        return None
    return failed(
        f"the engine does not get ready with budget {cell}: {changed.restart.settled.why}",
        expected=cell,
        observed=str(changed.restart.settled.phase),
        remedy="leave this budget out, or see the journal for what the engine says of it",
    )


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
    open_ = [each for each in changed.proofs if each.outcome is not Outcome.PASS]
    if open_ or not changed.proofs:
        why = open_[0].summary if open_ else "no flag of it was followed"
        return unproven(
            f"whether budget {cell} is in force is not proven, so what is said now says nothing about it: {why}",
            remedy=open_[0].remedy if open_ else None,
        )
    return None


def alone(cell: str) -> Judgement:
    """The only budget, and no reference: it is compared with nothing."""
    return unproven(
        f"budget {cell} is the only one and was not compared with the unit without speculation",
        remedy="run tree.reference with it, or name a second budget under [tree] budgets",
    )


def first(cell: str) -> Judgement:
    """The others are compared with it."""
    return not_applicable(f"budget {cell} is the first one: the others are compared with it")
