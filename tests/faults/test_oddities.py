"""Hosts that are odd and healthy are accepted: nobody is accused for being unusual."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

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
