"""The last block on the terminal: verdict, counts, what decided it, and the next step.

Law: findings in, lines out; no colour codes of its own, no pytest.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from pytest_dflash.findings import Finding, Outcome
from pytest_dflash.report.table import visible
from pytest_dflash.verdict import Verdict

ORDER = (
    Outcome.PASS,
    Outcome.FAIL,
    Outcome.UNPROVEN,
    Outcome.WAIVED,
    Outcome.BLOCKED,
    Outcome.NOT_RUN,
    Outcome.NOT_APPLICABLE,
)
MEANING = {
    Verdict.ACCEPT: "the host may take traffic",
    Verdict.REJECT: "the host must not take traffic",
    Verdict.UNDECIDED: "nothing is known to be wrong, but not everything could be proven",
    Verdict.PARTIAL: "good so far, judged on the selected checks only; this does not accept the host",
}


def counts(findings: Iterable[Finding]) -> str:
    """How many findings of each outcome, for example "12 pass, 1 fail"."""
    number = Counter(finding.outcome for finding in findings)
    return ", ".join(f"{number[outcome]} {outcome.replace('_', ' ')}" for outcome in ORDER if number[outcome])


def title(finding: Finding) -> str:
    """The check with its parameter and its host, on one line."""
    param = f"[{visible(finding.param)}]" if finding.param else ""
    return f"{finding.check}{param} on {finding.host}"


def reasons(findings: Sequence[Finding], unmet: Sequence[str]) -> list[str]:
    """Which findings and which gate patterns decided the verdict, one line each, failures first."""
    lines = [
        f"{finding.outcome:<9} {title(finding)}: {visible(finding.judgement.summary)}"
        for outcome in (Outcome.FAIL, Outcome.UNPROVEN)
        for finding in findings
        if finding.outcome is outcome
    ]
    lines += [f"required  {pattern}: not passed by everything it names ([gate] require)" for pattern in unmet]
    if not any(finding.outcome in {Outcome.PASS, Outcome.FAIL, Outcome.WAIVED} for finding in findings):
        lines.append("nothing    was compared: no selected check had both an expectation and a reading")
    return lines


def next_step(findings: Sequence[Finding], verdict: Verdict) -> str | None:
    """The remedy of the first finding that decided the verdict, or how to get further."""
    for outcome in (Outcome.FAIL, Outcome.UNPROVEN):
        for finding in findings:
            if finding.outcome is outcome and finding.judgement.remedy:
                return visible(finding.judgement.remedy)
    if verdict is Verdict.PARTIAL:
        return "run without -k, -m and node ids to judge the host"
    if verdict is Verdict.UNDECIDED and any(f.outcome is Outcome.NOT_RUN for f in findings):
        return "allow more with --dflash-allow (see --help), as far as the host may be touched"
    return None
