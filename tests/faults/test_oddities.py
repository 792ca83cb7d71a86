"""Hosts that are odd and healthy are accepted: nobody is accused for being unusual."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_dflash.rehearsal.oddities import ODDITIES
from tests.faults import matrix

pytestmark = pytest.mark.matrix


@pytest.mark.parametrize("name", matrix.unseen())
def test_what_nobody_can_see_of_a_healthy_host_is_unproven_and_says_why(name: str, tmp_path: Path) -> None:
    document = matrix.staged(tmp_path, name)
    found = {each["check"]: each for each in matrix.red(document)}
    assert {name: each["outcome"] for name, each in found.items()} == dict.fromkeys(
        ODDITIES[name].unseen, "unproven"
    )
    for check, words in ODDITIES[name].unseen.items():
        assert words in found[check]["summary"]
    assert document["run"]["verdict"] == "undecided"


@pytest.mark.parametrize("names", matrix.stacks(), ids="+".join)
def test_a_healthy_host_that_is_odd_is_accepted(
    names: tuple[str, ...], tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    document = matrix.staged(tmp_path, *names, environ=matrix.environ_of(names))
    accused = [f"{matrix.spelled(each)}: {each['summary']}" for each in matrix.red(document)]
    record_property("oddities", [list(names), accused])
    assert accused == []
    assert document["run"]["verdict"] == "accept"
    assert document["run"]["exit_code"] == 0


def under_load() -> list[Any]:
    """Those whose speed is measured run alone."""
    named = [(each.name, each.load) for each in ODDITIES.values() if each.load]
    return [
        pytest.param(name, marks=[pytest.mark.alone] if area == "throughput" else []) for name, area in named
    ]


@pytest.mark.parametrize("name", under_load())
def test_a_healthy_engine_that_is_odd_under_load_is_accused_of_nothing(
    name: str, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    document = matrix.run(
        tmp_path, f"--dflash-fault={name}", "--dflash-allow=load", "-m", ODDITIES[name].load
    )
    accused = [f"{matrix.spelled(each)}: {each['summary']}" for each in matrix.red(document)]
    record_property("oddities", [[name], accused])
    assert accused == []
    asked = [each for each in document["findings"] if each["level"] == "load"]
    assert len([each for each in asked if each["outcome"] == "pass"]) > 8, "what is not asked accuses nobody"
    assert document["run"]["exit_code"] == 0
