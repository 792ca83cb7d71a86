"""Counts what the matrix ran, and writes the page from it: last thing said, also under xdist."""

from __future__ import annotations

from typing import Any

import pytest

from tests.faults import matrix, page


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """The counts; in the full matrix also docs/faults.md."""
    reports = [each for key in ("passed", "failed") for each in terminalreporter.stats.get(key, [])]
    told = [(name, value) for each in reports for name, value in each.user_properties if each.when == "call"]
    took = {value[0]: f"{value[1]:.0f}" for name, value in told if name == "fault"}
    odd = [value for name, value in told if name == "oddities"]
    if not took and not odd:
        return
    hosts, alarms = sum(len(names) for names, _ in odd), sum(len(accused) for _, accused in odd)
    terminalreporter.section("matrix")
    terminalreporter.write_line(
        f"{len(took)} faults, {len(matrix.checks())} checks, {hosts} healthy hosts in {len(odd)} runs, "
        f"{alarms} false alarms"
    )
    if matrix.FULL:
        known = page.seconds(page.PAGE.read_text("utf-8")) if page.PAGE.exists() else {}
        page.PAGE.write_text(page.render(known | took), "utf-8")
