"""Hosts that are odd and healthy are accepted: nobody is accused for being unusual."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from pytest_dflash.rehearsal.oddities import ODDITIES
from tests.faults import matrix

pytestmark = pytest.mark.matrix


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


@pytest.mark.parametrize("name", [each.name for each in ODDITIES.values() if each.load])
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
