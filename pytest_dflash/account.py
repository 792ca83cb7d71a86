"""What pytest's report of a check says: outcome, one line, and a sentence with a table in place of a traceback.

Law: findings in, a shaped report out; the only module that knows which of pytest's three words an outcome is.
Every text of a report passes through here, so that no secret leaves by a captured line or a traceback.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pytest

from pytest_dflash.findings import Finding, Outcome
from pytest_dflash.report import document, table

PYTEST_WORD = {
    Outcome.PASS: "passed",
    Outcome.FAIL: "failed",
    Outcome.UNPROVEN: "failed",
    Outcome.NOT_APPLICABLE: "skipped",
    Outcome.NOT_RUN: "skipped",
    Outcome.BLOCKED: "skipped",
    Outcome.WAIVED: "skipped",
}
WORST_FIRST = (
    Outcome.FAIL,
    Outcome.UNPROVEN,
    Outcome.BLOCKED,
    Outcome.WAIVED,
    Outcome.PASS,
    Outcome.NOT_RUN,
    Outcome.NOT_APPLICABLE,
)
"""Several judgements of one test: the first of these that occurs is the test's own."""

Redact = Callable[[str], str]


class Crash:
    """What pytest's short summary reads of a failure: one line."""

    def __init__(self, message: str) -> None:
        self.message = message


class Account:
    """A failure as text, in place of pytest's own representation of an exception."""

    def __init__(self, text: str, line: str) -> None:
        self.text = text
        self.reprcrash = Crash(line)

    def __str__(self) -> str:
        return self.text

    def toterminal(self, writer: Any) -> None:
        """Prints the account; pytest's own protocol for a failure's representation."""
        writer.line(self.text)


def worst(outcomes: Iterable[Outcome]) -> Outcome:
    """The outcome that a test with several judgements has."""
    seen = set(outcomes)
    return next(outcome for outcome in WORST_FIRST if outcome in seen)


def shape(report: pytest.TestReport, findings: Sequence[Finding], traceback: object, redact: Redact) -> None:
    """Makes the report say what the findings say, whatever pytest thought of it.

    Args:
        report: Pytest's report of the check's call, or of the set-up that it did not survive.
        findings: At least one.
        traceback: Pytest's account of an exception that nobody expected, or None.
        redact: Masks secrets.
    """
    outcome = worst(finding.outcome for finding in findings)
    telling = [finding for finding in findings if finding.outcome is outcome]
    line = redact(table.visible(telling[0].judgement.summary))
    if len(telling) > 1:
        line += f" (and {len(telling) - 1} more)"
    report.when = "call"  # whatever fixture told it: a failure of the check, not an error of pytest
    report.outcome = PYTEST_WORD[outcome]  # type: ignore[assignment]  # the three words are pytest's own
    report.dflash_outcome = str(outcome)  # type: ignore[attr-defined]  # reports carry what plugins give them
    report.dflash_line = line  # type: ignore[attr-defined]  # as above
    report.dflash_findings = [document.to_json(finding, redact) for finding in findings]  # type: ignore[attr-defined]  # as above
    if hasattr(report, "wasxfail"):
        del report.wasxfail  # a mark of pytest's: what a check found is told by its outcome alone
    if report.outcome == "passed":
        report.longrepr = None
    elif report.outcome == "failed":
        text = "\n\n".join("\n".join(table.told(finding.judgement)) for finding in telling)
        tail = f"\n\n{seen(str(traceback))}" if traceback is not None else ""
        report.longrepr = Account(redact(text + tail), line)  # type: ignore[assignment]  # pytest's protocol, see Account
    else:
        if outcome is Outcome.WAIVED:
            report.wasxfail = line
        word = "" if outcome is Outcome.WAIVED else f"{outcome}: "
        report.longrepr = (str(report.location[0]), (report.location[1] or 0) + 1, word + line)


def properties(findings: Sequence[Finding], redact: Redact) -> list[tuple[str, object]]:
    """What junit.xml keeps beside the words: identity, expected, observed and measures of each finding as JSON."""
    first, outcome = findings[0], worst(finding.outcome for finding in findings)
    told = [
        ("check", first.check),
        ("outcome", str(outcome)),
        ("host", first.host),
        ("service", first.service),
        ("level", first.level),
    ]
    for finding in findings:
        judgement = finding.judgement
        of = f"[{finding.param}]" if len(findings) > 1 and finding.param is not None else ""
        if finding.param is not None and not of:
            told.append(("param", finding.param))
        if of:
            told.append((f"outcome{of}", str(finding.outcome)))
        for name, value in (("expected", judgement.expected), ("observed", judgement.observed)):
            if value is not None:
                told.append((name + of, json.dumps(document.cleaned(value, redact), ensure_ascii=False)))
        told += [(f"measure.{name}{of}", f"{value:g}") for name, value in judgement.measures.items()]
    return [(redact(name), table.visible(redact(value))) for name, value in told]


def seen(text: str) -> str:
    """Several lines, with nothing in them that a terminal obeys: an exception may quote host or model."""
    return "\n".join(table.visible(line) for line in text.expandtabs().split("\n"))


def restore(report: pytest.TestReport) -> None:
    """Gives a report that came from an xdist worker its one line back, which the way there does not carry."""
    if isinstance(report.longrepr, str) and hasattr(report, "dflash_line"):
        report.longrepr = Account(report.longrepr, report.dflash_line)  # type: ignore[assignment]  # as above


def veil(report: pytest.TestReport | pytest.CollectReport, redact: Redact) -> None:
    """Masks secrets in what was captured and in what pytest says of an exception, of any test."""
    report.sections = [(title, redact(text)) for title, text in report.sections]
    if isinstance(report.longrepr, tuple):
        path, line, message = report.longrepr
        report.longrepr = (path, line, redact(message))
    elif report.longrepr is not None:
        text = str(report.longrepr)
        masked = redact(text)
        if masked != text:
            crash = getattr(report.longrepr, "reprcrash", None)
            line_of_it = redact(str(getattr(crash, "message", "")))
            report.longrepr = Account(masked, line_of_it)  # type: ignore[assignment]  # as above
