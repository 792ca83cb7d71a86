"""Each fault of the rehearsal turns exactly its named checks red; the healthy rehearsal turns none."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pytest_dflash.levels import CHANGING
from pytest_dflash.rehearsal.faults import FAULTS

pytestmark = pytest.mark.slow
SUITES = Path(__file__).parents[2] / "suites"
RED = {"fail", "unproven"}


def run(folder: Path, *options: str) -> dict[str, Any]:
    """The findings.json of a rehearsal, run as a user runs it."""
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "--host=rehearsal",
        str(SUITES),
    ]
    ran = subprocess.run(
        [*command, f"--dflash-report-dir={folder}", "--dflash-ready-timeout=3", *options],
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
        cwd=SUITES.parent,
    )
    path = folder / "findings.json"
    assert path.exists(), ran.stdout[-3000:] + ran.stderr[-3000:]
    return dict(json.loads(path.read_text()))


def noticed(document: dict[str, Any]) -> set[str]:
    """The checks that are red, with and without their parameter."""
    red = [each for each in document["findings"] if each["outcome"] in RED]
    return {each["check"] for each in red} | {
        f"{each['check']}[{each['param']}]" for each in red if each["param"]
    }


def test_the_healthy_rehearsal_is_accepted_without_a_single_red_check(tmp_path: Path) -> None:
    document = run(tmp_path)
    assert noticed(document) == set()
    assert document["run"]["verdict"] == "accept"
    assert document["run"]["exit_code"] == 0


@pytest.mark.parametrize("name", list(FAULTS))
def test_a_fault_turns_exactly_its_named_checks_red(name: str, tmp_path: Path) -> None:
    fault = FAULTS[name]
    allow = [f"--dflash-allow={fault.level}"] if fault.level in CHANGING else []
    document = run(tmp_path, f"--dflash-fault={name}", *allow)
    red = noticed(document)
    named = {check.partition("[")[0] for check in fault.checks}
    assert {each.partition("[")[0] for each in red} == named
    assert set(fault.checks) <= red
    only_with = {check for check in fault.checks if "[" in check}
    for check in {check.partition("[")[0] for check in only_with}:
        assert {each for each in red if each.startswith(f"{check}[")} <= only_with
    assert document["run"]["exit_code"] in {1, 10}
    assert document["run"]["faults"] == [name]


def test_a_host_with_foreign_requests_is_not_restarted_and_says_why(tmp_path: Path) -> None:
    document = run(tmp_path, "--dflash-fault=foreign-traffic", "--dflash-allow=restart", "-k", "makes_a_new")
    (finding,) = document["findings"]
    assert finding["outcome"] == "unproven"
    assert finding["summary"].startswith(
        "foreign_traffic: requests that are not ours: 3 running and 0 queued (GET /v1/loads); rehearsal was not touched."
    )
    assert document["hosts"][0]["changed"] is False


def test_a_person_may_vouch_for_a_host_with_foreign_requests(tmp_path: Path) -> None:
    document = run(
        tmp_path,
        "--dflash-fault=foreign-traffic",
        "--dflash-allow=restart",
        "--dflash-drained",
        "--dflash-ready-timeout=30",
        "-k",
        "makes_a_new",
    )
    assert [finding["outcome"] for finding in document["findings"]] == ["pass"]
    assert document["hosts"][0]["changed"] is True
