"""The tables against each other: no check that nothing can turn red, no fault that nobody must notice."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable

import pytest

from pytest_dflash.levels import RANK
from pytest_dflash.rehearsal import faults
from pytest_dflash.rehearsal.faults import FAULTS, Fault, listing
from pytest_dflash.rehearsal.oddities import ODDITIES
from tests.faults import matrix
from tests.faults.elsewhere import ELSEWHERE, Elsewhere

NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


def named(faults: Iterable[Fault]) -> list[str]:
    """The checks that must notice one of these, without their parameters."""
    return [check.partition("[")[0] for fault in faults for check in fault.checks]


def test_every_check_can_be_turned_red_by_a_fault() -> None:
    staged, elsewhere = set(named(FAULTS.values())), named(each.fault for each in ELSEWHERE)
    assert matrix.checks() - staged == set(elsewhere)


@pytest.mark.parametrize("each", ELSEWHERE, ids=lambda each: each.fault.name)
def test_what_is_staged_elsewhere_is_seen_red_by_a_test_that_ci_runs(each: Elsewhere) -> None:
    text = each.path.read_text("utf-8")
    tests = {node.name: node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)}
    body = ast.get_source_segment(text, tests[each.test])
    assert body is not None
    assert all(f'"{check}"' in body for check in each.fault.checks)
    assert '"fail"' in body
    assert each.fault.says in text
    assert each.path.parent == matrix.SUITES.parent / "tests/realhost" or "pytest.mark.matrix" in text


@pytest.mark.parametrize(
    "fault", [*FAULTS.values(), *(each.fault for each in ELSEWHERE)], ids=lambda fault: fault.name
)
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
    assert not {each.fault.name for each in ELSEWHERE} & {*FAULTS, *ODDITIES}
    titles = [fault.title for fault in FAULTS.values()] + [oddity.title for oddity in ODDITIES.values()]
    assert len(set(titles)) == len(titles)
    assert all(NAME.fullmatch(name) for name in ODDITIES)


def test_at_least_sixty_odd_hosts_are_healthy() -> None:
    assert len(ODDITIES) >= 60
