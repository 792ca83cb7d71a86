from __future__ import annotations

from typing import Any, cast

import pytest

from pytest_dflash.engines.registry import dialect
from pytest_dflash.errors import NotPutBack
from pytest_dflash.findings import passed
from pytest_dflash.lifecycle.changing import Budgets, Changing, cells, flags_of
from pytest_dflash.lifecycle.controller import Controller
from pytest_dflash.lifecycle.phase import Observation, Phase
from pytest_dflash.lifecycle.readiness import Settled
from pytest_dflash.lifecycle.restart import Restart
from pytest_dflash.profile.schema import Tree

SGLANG = dialect("sglang")


class Told:
    """Stands for a controller: writes down what it is asked for."""

    def __init__(self, phase: Phase = Phase.READY, error: Exception | None = None) -> None:
        self.asked: list[str] = []
        self.phase, self.error = phase, error

    def apply(self, changes: Any, version: Any) -> Restart:
        self.asked.append(f"{dict(changes)} {version}")
        return Restart("a", "b", 1.0, Settled(self.phase, Observation(), 1.0, ""), 1.0)

    def put_back(self) -> None:
        self.asked.append("back")
        if self.error:
            raise self.error


def changing(told: Told) -> Changing:
    return Changing(cast("Controller", told), lambda name, value: passed(f"{name}={value}"), lambda: "0.5.23")


@pytest.mark.parametrize(
    "tree,labels",
    [
        (Tree(), ()),
        (Tree(budgets=(1, 7)), ("1", "7")),
        (Tree(budgets=(1, 7), topks=(1, 4), topk_flag="k"), ("1-topk1", "1-topk4", "7-topk1", "7-topk4")),
    ],
)
def test_every_budget_and_topk_is_a_cell(tree: Tree, labels: tuple[str, ...]) -> None:
    assert cells(tree) == labels


def test_a_budget_counts_nodes_without_the_root_and_the_flag_counts_it_too() -> None:
    assert flags_of(Tree(budgets=(7,)), "7", SGLANG) == {"speculative-num-draft-tokens": 8}
    own = Tree(budgets=(7,), budget_flag="tree-budget", budget_flag_offset=0, topk_flag="k", topks=(4,))
    assert flags_of(own, "7-topk4", SGLANG) == {"tree-budget": 7, "k": 4}


def test_a_change_is_proven_flag_by_flag_and_put_back() -> None:
    told = Told()
    with changing(told).reconfigured({"a": 1, "b": True}) as changed:
        assert [each.summary for each in changed.proofs] == ["a=1", "b=True"]
        assert told.asked == ["{'a': 1, 'b': True} 0.5.23"]
    assert told.asked[1:] == ["back"]


def test_nothing_is_proven_of_a_process_that_does_not_serve() -> None:
    assert changing(Told(Phase.CRASH_LOOP)).apply({"a": 1}).proofs == ()


def test_staying_in_a_budget_costs_no_restart() -> None:
    told = Told()
    budgets = Budgets(changing(told), Tree(budgets=(3, 7)), SGLANG)
    first = budgets.visit("3")
    assert budgets.visit("3") is first
    budgets.visit("7")
    budgets.leave()
    assert [asked[:36] for asked in told.asked] == [
        "{'speculative-num-draft-tokens': 4} ",
        "{'speculative-num-draft-tokens': 8} ",
        "back",
    ]


def test_a_way_back_that_fails_is_left_to_the_controller_to_tell() -> None:
    budgets = Budgets(changing(Told(error=NotPutBack("x"))), Tree(budgets=(3,)), SGLANG)
    budgets.visit("3")
    budgets.leave()
