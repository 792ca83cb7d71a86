"""The run as a whole: gathers findings, writes the files, says the verdict, sets the exit code.

Law: hooks around the session, in the process that reports (under xdist the controller). Judges by `verdict`
only; asks hosts nothing.
"""

from __future__ import annotations

import shlex
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_dflash import __version__, checks, own_command, verdict, waivers
from pytest_dflash.findings import Finding
from pytest_dflash.levels import Allowed
from pytest_dflash.redaction import without_secrets
from pytest_dflash.report import document, terminal
from pytest_dflash.report.folder import ReportFolder
from pytest_dflash.selection import Narrowing

if TYPE_CHECKING:
    from pytest_dflash.host_run import HostRun

BY_ITSELF = frozenset({pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED})
OTHERS_CODE = frozenset({*BY_ITSELF, pytest.ExitCode.NO_TESTS_COLLECTED})
"""Exit codes of pytest's own that stand where no check has found anything."""

STOPPED_BY_XDIST = "stopping after"
"""How xdist's interruption by -x and --maxfail begins: an end that was asked for, not a Ctrl-C."""

UNREACHABLE = 11


@dataclass(eq=False)  # pytest keeps plugins in sets
class RunOutcome(Narrowing):
    """What came of a run.

    Attributes:
        runs: The hosts, by name; under xdist the controller knows their profiles only.
        allowed: How far the run may go.
        place: Where the files go.
        own: Those of pytest's own writers that go there because nobody told them another place.
        faults: What was staged in the rehearsal.
        awaited: Checks that were collected and have not been reported. Under xdist nobody tells the controller.
    """

    config: pytest.Config
    runs: dict[str, HostRun]
    allowed: Allowed
    place: ReportFolder
    own: Sequence[Path]
    faults: Sequence[str]
    started: datetime = field(default_factory=lambda: datetime.now(tz=UTC))
    findings: list[Finding] = field(default_factory=list)
    hosts: dict[str, dict[str, Any]] = field(default_factory=dict)
    other_failed: bool = False
    uncollected: bool = False
    awaited: set[str] = field(default_factory=set)
    stopped: str | None = None
    finished: bool = False
    verdict: verdict.Verdict = verdict.Verdict.UNDECIDED
    exit_code: int = 0
    unmet: list[str] = field(default_factory=list)
    document: dict[str, Any] = field(default_factory=dict)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keeps the findings of a report, or that something else failed."""
        if str(report.outcome) == "rerun":  # pytest-rerunfailures: the last try is the one that counts
            return
        documents = getattr(report, "dflash_findings", None)
        if documents is not None:
            self.findings.extend(document.from_json(each) for each in documents)
            self.awaited.discard(report.nodeid)
        elif report.failed:
            self.other_failed = True
            self.awaited.discard(report.nodeid)

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Remembers the checks that are to come."""
        self.awaited |= {item.nodeid for item in session.items if checks.of(item)}

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """A module that cannot be collected is a failure that no finding tells of."""
        self.uncollected = self.uncollected or report.failed

    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        """Remembers what stopped the run; xdist also calls it when -x or --maxfail do."""
        self.stopped = str(excinfo.value)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Takes over what an xdist worker knows of its hosts."""
        told = getattr(node, "workeroutput", {})
        self.hosts.update(told.get("dflash_hosts", {}))
        self.narrowed = self.narrowed or told.get("dflash_narrowed", False)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> Generator[None]:
        """Closes the hosts, judges, writes, and gives the session the contract's exit code."""
        for name, run in self.runs.items():
            run.close()
            if run.touched:
                self.hosts[name] = run.document()
        if exitstatus != pytest.ExitCode.USAGE_ERROR:
            self._judge(session, exitstatus)
            self.document = self._document(session, exitstatus)
            self.place.finish(self.document)
            self.finished = True
        yield

    def pytest_unconfigure(self) -> None:
        """Leaves no trace of a run that was none."""
        if not self.finished:
            self.place.discard(*self.own)

    def _judge(self, session: pytest.Session, exitstatus: int) -> None:
        self.exit_code = int(exitstatus)
        left = any(host["restored"] is False for host in self.hosts.values())
        if self._cut_short(session, exitstatus):
            self.awaited.clear()  # what an end that was asked for kept from running, nobody left out
        nothing = not self.findings and not self.awaited
        if nothing and exitstatus in OTHERS_CODE and self.stopped is None and not left:
            return  # somebody's own tests, and no check among them: pytest's own exit code stands
        self.narrowed = self.narrowed or narrowed_by_options(self.config) or bool(self.awaited)
        results = [(f.host, verdict.Result(f.check, f.outcome, f.param)) for f in self.findings]
        for name, run in self.runs.items():
            mine = [result for host, result in results if host == name]
            missing = verdict.unmet(mine, run.profile.gate.require, narrowed=self.narrowed)
            self.unmet += [f"{pattern} on {name}{verdict.unknown(mine, pattern)}" for pattern in missing]
        # `shouldfail` ends a session without any interruption: -x does, and so does a plugin's time limit.
        ended = self.stopped if self.stopped is not None else str(session.shouldfail or "") or None
        interrupted = ended is not None and not ended.startswith(STOPPED_BY_XDIST)
        circumstances = verdict.Circumstances(
            narrowed=self.narrowed,
            unreachable=any(host["unreachable"] for host in self.hosts.values()),
            not_restored=left,
            interrupted=interrupted,
            internal_error=exitstatus == pytest.ExitCode.INTERNAL_ERROR,
            other_failed=self.other_failed or self.uncollected,
        )
        self.verdict = verdict.judge([result for _, result in results], self.unmet, circumstances)
        self.exit_code = verdict.exit_code(self.verdict, circumstances)
        session.exitstatus = self.exit_code

    def _cut_short(self, session: pytest.Session, exitstatus: int) -> bool:
        """Whether the run ended before all that was collected had its turn, or was not collected whole."""
        asked = session.shouldstop or session.shouldfail or self.stopped is not None
        return bool(exitstatus not in BY_ITSELF or asked or self.uncollected)

    def _document(self, session: pytest.Session, exitstatus: int) -> dict[str, Any]:
        ended = datetime.now(tz=UTC)
        profiles = {str(run.loaded.path): run.loaded for run in self.runs.values()}
        findings = [document.to_json(finding) for finding in self.findings]
        begin, given = own_command.begin(self.config), map(str, self.config.invocation_params.args)
        judged = {
            "allow": list(self.allowed.words),
            "verdict": str(self.verdict),
            "command": self._redact(f"{begin} {shlex.join(given)}"),
        }
        return {
            "schema": document.SCHEMA,
            "run": {
                "started": f"{self.started:%Y-%m-%dT%H:%M:%SZ}",
                "ended": f"{ended:%Y-%m-%dT%H:%M:%SZ}",
                "duration_s": round((ended - self.started).total_seconds(), 2),
                **judged,
                "faults": list(self.faults),
                "exit_code": self.exit_code,
                "plugin": __version__,
                "profiles": [
                    {"path": path, "sha256": loaded.sha256, "reviewed": loaded.reviewed}
                    for path, loaded in profiles.items()
                ],
                "complete": not self._cut_short(session, exitstatus),
                "narrowed": self.narrowed,
                "next": self._redact(terminal.next_step(findings, judged) or "") or None,
                "unmet": self.unmet,
                "notes": [self._redact(note) for note in self._notes()],
            },
            "hosts": [
                document.cleaned(self.hosts[name], self.runs[name].redact)
                for name in self.runs
                if name in self.hosts
            ],
            "findings": findings,
        }

    def _notes(self) -> list[str]:
        """What a reader should know beside the findings."""
        lines = []
        if self.other_failed or self.uncollected:
            lines.append("failed: a test that is no check, or the collection of one; pytest tells which")
        if self.exit_code == pytest.ExitCode.INTERNAL_ERROR:
            lines.append(
                "internal error: pytest, a plugin or pytest-dflash broke, not the host; please report what stands above"
            )
        if self.awaited:
            lines.append(
                f"left out: checks that were collected and never run: {len(self.awaited)}, the first is "
                f"{min(self.awaited)}; look for a conftest or plugin that runs tests its own way"
            )
        today = datetime.now(tz=UTC).date()
        for name, run in self.runs.items():
            mine = [finding for finding in self.findings if finding.host == name]
            lines += self.hosts.get(name, {}).get("notes", [])
            lines += run.notes() + waivers.notes(
                run.profile.waivers, name, mine, today, narrowed=self.narrowed
            )
        return lines

    def _redact(self, text: str) -> str:
        """The text without the secrets of any host."""
        return without_secrets(text, self.runs.values())


def narrowed_by_options(config: pytest.Config) -> bool:
    """Whether the command line selects less than whole suites: -k, -m, node ids, files, --lf, --deselect."""
    option = config.option
    chosen = (option.keyword, option.markexpr, getattr(option, "lf", False), option.deselect)
    left_out = (option.ignore, option.ignore_glob)
    return any((*chosen, *left_out)) or any("::" in arg or arg.endswith(".py") for arg in config.args)
