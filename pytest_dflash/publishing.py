"""Where a run is told: report.html, the terminal's last block, and files for machines.

Law: hooks of pytest and pytest-html; everything comes from the finished `RunOutcome`. Judges nothing.
"""

from __future__ import annotations

from typing import Any

import pytest

from pytest_dflash.outcome import UNREACHABLE, RunOutcome
from pytest_dflash.report import terminal
from pytest_dflash.report.page import render
from pytest_dflash.verdict import Verdict

SEEN_ABOVE = '<div class="log">told above, under “All checks”</div>'
"""A finding stands once on the page; what pytest captured stays in pytest's own table."""


class Publishing:
    """Tells what came of a run.

    Args:
        outcome: The run; its document is there once the session has finished.
    """

    def __init__(self, outcome: RunOutcome) -> None:
        self.outcome = outcome

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

    @pytest.hookimpl(trylast=True)
    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """The last block: verdict, counts, what decided it, files, next step."""
        outcome = self.outcome
        if not outcome.findings or not outcome.finished:
            return
        good = outcome.verdict in {Verdict.ACCEPT, Verdict.PARTIAL} and outcome.exit_code == 0
        colour = {"green": True} if good else {"red": True}
        unreachable = " (unreachable)" if outcome.exit_code == UNREACHABLE else ""
        terminalreporter.section(f"dflash: {outcome.verdict}{unreachable}", sep="=", bold=True, **colour)
        for line in terminal.block(outcome.findings, outcome.document["run"], str(outcome.place.path)):
            terminalreporter.line(line)
