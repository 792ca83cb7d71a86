"""Faults of the draft tree that show at one budget and not at another: who asks the running one alone sees half.

Law: a table. The stand-in runs with one budget and its profile names two others, so each fault says where it is.
"""

from __future__ import annotations

from collections.abc import Sequence

from pytest_dflash.rehearsal.faults.fault import Fault, Severity
from pytest_dflash.rehearsal.faults.stages import both, replace, switch, window
from pytest_dflash.rehearsal.faults.tree import LOSSLESS, RUNNING, SHORT_WINDOW, WRONG

SMALL, BLOCK, RUN = 3, 7, 15
"""The budgets of the profile, the second as wide as the drafter's block, and the one that runs."""


def _fault(  # noqa: PLR0913 - one row of the table
    name: str,
    title: str,
    *,
    corruption: str,
    checks: tuple[str, ...],
    says: str,
    at: Sequence[int] = (),
    running: int = RUN,
    severity: Severity = "silent-wrong",
) -> Fault:
    return Fault(
        name,
        "reconfigure",
        checks,
        title,
        layer="speculation",
        severity=severity,
        says=says,
        before=both(
            window(SHORT_WINDOW),
            replace(RUNNING, f"--speculative-num-draft-tokens {running + 1}"),
            switch(corruptions=[corruption], corrupt_budgets=list(at)),
        ),
        expects=(f"window.tokens={SHORT_WINDOW}",),
    )


BUDGETS = (
    _fault(
        "mask-right-where-it-runs",
        "the tree mask is right at the budget that runs, and wrong text at another that the profile names",
        corruption="mask-stride-from-block",
        checks=(f"tree.lossless_per_budget[{SMALL}]", f"tree.same_tokens_per_budget[{SMALL}]"),
        says=WRONG,
        running=BLOCK,
    ),
    _fault(
        "branches-seen-where-it-runs",
        "branches of the tree see each other at the budget that runs, and at no other",
        corruption="siblings-visible",
        at=(RUN,),
        checks=(*LOSSLESS, "tree.reference"),
        says="is answered otherwise than without speculation",
    ),
    _fault(
        "greedy-at-another-budget",
        "temperature is ignored at a budget that the profile names and that does not run",
        corruption="sampling-ignored",
        at=(SMALL,),
        checks=(f"tree.sampling_per_budget[{SMALL}]",),
        says="it does not sample",
    ),
    _fault(
        "larger-tree-accepts-less",
        "at one budget only the first draft of a block makes sense, so that a smaller tree accepts more",
        corruption="acceptance-at-first-only",
        at=(BLOCK,),
        checks=(f"tree.acceptance_per_budget[{BLOCK}]",),
        says="a tree accepts at least what a smaller one or a chain does",
        severity="silent-slow",
    ),
)
