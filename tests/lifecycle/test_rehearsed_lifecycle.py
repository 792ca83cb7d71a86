"""The rehearsal with all levels, as a user runs it: restarted, reconfigured, and as before."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_the_rehearsal_is_restarted_reconfigured_and_put_back(tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "--host=rehearsal",
        "suites/test_lifecycle.py",
    ]
    command += ["--dflash-allow=load,reconfigure", f"--dflash-report-dir={tmp_path}", "--dflash-drained"]
    command += ["--dflash-ready-timeout=30", "--dflash-expect=lifecycle.ready_within_s=30"]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False, cwd=ROOT)
    document = json.loads((tmp_path / "findings.json").read_text())
    assert {each["outcome"] for each in document["findings"]} == {"pass"}, ran.stdout[-3000:]
    (host,) = document["hosts"]
    assert (host["changed"], host["restored"], ran.returncode) == (True, True, 0)
    findings = {(each["check"], each["param"]): each for each in document["findings"]}
    assert ("lifecycle.budget_in_force", "3") in findings
    assert ("lifecycle.budget_in_force", "7") in findings
    restarts = {each["invocation_id"] for each in document["findings"]}
    assert len(restarts) == 4  # before, restarted, and one for each budget
    measures = findings["lifecycle.ready_in_time", None]["measures"]
    sys.stderr.write(f"\na restart of the rehearsal: {measures}\n")
    assert measures["noticed_after_s"] >= 0
