from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_dflash.findings import Outcome
from pytest_dflash.verdict import Circumstances, Result, Verdict, exit_code, judge, unknown, unmet

outcomes = st.lists(st.sampled_from(list(Outcome)), max_size=8)


def results(*found: Outcome) -> list[Result]:
    return [Result("flags.in_force", outcome, "tp-size") for outcome in found]


@given(outcomes)
def test_one_failure_rejects_whatever_else_was_found(found: list[Outcome]) -> None:
    assert judge(results(*found, Outcome.FAIL), [], Circumstances()) is Verdict.REJECT


@given(outcomes)
def test_unproven_never_accepts(found: list[Outcome]) -> None:
    verdict = judge(results(*found, Outcome.UNPROVEN), [], Circumstances())
    assert verdict in {Verdict.REJECT, Verdict.UNDECIDED}


@given(outcomes)
def test_a_run_that_compared_nothing_is_undecided(found: list[Outcome]) -> None:
    nothing = [o for o in found if o in {Outcome.NOT_RUN, Outcome.NOT_APPLICABLE, Outcome.BLOCKED}]
    assert judge(results(*nothing), [], Circumstances()) is Verdict.UNDECIDED


def test_good_and_whole_accepts() -> None:
    assert (
        judge(results(Outcome.PASS, Outcome.NOT_RUN, Outcome.WAIVED), [], Circumstances()) is Verdict.ACCEPT
    )


def test_good_and_narrowed_is_partial_and_never_reads_as_acceptance() -> None:
    assert judge(results(Outcome.PASS), [], Circumstances(narrowed=True)) is Verdict.PARTIAL


def test_an_interrupted_run_never_accepts() -> None:
    assert judge(results(Outcome.PASS), [], Circumstances(interrupted=True)) is Verdict.UNDECIDED


@pytest.mark.parametrize(
    "found, required, missing",
    [
        ((Outcome.PASS,), ["flags.*"], []),
        ((Outcome.WAIVED,), ["flags.*"], []),
        ((Outcome.NOT_RUN,), ["flags.*"], ["flags.*"]),
        ((Outcome.NOT_APPLICABLE,), ["flags.*"], ["flags.*"]),
        ((Outcome.PASS, Outcome.BLOCKED), ["flags.*"], ["flags.*"]),
        ((Outcome.PASS,), ["window.*"], ["window.*"]),
        ((Outcome.PASS,), [], []),
        ((Outcome.PASS,), ["flags.in_force[tp-size]"], []),
        ((Outcome.PASS,), ["flags.in_force[ep-size]"], ["flags.in_force[ep-size]"]),
    ],
)
def test_what_the_gate_requires_must_have_passed_or_be_waived(
    found: tuple[Outcome, ...], required: list[str], missing: list[str]
) -> None:
    assert unmet(results(*found), required, narrowed=False) == missing


def test_a_narrowed_run_is_not_asked_for_what_it_did_not_select() -> None:
    assert unmet(results(Outcome.PASS), ["window.*"], narrowed=True) == []


@pytest.mark.parametrize(
    "verdict, circumstances, code",
    [
        (Verdict.ACCEPT, Circumstances(), 0),
        (Verdict.PARTIAL, Circumstances(narrowed=True), 0),
        (Verdict.REJECT, Circumstances(), 1),
        (Verdict.ACCEPT, Circumstances(other_failed=True), 1),
        (Verdict.UNDECIDED, Circumstances(), 10),
        (Verdict.UNDECIDED, Circumstances(other_failed=True), 1),
        (Verdict.REJECT, Circumstances(interrupted=True), 2),
        (Verdict.REJECT, Circumstances(interrupted=True, internal_error=True), 3),
        (Verdict.REJECT, Circumstances(unreachable=True, internal_error=True), 11),
        (Verdict.REJECT, Circumstances(unreachable=True, not_restored=True), 12),
    ],
)
def test_the_exit_code_is_the_first_that_applies(
    verdict: Verdict, circumstances: Circumstances, code: int
) -> None:
    assert exit_code(verdict, circumstances) == code


def test_only_an_accepted_or_good_partial_run_exits_with_zero() -> None:
    flags = ("unreachable", "not_restored", "interrupted", "internal_error", "other_failed")
    for verdict, values in itertools.product(Verdict, itertools.product([False, True], repeat=5)):
        code = exit_code(verdict, Circumstances(**dict(zip(flags, values, strict=True))))
        assert (code == 0) == (verdict in {Verdict.ACCEPT, Verdict.PARTIAL} and not any(values))


def test_a_required_name_that_no_check_has_is_told_with_the_close_one() -> None:
    said = unknown([Result("window.reaches_draft_runner", Outcome.PASS)], "window.reaches_draft_runer")
    assert said == " (no check of this run has such a name; did you mean window.reaches_draft_runner?)"
    assert unknown([Result("gpu.count", Outcome.FAIL)], "gpu.*") == ""
    assert unknown([], "nonsense.*") == " (no check of this run has such a name)"
