"""Where a run is told: report.html, the terminal's last block, and files for machines.

Law: hooks of pytest and pytest-html; everything comes from the finished `RunOutcome`. Judges nothing.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest

from pytest_dflash.outcome import UNREACHABLE, RunOutcome
from pytest_dflash.report import ctrf, folder, github, openmetrics, terminal
from pytest_dflash.report.page import render
from pytest_dflash.verdict import Verdict

SEEN_ABOVE = '<span class="told-above">told above, under “All checks”</span>'
"""A finding stands once on the page, and its style hides this; what pytest captured stays in pytest's own table."""


CTRF = "ctrf.json"


class Publishing:
    """Tells what came of a run.

    Args:
        outcome: The run; its document is there once the session has finished.
        metrics: Where OpenMetrics text goes, if anywhere.
    """

    def __init__(self, outcome: RunOutcome, metrics: Path | None = None) -> None:
        self.outcome = outcome
        self.metrics = metrics
        self.complaints: list[str] = []

    @pytest.hookimpl(optionalhook=True)
    def pytest_html_report_title(self, report: Any) -> None:
        """Names the hosts in the title of report.html."""
        report.title = f"pytest-dflash: {', '.join(self.outcome.runs)}"

    @pytest.hookimpl(optionalhook=True)
    def pytest_html_results_summary(self, prefix: list[str]) -> None:
        """Puts our own page above pytest-html's table."""
        if self.outcome.finished:
            prefix.append(render.page(self.outcome.document))

    @pytest.hookimpl(optionalhook=True)
    def pytest_html_results_table_html(self, report: pytest.TestReport, data: list[str]) -> None:
        """Keeps what was captured, and points up for what the check found."""
        if getattr(report, "dflash_findings", None) is not None:
            data[:] = [render.captured(report.sections) or SEEN_ABOVE]

    @pytest.hookimpl(optionalhook=True)
    def pytest_html_results_table_row(self, cells: list[str]) -> None:
        """Escapes the node id, which pytest-html writes as it is."""
        cells[:] = [render.escaped(cell) for cell in cells]

    def pytest_sessionfinish(self) -> None:
        """Writes what machines read; `RunOutcome` has judged by then."""
        outcome = self.outcome
        if not outcome.finished:
            return
        folder.write_json(outcome.place.path / CTRF, ctrf.report(outcome.document))
        if self.metrics is not None:
            self._write(
                self.metrics, lambda path: folder.write_text(path, openmetrics.text(outcome.document))
            )
        step = os.environ.get("GITHUB_STEP_SUMMARY")
        if step:
            self._write(Path(step), lambda path: folder.append(path, github.summary(outcome.document)))

    def _write(self, path: Path, write: Callable[[Path], None]) -> None:
        """Writes a file that is not what the run is for: a full disk there changes no verdict."""
        try:
            write(path)
        except OSError as error:
            self.complaints.append(f"{path} cannot be written: {error.strerror or error}")

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> Generator[None]:
        """The last block, below all that pytest says itself: verdict, counts, what decided it, files, next step."""
        yield
        self._last_block(terminalreporter)

    def _last_block(self, terminalreporter: pytest.TerminalReporter) -> None:
        outcome = self.outcome
        # A run that was ended before its first finding may have changed a host all the same.
        changed = any(host["changed"] for host in outcome.hosts.values())
        if not outcome.finished or not (outcome.findings or changed):
            return
        good = outcome.verdict in {Verdict.ACCEPT, Verdict.PARTIAL} and outcome.exit_code == 0
        colour = {"green": True} if good else {"red": True}
        unreachable = " (unreachable)" if outcome.exit_code == UNREACHABLE else ""
        terminalreporter.section(f"dflash: {outcome.verdict}{unreachable}", sep="=", bold=True, **colour)
        for line in terminal.block(outcome.document, str(outcome.place.path)):
            terminalreporter.line(line)
        for line in self.complaints:
            terminalreporter.line(line, yellow=True)
        if os.environ.get("GITHUB_ACTIONS") == "true":
            for line in github.commands(outcome.document):
                terminalreporter.line(line)
