"""The benchmark of detection in its quick form: faults are caught at several budgets, and nobody innocent is accused."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import pytest

from benchmarks import detection
from pytest_dflash.rehearsal.faults.tree import BUDGETS, TREE

LOSSLESS = ("tree.lossless", "tree.lossless_batched", "tree.lossless_at_edges")


def right(fault: str, budget: int, *red: str, whole: bool = True) -> bool:
    return detection.Cell(fault, budget, 1, red, 448, whole).right


def test_a_cell_is_right_with_exactly_the_checks_that_the_fault_names_at_this_budget() -> None:
    assert right("mask-stride-from-block", 15, *LOSSLESS)
    assert not right("mask-stride-from-block", 15, *LOSSLESS[1:])
    assert not right("mask-stride-from-block", 15, *LOSSLESS, "tree.acceptance")
    assert right("mask-stride-from-block", 7)
    assert not right("mask-stride-from-block", 7, "tree.lossless")
    assert right("token-zero-as-padding", 1, "tree.lossless_batched")


def test_a_cell_that_was_left_at_the_first_red_check_is_right_with_one_of_them() -> None:
    assert right("mask-stride-from-block", 15, "tree.lossless", whole=False)
    assert not right("mask-stride-from-block", 15, whole=False)
    assert not right("mask-stride-from-block", 15, "tree.grammar", whole=False)


def test_the_quick_form_stages_every_fault_and_every_budget() -> None:
    asked = detection.diagonal([each.name for each in TREE])
    assert set(asked) == {each.name for each in TREE}
    assert {budget for those in asked.values() for budget in those} == set(BUDGETS)


@pytest.mark.slow
@pytest.mark.parametrize("fault, budgets", detection.diagonal([each.name for each in TREE]).items())
def test_a_fault_is_caught_by_exactly_the_checks_that_it_names(fault: str, budgets: Sequence[int]) -> None:
    lines = list(detection.faults({fault: budgets}, 1, None))
    assert all(good for _, good in lines), lines


@pytest.mark.slow
@pytest.mark.parametrize("table", ["innocent", "noise"])
def test_nobody_innocent_is_accused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], table: str
) -> None:
    monkeypatch.setattr(sys, "argv", ["detection", "--quick", f"--only={table}"])
    assert detection.main() == 0, capsys.readouterr().out
