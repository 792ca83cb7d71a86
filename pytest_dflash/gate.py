"""From a check's judgement to pytest's report.

Law: hooks around single items: which hosts and parameters a test gets, in which order, whether its level is
allowed, and what its report says. Reads judgements and exceptions; knows no engine, opens no connection.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from pytest_dflash import checks, waivers
from pytest_dflash.errors import DflashError, EndpointError, HostError, NotServing
from pytest_dflash.findings import AREAS, Finding, Judgement, Outcome, failed, unproven
from pytest_dflash.levels import MEANING, RANK, Allowed
from pytest_dflash.report import document, table

if TYPE_CHECKING:
    from pytest_dflash.host_run import HostRun

JUDGEMENTS = pytest.StashKey[list[Judgement]]()
HOST_PARAM = "_dflash_host"
SUBJECTS = {
    "flag": lambda profile: list(profile.flags),
    "variable": lambda profile: list(profile.environment),
    "package": lambda profile: list(profile.stack.packages),
}
"""A check's `per` to the keys of the profile that it is run for."""

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


class Crash:
    """What pytest's short summary reads of a failure: one line."""

    def __init__(self, message: str) -> None:
        self.message = message


class Account:
    """A failure as a sentence and a table, in place of a traceback."""

    def __init__(self, text: str, line: str) -> None:
        self.text = text
        self.reprcrash = Crash(line)

    def __str__(self) -> str:
        return self.text

    def toterminal(self, writer: Any) -> None:
        """Prints the account; pytest's own protocol for a failure's representation."""
        writer.line(self.text)


class Gate:
    """The hooks of a run that has hosts.

    Args:
        runs: What is known of each host, by its name, in the order of the command line.
        allowed: How far the run may go.
    """

    def __init__(self, runs: dict[str, HostRun], allowed: Allowed) -> None:
        self.runs = runs
        self.allowed = allowed

    @pytest.hookimpl(tryfirst=True)
    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Runs each test that reaches a host once per host, and once per key of that host's profile."""
        if HOST_PARAM not in metafunc.fixturenames:
            return
        declared = checks.of(metafunc.definition)
        per = declared.per if declared else None
        if per is None:
            metafunc.parametrize(
                HOST_PARAM, list(self.runs), indirect=True, ids=list(self.runs), scope="session"
            )
            return
        pairs = [
            (name, subject)
            for name, run in self.runs.items()
            for subject in (SUBJECTS[per](run.profile) or [None])
        ]
        ids = [name if subject is None else f"{name}-{subject}" for name, subject in pairs]
        metafunc.parametrize((HOST_PARAM, per), pairs, indirect=[HOST_PARAM], ids=ids, scope="session")

    def pytest_itemcollected(self, item: pytest.Item) -> None:
        """Gives each check the marker of its area, so that -m and -k know it."""
        declared = checks.of(item)
        if declared is not None:
            item.add_marker(declared.area)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> Generator[None]:
        """Orders by host and then by intrusiveness, whatever file names or other plugins say."""
        yield
        hosts = list(self.runs)
        areas = list(AREAS)

        def position(item: pytest.Item) -> tuple[int, int, int]:
            declared = checks.of(item)
            host = hosts.index(name) if (name := host_of(item)) in hosts else len(hosts)
            if declared is None:
                return host, len(RANK), 0
            return host, RANK[declared.level], areas.index(declared.area)

        items.sort(key=position)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Holds back what the allowed level does not reach, before any fixture acts."""
        declared = checks.of(item)
        if declared is not None and not self.allowed.permits(declared.level):
            why = f"needs --dflash-allow={declared.level} ({MEANING[declared.level]}); allowed: {', '.join(self.allowed.words)}"
            item.stash[JUDGEMENTS] = [Judgement(outcome=Outcome.NOT_RUN, summary=why)]
            pytest.skip(why)

    @pytest.hookimpl(tryfirst=True)
    def pytest_pyfunc_call(self, pyfuncitem: pytest.Function) -> bool | None:
        """Calls a check and keeps the judgement that it returns."""
        if checks.of(pyfuncitem) is None:
            return None
        arguments = {name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}  # noqa: SLF001 - as pytest's own caller does
        returned = pyfuncitem.obj(**arguments)
        judgements = [returned] if isinstance(returned, Judgement) else list(returned or ())
        if not judgements:
            judgements = [unproven("the check returned no judgement, so it compared nothing")]
        pyfuncitem.stash[JUDGEMENTS] = judgements
        return True

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Turns judgements and exceptions into findings, and the findings into the report's outcome."""
        report = yield
        declared = checks.of(item)
        name = host_of(item)
        if declared is None or name is None or call.when == "teardown":
            return report
        if call.when == "setup" and call.excinfo is None:
            return report
        run = self.runs[name]
        today = datetime.now(tz=UTC).date()
        findings = []
        for judgement in self._judgements(item, call, run):
            subject = waivers.Subject(
                declared.name, run.name, judgement.param or parameter_of(item, declared)
            )
            final = run.waive(judgement, subject, today)
            findings.append(run.finding(declared, item.nodeid, subject.param, final, call.duration))
        shape(report, findings, run.redact)
        return report

    def _judgements(
        self, item: pytest.Item, call: pytest.CallInfo[None], run: HostRun
    ) -> Sequence[Judgement]:
        """What the item has to say: its own judgements, or what its exception means."""
        kept = item.stash.get(JUDGEMENTS, None)
        if kept is not None:
            return kept
        error = call.excinfo.value if call.excinfo else None
        if isinstance(error, HostError):
            return [run.carry("host", item.nodeid, error)]
        if isinstance(error, NotServing):
            return [run.carry("endpoint", item.nodeid, error)]
        if isinstance(error, EndpointError):
            return [failed(str(error), remedy=error.remedy or None)]
        if isinstance(error, pytest.skip.Exception):
            return [Judgement(outcome=Outcome.NOT_APPLICABLE, summary=str(error))]
        if isinstance(error, AssertionError):
            return [failed(str(error).splitlines()[0] if str(error) else "the assertion does not hold")]
        if isinstance(error, DflashError):
            return [unproven(str(error))]
        return [unproven(f"the check itself broke: {type(error).__name__}: {error}")]

    def pytest_report_teststatus(self, report: pytest.TestReport) -> tuple[str, str, Any] | None:
        """Gives `unproven` its own letter and word; it counts as failed."""
        if getattr(report, "dflash_outcome", None) == Outcome.UNPROVEN and report.failed:
            return "failed", "U", ("UNPROVEN", {"red": True})
        return None


def host_of(item: pytest.Item) -> str | None:
    """The name of the host that an item runs against."""
    callspec = getattr(item, "callspec", None)
    return callspec.params.get(HOST_PARAM) if callspec is not None else None


def parameter_of(item: pytest.Item, declared: checks.Check) -> str | None:
    """The key of the profile that an item runs for."""
    callspec = getattr(item, "callspec", None)
    return callspec.params.get(declared.per) if callspec is not None and declared.per else None


def worst(outcomes: Iterable[Outcome]) -> Outcome:
    """The outcome that a test with several judgements has."""
    seen = set(outcomes)
    return next(outcome for outcome in WORST_FIRST if outcome in seen)


def shape(report: pytest.TestReport, findings: Sequence[Finding], redact: Any) -> None:
    """Makes the report say what the findings say, whatever pytest thought of it."""
    outcome = worst(finding.outcome for finding in findings)
    telling = [finding for finding in findings if finding.outcome is outcome]
    summary = telling[0].judgement.summary
    if len(telling) > 1:
        summary += f" (and {len(telling) - 1} more)"
    report.when = (
        "call"  # whatever fixture told it: a judgement is a failure of the check, not an error of pytest
    )
    report.outcome = PYTEST_WORD[outcome]  # type: ignore[assignment]  # the three words are pytest's own
    report.dflash_outcome = str(outcome)  # type: ignore[attr-defined]  # reports carry what plugins give them
    report.dflash_findings = [document.to_json(finding, redact) for finding in findings]  # type: ignore[attr-defined]  # as above
    report.user_properties.extend((("check", findings[0].check), ("outcome", str(outcome))))
    report.sections = [(title, redact(text)) for title, text in report.sections]
    if report.outcome == "passed":
        report.longrepr = None
    elif report.outcome == "failed":
        broke = report.longrepr if summary.startswith("the check itself broke") else None
        text = "\n\n".join("\n".join(table.told(finding.judgement)) for finding in telling)
        tail = f"\n\n{broke}" if broke is not None else ""
        report.longrepr = Account(redact(text + tail), redact(summary))  # type: ignore[assignment]  # pytest's protocol, see Account
    else:
        if outcome is Outcome.WAIVED:
            report.wasxfail = redact(summary)
        word = "" if outcome is Outcome.WAIVED else f"{outcome}: "
        report.longrepr = (str(report.location[0]), (report.location[1] or 0) + 1, redact(word + summary))
