"""findings.json, CONTRACT section 4, schema 1.

Law: the shape of the document and nothing else; a finding survives the way to JSON and back.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pytest_dflash.findings import Evidence, Finding, Json, Judgement, Outcome

SCHEMA = 1
Findings = Sequence[Mapping[str, Any]]
"""As they stand in findings.json."""


def to_json(finding: Finding, redact: Callable[[str], str] = str) -> dict[str, Any]:
    """A finding as JSON, every text in it passed through `redact`."""
    judgement = finding.judgement
    document: dict[str, Any] = {
        "check": finding.check,
        "param": finding.param,
        "nodeid": finding.nodeid,
        "host": finding.host,
        "service": finding.service,
        "invocation_id": finding.invocation_id,
        "level": finding.level,
        "outcome": str(judgement.outcome),
        "summary": judgement.summary,
        "expected": judgement.expected,
        "observed": judgement.observed,
        "between": list(judgement.between) if judgement.between else None,
        "cause": judgement.cause,
        "remedy": judgement.remedy,
        "evidence": [
            {key: getattr(e, key) for key in ("source", "reading", "value", "why", "where", "differs")}
            for e in judgement.evidence
        ],
        "measures": dict(judgement.measures),
        "series": dict(judgement.series),
        "duration_s": round(finding.duration_s, 4),
    }
    return {key: cleaned(value, redact) for key, value in document.items()}


def from_json(document: Mapping[str, Any]) -> Finding:
    """The finding that `to_json` wrote."""
    judgement = Judgement(
        outcome=Outcome(document["outcome"]),
        summary=document["summary"],
        param=document["param"],
        expected=document["expected"],
        observed=document["observed"],
        between=tuple(document["between"]) if document["between"] else None,
        cause=document["cause"],
        remedy=document["remedy"],
        evidence=tuple(Evidence(**e) for e in document["evidence"]),
        measures=document["measures"],
        series=document.get("series", {}),
    )
    return Finding(
        check=document["check"],
        param=document["param"],
        nodeid=document["nodeid"],
        host=document["host"],
        service=document["service"],
        invocation_id=document["invocation_id"],
        level=document["level"],
        judgement=judgement,
        duration_s=document["duration_s"],
    )


def cleaned(value: Any, redact: Callable[[str], str]) -> Json:
    """A value as strict JSON: secrets masked, lone surrogates replaced, what JSON cannot say as text."""
    if isinstance(value, str):
        return text(value, redact)
    if isinstance(value, Mapping):
        return {text(str(key), redact): cleaned(each, redact) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [cleaned(each, redact) for each in value]
    if isinstance(value, float) and (value != value or value in {float("inf"), float("-inf")}):  # noqa: PLR0124 - NaN
        return str(value)
    if value is None or isinstance(value, (bool, int, float)):
        return value
    return text(str(value), redact)


def text(value: str, redact: Callable[[str], str]) -> str:
    """A text that is valid UTF-8 and holds no secret."""
    return redact(value).encode("utf-8", "replace").decode("utf-8")
