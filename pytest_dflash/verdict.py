"""From findings to a verdict and an exit code.

Law: a pure function of outcomes; pytest's own idea of passed and failed plays no part. Source: CONTRACT
section 3.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from pytest_dflash.findings import Outcome, is_meant


class Verdict(StrEnum):
    """What the run says of the hosts."""

    ACCEPT = "accept"
    REJECT = "reject"
    UNDECIDED = "undecided"
    PARTIAL = "partial"


@dataclass(frozen=True, slots=True)
class Result:
    """What the verdict needs of a finding."""

    check: str
    outcome: Outcome
    param: str | None = None


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What else decides the exit code.

    Attributes:
        narrowed: By -k, -m, node ids or files: what was not selected is not judged.
        unreachable, not_restored: A host could not be reached, or could not be put back.
        interrupted, internal_error: The run did not end by itself, or pytest or a plugin broke.
        other_failed: A test that is no check failed in the same run: as pytest says, something failed.
    """

    narrowed: bool = False
    unreachable: bool = False
    not_restored: bool = False
    interrupted: bool = False
    internal_error: bool = False
    other_failed: bool = False


GOOD = frozenset({Outcome.PASS, Outcome.WAIVED})
OPEN = frozenset({Outcome.UNPROVEN, Outcome.BLOCKED})


def unmet(results: Sequence[Result], require: Iterable[str], *, narrowed: bool) -> list[str]:
    """The required patterns that are not satisfied: matched by nothing, or by something that did not pass."""
    missing = []
    for pattern in require:
        matching = [result for result in results if is_meant(pattern, result.check, result.param)]
        if any(result.outcome not in GOOD for result in matching) or (not matching and not narrowed):
            missing.append(pattern)
    return missing


def unknown(results: Sequence[Result], pattern: str) -> str:
    """What is to be said of a required pattern that no check of the run matches; "" where one does."""
    names = {result.check for result in results}
    if any(is_meant(pattern, result.check, result.param) for result in results):
        return ""
    close = difflib.get_close_matches(pattern, names, 1, 0.6)
    return f" (no check of this run has such a name{f'; did you mean {close[0]}?' if close else ''})"


def judge(results: Sequence[Result], missing: Sequence[str], circumstances: Circumstances) -> Verdict:
    """The verdict of a run; `missing` is what `unmet` said, over all hosts."""
    outcomes = {result.outcome for result in results}
    if Outcome.FAIL in outcomes:
        return Verdict.REJECT
    if circumstances.interrupted or circumstances.internal_error:
        return Verdict.UNDECIDED
    if circumstances.other_failed:
        return Verdict.REJECT
    # Something blocked stands behind a failure; should that be missing, nothing is accepted on its account.
    if outcomes & OPEN or not outcomes & GOOD or missing:
        return Verdict.UNDECIDED
    return Verdict.PARTIAL if circumstances.narrowed else Verdict.ACCEPT


def exit_code(verdict: Verdict, circumstances: Circumstances) -> int:
    """The exit code: the first that applies of 12, 11, 3, 2, 1, 10, else 0."""
    codes = (
        (12, circumstances.not_restored),
        (11, circumstances.unreachable),
        (3, circumstances.internal_error),
        (2, circumstances.interrupted),
        (1, verdict is Verdict.REJECT or circumstances.other_failed),
        (10, verdict is Verdict.UNDECIDED),
    )
    return next((code for code, applies in codes if applies), 0)
