"""The run as a whole: gathers findings, writes the files, says the verdict, sets the exit code.

Law: hooks around the session, in the process that reports (under xdist the controller). Judges by `verdict`
only; asks hosts nothing.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_dflash import __version__, verdict, waivers
from pytest_dflash.findings import Finding
from pytest_dflash.levels import Allowed
from pytest_dflash.report import document, folder, html, terminal

if TYPE_CHECKING:
    from pytest_dflash.host_run import HostRun

NOTHING_RAN = frozenset({pytest.ExitCode.USAGE_ERROR, pytest.ExitCode.NO_TESTS_COLLECTED})
BY_ITSELF = frozenset({pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED})


@dataclass
class RunOutcome:
    """What came of a run.

    Attributes:
        runs: The hosts, by name; under xdist the controller knows their profiles only.
        allowed: How far the run may go.
        directory: Where the files go.
        faults: What was staged in the rehearsal.
    """

    config: pytest.Config
    runs: dict[str, HostRun]
    allowed: Allowed
    directory: Path
    faults: Sequence[str]
    started: datetime = field(default_factory=lambda: datetime.now(tz=UTC))
    findings: list[Finding] = field(default_factory=list)
    hosts: dict[str, dict[str, Any]] = field(default_factory=dict)
    other_failed: bool = False
    narrowed: bool = False
    verdict: verdict.Verdict = verdict.Verdict.UNDECIDED
    exit_code: int = 0
    unmet: list[str] = field(default_factory=list)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keeps the findings of a report, or that something else failed."""
        documents = getattr(report, "dflash_findings", None)
        if documents is not None:
            self.findings.extend(document.from_json(each) for each in documents)
        elif report.failed:
            self.other_failed = True

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """A module that cannot be collected is a failure that no finding tells of."""
        self.other_failed = self.other_failed or report.failed

    def pytest_deselected(self, items: Sequence[pytest.Item]) -> None:
        """Whatever deselected them: the run no longer judges the whole host."""
        self.narrowed = self.narrowed or bool(items)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Takes over what an xdist worker knows of its hosts."""
        self.hosts.update(getattr(node, "workeroutput", {}).get("dflash_hosts", {}))

    @pytest.hookimpl(wrapper=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> Generator[None]:
        """Closes the hosts, judges, writes, and gives the session the contract's exit code."""
        for name, run in self.runs.items():
            run.close()
            if run.touched:
                self.hosts[name] = run.document()
        if exitstatus not in NOTHING_RAN:
            self._judge(session, exitstatus)
            folder.write_json(self.directory / "findings.json", self._document(session, exitstatus))
        yield

    def _judge(self, session: pytest.Session, exitstatus: int) -> None:
        self.narrowed = self.narrowed or narrowed_by_options(self.config)
        results = [(f.host, verdict.Result(f.check, f.outcome)) for f in self.findings]
        for name, run in self.runs.items():
            mine = [result for host, result in results if host == name]
            self.unmet += verdict.unmet(mine, run.profile.gate.require, narrowed=self.narrowed)
        circumstances = verdict.Circumstances(
            narrowed=self.narrowed,
            unreachable=any(host["unreachable"] for host in self.hosts.values()),
            not_restored=any(host["restored"] is False for host in self.hosts.values()),
            interrupted=exitstatus == pytest.ExitCode.INTERRUPTED,
            internal_error=exitstatus == pytest.ExitCode.INTERNAL_ERROR,
            other_failed=self.other_failed,
        )
        if not self.findings and not self.other_failed and exitstatus in BY_ITSELF:
            return  # somebody's own tests, and no check among them: pytest's own exit code stands
        self.verdict = verdict.judge([result for _, result in results], self.unmet, circumstances)
        self.exit_code = verdict.exit_code(self.verdict, circumstances)
        session.exitstatus = self.exit_code

    def _document(self, session: pytest.Session, exitstatus: int) -> dict[str, Any]:
        ended = datetime.now(tz=UTC)
        profiles = {str(run.loaded.path): run.loaded for run in self.runs.values()}
        return {
            "schema": document.SCHEMA,
            "run": {
                "started": f"{self.started:%Y-%m-%dT%H:%M:%SZ}",
                "ended": f"{ended:%Y-%m-%dT%H:%M:%SZ}",
                "duration_s": round((ended - self.started).total_seconds(), 2),
                "allow": list(self.allowed.words),
                "faults": list(self.faults),
                "verdict": str(self.verdict),
                "exit_code": self.exit_code,
                "plugin": __version__,
                "profiles": [
                    {"path": path, "sha256": loaded.sha256, "reviewed": loaded.reviewed}
                    for path, loaded in profiles.items()
                ],
                "complete": exitstatus in BY_ITSELF and not session.shouldstop and not session.shouldfail,
            },
            "hosts": [self.hosts[name] for name in self.runs if name in self.hosts],
            "findings": [document.to_json(finding) for finding in self.findings],
        }

    @pytest.hookimpl(optionalhook=True)
    def pytest_html_report_title(self, report: Any) -> None:
        """Names the hosts in the title of report.html."""
        report.title = f"pytest-dflash: {', '.join(self.runs)}"

    @pytest.hookimpl(optionalhook=True)
    def pytest_html_results_summary(self, prefix: list[str]) -> None:
        """Puts verdict, identity and failures above pytest-html's table."""
        prefix.extend(html.summary(self.verdict, self.findings, list(self.hosts.values())))

    @pytest.hookimpl(trylast=True)
    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """The last block: verdict, counts, what decided it, files, next step."""
        if not self.findings:
            return
        good = self.verdict in {verdict.Verdict.ACCEPT, verdict.Verdict.PARTIAL} and self.exit_code == 0
        colour = {"green": True} if good else {"red": True}
        terminalreporter.section(f"dflash: {self.verdict}", sep="=", bold=True, **colour)
        for line in self._summary():
            terminalreporter.line(line)

    def _summary(self) -> list[str]:
        lines = [
            f"{terminal.MEANING[self.verdict]} (exit code {self.exit_code})",
            terminal.counts(self.findings),
        ]
        lines += [f"  {reason}" for reason in terminal.reasons(self.findings, self.unmet)]
        today = datetime.now(tz=UTC).date()
        for name, run in self.runs.items():
            mine = [finding for finding in self.findings if finding.host == name]
            lines += run.notes() + waivers.notes(run.profile.waivers, name, mine, today)
        lines.append(f"report: {self.directory / 'report.html'}")
        step = terminal.next_step(self.findings, self.verdict)
        return [*lines, f"next: {step}"] if step else lines


def narrowed_by_options(config: pytest.Config) -> bool:
    """Whether the command line selects less than whole suites: -k, -m, node ids, files, --lf, --deselect."""
    option = config.option
    chosen = (option.keyword, option.markexpr, getattr(option, "lf", False), option.deselect, option.ignore)
    return any(chosen) or any("::" in arg or arg.endswith(".py") for arg in config.args)
