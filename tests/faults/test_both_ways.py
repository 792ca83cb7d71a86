"""The tables against each other: no check that nothing can turn red, no fault that nobody must notice."""

from __future__ import annotations

import re
from collections.abc import Mapping

import pytest

from pytest_dflash.levels import RANK
from pytest_dflash.rehearsal import faults
from pytest_dflash.rehearsal.faults import FAULTS, Fault, listing
from pytest_dflash.rehearsal.oddities import ODDITIES
from tests.faults import matrix

UNSTAGED: Mapping[str, str] = {
    "endpoint.awake": "tests/rules/test_endpoint_rules.py",  # vLLM alone can sleep, and the stand-in is SGLang
    "throughput.compared": "tests/faults/test_compared_staged.py",  # needs a run before this one
}
"""Checks that no entry of the tables turns red, and the test that does instead."""
NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


def test_every_check_can_be_turned_red_by_a_fault() -> None:
    staged = {check.partition("[")[0] for fault in FAULTS.values() for check in fault.checks}
    assert matrix.checks() - staged == set(UNSTAGED)
    assert all((matrix.SUITES.parent / test).exists() for test in UNSTAGED.values())


@pytest.mark.parametrize("fault", FAULTS.values(), ids=list(FAULTS))
def test_a_fault_names_checks_that_exist_and_words_that_must_be_said(fault: Fault) -> None:
    assert fault.checks
    assert {check.partition("[")[0] for check in fault.checks} <= matrix.checks()
    assert fault.level in RANK
    assert fault.says
    assert NAME.fullmatch(fault.name)
    assert "\t" not in fault.title


def test_faults_and_oddities_have_different_names_and_titles() -> None:
    assert not set(FAULTS) & set(ODDITIES)
    assert len(FAULTS) == len(listing().splitlines()) == sum(map(len, faults.AREAS)), (
        "two faults have one name"
    )
    titles = [fault.title for fault in FAULTS.values()] + [oddity.title for oddity in ODDITIES.values()]
    assert len(set(titles)) == len(titles)
    assert all(NAME.fullmatch(name) for name in ODDITIES)


def test_at_least_sixty_odd_hosts_are_healthy() -> None:
    assert len(ODDITIES) >= 60
