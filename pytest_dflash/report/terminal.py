"""The last block on the terminal: verdict, counts, what decided it, and the next step.

Law: findings in, lines out; no colour codes of its own, no pytest.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

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
NAMED = 3
"""So many checks are named that say the same; of eight GPUs a number is enough."""
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


def block(findings: Sequence[Finding], run: Mapping[str, Any], place: str) -> list[str]:
    """The last block; `run` is that of findings.json, `place` the folder of the reports."""
    lines = [f"{MEANING[Verdict(run['verdict'])]} (exit code {run['exit_code']})", counts(findings)]
    lines += [f"  {reason}" for reason in reasons(findings, run["unmet"])]
    lines += [visible(note) for note in run["notes"]]
    lines.append(f"report: {place}")
    return [*lines, f"next: {run['next']}"] if run["next"] else lines


def title(finding: Finding) -> str:
    """The check with its parameter and its host, on one line."""
    return f"{short(finding)} on {finding.host}"


def short(finding: Finding) -> str:
    """The check with its parameter."""
    param = f"[{visible(finding.param)}]" if finding.param else ""
    return f"{finding.check}{param}"


def reasons(findings: Sequence[Finding], unmet: Sequence[str]) -> list[str]:
    """Which findings and which gate patterns decided the verdict, failures first, waived ones last.

    Failures with the same remedy are one line, by the most telling: there is one thing to mend. Several unproven
    findings of one check are one line: they have one cause.
    """
    alike: dict[tuple[str, str], list[Finding]] = {}
    for number, finding in enumerate(findings):
        if finding.outcome is Outcome.FAIL:
            alike.setdefault((finding.host, finding.judgement.remedy or str(number)), []).append(finding)
    lines = [_together(sorted(group, key=telling)) for group in alike.values()]
    unproven: dict[tuple[str, str], list[Finding]] = {}
    for finding in findings:
        if finding.outcome is Outcome.UNPROVEN:
            unproven.setdefault((finding.host, finding.check), []).append(finding)
    lines += [
        line(first) + (f" (and {len(rest)} more of this check)" if rest else "")
        for first, *rest in unproven.values()
    ]
    lines += [
        f"required  {pattern}: [gate] requires it, and not everything of it ran and passed"
        for pattern in unmet
    ]
    lines += [line(finding) for finding in findings if finding.outcome is Outcome.WAIVED]
    if not any(finding.outcome in {Outcome.PASS, Outcome.FAIL, Outcome.WAIVED} for finding in findings):
        lines.append("nothing    was compared: no selected check had both an expectation and a reading")
    return lines


def line(finding: Finding) -> str:
    """A finding on one line."""
    return f"{finding.outcome:<9} {title(finding)}: {visible(finding.judgement.summary)}"


def _together(group: Sequence[Finding]) -> str:
    """The first on its line, and what else says the same: by name, or by number where they are many."""
    first, *rest = group
    names = list(dict.fromkeys(short(each) for each in rest))
    if not names:
        return line(first)
    told = ", ".join(names) if len(names) <= NAMED else f"{len(names)} more"
    return f"{line(first)} (seen as well by {told})"


TELLS_MORE = ("endpoint.serves", "systemd.active", "window.", "flags.in_force", "flags.environment")
"""Checks whose advice knows what is expected: "reload" alone may put a wrong value into force."""


def telling(finding: Finding) -> int:
    """How early a finding is told of those that say the same."""
    return next((n for n, tells in enumerate(TELLS_MORE) if finding.check.startswith(tells)), len(TELLS_MORE))


def next_step(findings: Sequence[Finding], verdict: Verdict) -> str | None:
    """The remedy of the first finding that decided the verdict, or how to get further."""
    for outcome in (Outcome.FAIL, Outcome.UNPROVEN):
        advising = [each for each in findings if each.outcome is outcome and each.judgement.remedy]
        knowing = [each for tells in TELLS_MORE for each in advising if each.check.startswith(tells)]
        if advising:
            return visible((knowing or advising)[0].judgement.remedy or "")
    if verdict is Verdict.PARTIAL:
        return "run without -k, -m and node ids to judge the host"
    outcomes = {finding.outcome for finding in findings}
    if verdict is Verdict.UNDECIDED and Outcome.UNPROVEN in outcomes:
        return "run again; what is unproven says above what kept it from being heard or measured"
    if verdict is Verdict.UNDECIDED and Outcome.NOT_RUN in outcomes:
        return "allow more with --dflash-allow (see --help), as far as the host may be touched"
    return None
