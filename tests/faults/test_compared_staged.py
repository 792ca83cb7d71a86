"""A host that has become slower since its last run: two rehearsals, the second one beside the findings of the first."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from pytest_dflash.rehearsal.faults.throughput import TIGHT
from tests.faults import matrix

pytestmark = [pytest.mark.matrix, pytest.mark.alone]
ASKED = ("--dflash-allow=load", "-k", "decode_rate or compared")


def test_a_load_that_is_slower_than_in_an_earlier_run_fails_and_names_both_rates(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    then = matrix.run(tmp_path / "then", f"--dflash-expect={TIGHT}", *ASKED)
    assert {each["check"]: each["outcome"] for each in then["findings"]} == {
        "throughput.decode_rate": "pass",
        "throughput.compared": "not_applicable",
    }
    earlier = f"--dflash-compare={tmp_path / 'then' / 'findings.json'}"
    begun = time.monotonic()
    now = matrix.run(tmp_path / "now", "--dflash-fault=slow-by-a-tenth", earlier, *ASKED)
    record_property("fault", ["slower-than-before", time.monotonic() - begun])
    found = {each["check"]: each for each in now["findings"]}
    assert found["throughput.compared"]["outcome"] == "fail"
    said = found["throughput.compared"]["summary"]
    assert said.startswith(f"worse than in {tmp_path / 'then' / 'findings.json'}: ")
    assert re.search(r"decode rate 1[89]\d(\.\d)? after 2\d\d(\.\d)? \(-", said), said
