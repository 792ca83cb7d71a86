"""ctrf.json, the Common Test Report Format (ctrf.io), for dashboards that read it.

Law: findings.json in, CTRF out: one test for each finding, so that a GPU or a flag has a history of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from pytest_dflash.findings import Outcome

SPECIFICATION = "0.0.0"
"""The version that readers of every age take; nothing younger is used."""
STATUS = {
    Outcome.PASS: "passed",
    Outcome.FAIL: "failed",
    Outcome.UNPROVEN: "failed",
    Outcome.WAIVED: "other",
    Outcome.BLOCKED: "skipped",
    Outcome.NOT_RUN: "skipped",
    Outcome.NOT_APPLICABLE: "skipped",
}
STATUSES = ("passed", "failed", "pending", "skipped", "other")


def report(document: Mapping[str, Any]) -> dict[str, Any]:
    """The whole report."""
    run, findings = document["run"], document["findings"]
    tests = [_test(finding) for finding in findings]
    number = Counter(test["status"] for test in tests)
    summary = {"tests": len(tests)} | {status: number[status] for status in STATUSES}
    summary |= {"start": _milliseconds(run["started"]), "stop": _milliseconds(run["ended"])}
    told = ("verdict", "exit_code", "narrowed", "complete", "command")
    return {
        "reportFormat": "CTRF",
        "specVersion": SPECIFICATION,
        "results": {
            "tool": {"name": "pytest-dflash", "version": run["plugin"]},
            "summary": summary,
            "tests": tests,
            "extra": {key: run.get(key) for key in told} | {"hosts": document["hosts"]},
        },
    }


def _test(finding: Mapping[str, Any]) -> dict[str, Any]:
    param = f"[{finding['param']}]" if finding["param"] is not None else ""
    kept = (
        "check",
        "param",
        "host",
        "service",
        "level",
        "outcome",
        "expected",
        "observed",
        "cause",
        "remedy",
        "measures",
    )
    return {
        "name": f"{finding['check']}{param} on {finding['host']}",
        "status": STATUS[Outcome(finding["outcome"])],
        "duration": round(finding["duration_s"] * 1000),
        "message": finding["summary"],
        "rawStatus": finding["outcome"],
        "filePath": finding["nodeid"].partition("::")[0],
        "tags": [finding["check"].partition(".")[0]],
        "extra": {key: finding[key] for key in kept},
    }


def _milliseconds(moment: str) -> int:
    return int(datetime.fromisoformat(moment).timestamp() * 1000)
