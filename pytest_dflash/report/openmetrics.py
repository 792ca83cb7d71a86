"""OpenMetrics text for a textfile collector or a gateway (`--dflash-metrics FILE`).

Law: findings.json in, text out. Names and labels are few and fixed; every number that a check measured is one
family with the measure as a label, so that new measures need no new names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from math import isfinite
from typing import Any

from pytest_dflash.report.table import visible
from pytest_dflash.verdict import Verdict

FAMILIES = (
    ("dflash_run", "info", "What judged."),
    ("dflash_run_verdict", "gauge", "1 for the verdict of the latest run, 0 for the others."),
    ("dflash_run_exit_code", "gauge", "Exit code of the latest run."),
    ("dflash_run_end_timestamp_seconds", "gauge", "When the latest run ended."),
    ("dflash_run_duration_seconds", "gauge", "How long it took."),
    ("dflash_finding", "gauge", "1 for the outcome of each check of the latest run."),
    ("dflash_measure", "gauge", "What checks measured; the unit is in the measure's name."),
)
"""Family, type and help, in the order of the text."""


def text(document: Mapping[str, Any]) -> str:
    """The whole exposition, with its end mark."""
    samples = _samples(document)
    parts = []
    for family, kind, told in FAMILIES:
        parts += [f"# TYPE {family} {kind}", f"# HELP {family} {told}", *samples[family]]
    return "\n".join([*parts, "# EOF", ""])


def _samples(document: Mapping[str, Any]) -> dict[str, list[str]]:
    run, findings = document["run"], document["findings"]
    ended = datetime.fromisoformat(run["ended"]).timestamp()
    return {
        "dflash_run": [_line("dflash_run_info", 1, plugin=run["plugin"])],
        "dflash_run_verdict": [
            _line("dflash_run_verdict", int(run["verdict"] == verdict), verdict=verdict)
            for verdict in Verdict
        ],
        "dflash_run_exit_code": [_line("dflash_run_exit_code", run["exit_code"])],
        "dflash_run_end_timestamp_seconds": [_line("dflash_run_end_timestamp_seconds", ended)],
        "dflash_run_duration_seconds": [_line("dflash_run_duration_seconds", run["duration_s"])],
        "dflash_finding": list(
            _unique(_line("dflash_finding", 1, **_labels(f), outcome=f["outcome"]) for f in findings)
        ),
        "dflash_measure": list(
            _unique(
                _line("dflash_measure", value, **_labels(f), measure=name)
                for f in findings
                for name, value in f["measures"].items()
                if isinstance(value, (int, float)) and isfinite(value)
            )
        ),
    }


def _labels(finding: Mapping[str, Any]) -> dict[str, str]:
    return {"host": finding["host"], "check": finding["check"], "param": finding["param"] or ""}


def _unique(lines: Iterator[str]) -> Iterator[str]:
    """The first sample of each set of labels: two would make the whole text invalid."""
    seen: set[str] = set()
    for line in lines:
        labels = line.rpartition(" ")[0]
        if labels not in seen:
            seen.add(labels)
            yield line


def _line(name: str, value: float, **labels: str) -> str:
    told = ",".join(f'{key}="{_escaped(text)}"' for key, text in labels.items())
    return f"{name}{{{told}}} {value}" if told else f"{name} {value}"


def _escaped(value: str) -> str:
    return visible(value).replace("\\", r"\\").replace('"', r"\"")
