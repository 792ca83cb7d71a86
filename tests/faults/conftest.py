"""Counts what the matrix ran, and writes the page from it: last thing said, also under xdist."""

from __future__ import annotations

from typing import Any

import pytest

from tests.faults import matrix, page

UNLOADED_S = 900
"""Seconds in which all faults and odd hosts that need no load are to be run."""


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
    workers = max(int(getattr(config.option, "numprocesses", None) or 1), 1)
    runs = [each.duration for each in reports if each.when == "call" and _without_load(each)]
    terminalreporter.write_line(
        f"passive and endpoint areas: {len(runs)} runs of {sum(runs):.0f} s in all, by {workers} at a time in "
        f"{sum(runs) / workers:.0f} s of {UNLOADED_S} s"
    )
    terminalreporter.write_line(
        f"{len(took)} faults, {len(matrix.checks())} checks, {hosts} healthy hosts in {len(odd)} runs, "
        f"{alarms} false alarms"
    )
    if matrix.FULL:
        known = page.seconds(page.PAGE.read_text("utf-8")) if page.PAGE.exists() else {}
        page.PAGE.write_text(page.render(known | took), "utf-8")


def _without_load(report: Any) -> bool:
    """Whether this ran an odd host, or a fault that is noticed without load."""
    told = dict(report.user_properties)
    name = told.get("fault", [""])[0]
    return "oddities" in told or name in matrix.quick()
