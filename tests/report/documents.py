"""Findings and whole documents as they stand in findings.json, for those who write something of them."""

from __future__ import annotations

from typing import Any

HOSTILE = "<script>alert(1)</script>\x1b[2J\u202e"


def finding(check: str, outcome: str = "pass", **rest: Any) -> dict[str, Any]:
    """A finding of findings.json."""
    return {
        "check": check,
        "param": None,
        "nodeid": f"suites/test_x.py::test_{check}",
        "host": "gpu1",
        "service": "engine.service",
        "invocation_id": "3f2c",
        "level": "read",
        "outcome": outcome,
        "summary": f"{check} says so",
        "expected": None,
        "observed": None,
        "between": None,
        "cause": None,
        "remedy": None,
        "evidence": [],
        "measures": {},
        "duration_s": 0.01,
    } | rest


def evidence(source: str, value: Any = 2048, *, reading: str = "value", **rest: Any) -> dict[str, Any]:
    """What a source said."""
    known = {
        "source": source,
        "reading": reading,
        "value": value,
        "why": None,
        "where": None,
        "differs": False,
    }
    return known | rest


def document(
    *findings: dict[str, Any], hosts: list[dict[str, Any]] | None = None, **run: Any
) -> dict[str, Any]:
    """A findings.json."""
    return {
        "schema": 1,
        "run": {
            "started": "2026-11-29T18:00:00Z",
            "ended": "2026-11-29T18:01:00Z",
            "duration_s": 60.0,
            "allow": ["load"],
            "faults": [],
            "verdict": "reject",
            "exit_code": 1,
            "plugin": "0.1.0",
            "profiles": [{"path": "dflash.toml", "sha256": "ab" * 32, "reviewed": True}],
            "complete": True,
            "command": "pytest --host=gpu1 suites/",
            "next": "mend it",
            "unmet": [],
            "notes": [],
        }
        | run,
        "hosts": hosts or [{"name": "gpu1", "unit": "engine.service", "engine": "sglang"}],
        "findings": list(findings),
    }
