from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_dflash.findings import Judgement, Outcome, failed
from pytest_dflash.waivers import Subject, advisory, apply, notes

TODAY = date(2026, 11, 29)
SUBJECT = Subject("gpu.persistence_mode", "gpu2", "GPU-1")


@dataclass
class Waiver:
    check: str = "gpu.persistence_mode"
    host: str | None = None
    param: str | None = None
    reason: str = "ticket 4711"
    expires: date = TODAY


def waived(waiver: Waiver, judgement: Judgement | None = None) -> Judgement:
    return apply(judgement or failed("off"), SUBJECT, [waiver], TODAY)


def test_a_waiver_holds_on_the_day_it_expires() -> None:
    judgement = waived(Waiver())
    assert judgement.outcome is Outcome.WAIVED
    assert judgement.summary == "off (waived until 2026-11-29: ticket 4711)"


def test_an_expired_waiver_waives_nothing_and_says_so() -> None:
    judgement = waived(Waiver(expires=date(2026, 11, 28)))
    assert judgement.outcome is Outcome.FAIL
    assert judgement.summary == "off (its waiver expired on 2026-11-28: ticket 4711)"


@given(st.sampled_from([outcome for outcome in Outcome if outcome is not Outcome.FAIL]))
def test_only_a_failure_can_be_waived(outcome: Outcome) -> None:
    judgement = Judgement(outcome=outcome, summary="as it is")
    assert waived(Waiver(), judgement) == judgement


@pytest.mark.parametrize(
    "waiver, outcome",
    [
        (Waiver(host="gpu2"), Outcome.WAIVED),
        (Waiver(host="gpu*"), Outcome.WAIVED),
        (Waiver(host="gpu1"), Outcome.FAIL),
        (Waiver(param="GPU-1"), Outcome.WAIVED),
        (Waiver(param="GPU-2"), Outcome.FAIL),
        (Waiver(check="gpu.*"), Outcome.WAIVED),
        (Waiver(check="gpu.ecc"), Outcome.FAIL),
    ],
)
def test_a_waiver_covers_only_what_it_names(waiver: Waiver, outcome: Outcome) -> None:
    assert waived(waiver).outcome is outcome


@pytest.mark.parametrize("host, told", [(None, True), ("gpu*", True), ("gpu2", True), ("gpu1", False)])
def test_a_waiver_that_names_no_check_is_told_on_each_host_that_it_means(
    host: str | None, *, told: bool
) -> None:
    lines = notes([cast("Any", Waiver(check="gpu.cuont", host=host))], "gpu2", [], TODAY)
    assert lines == (
        ["waiver: gpu.cuont names no check of this run, so it waives nothing (ticket 4711)"] if told else []
    )


@pytest.mark.parametrize(
    "since, as_of, outcome, expected",
    [
        ("0.2", "0.1", Outcome.FAIL, Outcome.WAIVED),
        ("0.2", "0.1", Outcome.UNPROVEN, Outcome.NOT_RUN),
        ("0.2", "0.1", Outcome.PASS, Outcome.PASS),
        ("0.2", "0.2", Outcome.FAIL, Outcome.FAIL),
        ("0.2", "0.10", Outcome.FAIL, Outcome.FAIL),
        ("0.2", None, Outcome.FAIL, Outcome.FAIL),
    ],
)
def test_a_check_younger_than_the_gate_is_advisory(
    since: str, as_of: str | None, outcome: Outcome, expected: Outcome
) -> None:
    judged = advisory(Judgement(outcome=outcome, summary="wrong"), since, as_of)
    assert judged.outcome is expected
    assert (judged.outcome is outcome) or judged.summary == (
        'advisory, new in 0.2, [gate] checks_as_of = "0.1": wrong'
    )
