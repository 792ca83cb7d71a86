"""What a run would do, printed instead of done.

Law: reads checks and profiles; opens nothing, writes nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import pytest

from pytest_dflash import checks
from pytest_dflash.gate import host_of
from pytest_dflash.levels import Allowed

if TYPE_CHECKING:
    from pytest_dflash.host_run import HostRun

PASSIVE_S = 5
"""Rough seconds for reading a host and asking its passive routes."""
PER_REQUEST_S = 3
"""Rough seconds for one short completion."""


class Plan:
    """Prints the plan of the collected checks and ends the run."""

    def __init__(self, runs: dict[str, HostRun], allowed: Allowed) -> None:
        self.runs = runs
        self.allowed = allowed

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Takes the place of the test loop."""
        reporter = session.config.pluginmanager.getplugin("terminalreporter")
        for name, run in self.runs.items():
            chosen = [
                c for item in session.items if host_of(item) == name and (c := checks.of(item)) is not None
            ]
            for line in lines(name, chosen, self.allowed, run.ready_timeout_s):
                reporter.line(line)
        return True


def lines(
    host: str, chosen: Iterable[checks.Check], allowed: Allowed, ready_timeout_s: float
) -> Sequence[str]:
    """The plan for one host."""
    chosen = list(chosen)
    running = [each for each in chosen if allowed.permits(each.level)]
    held = Counter(each.level for each in chosen if not allowed.permits(each.level))
    requests = sum(each.requests for each in running)
    restarts = max((each.restarts for each in running), default=0)
    seconds = PASSIVE_S + requests * PER_REQUEST_S
    not_run = ", ".join(f"{number} need {level}" for level, number in held.items())
    return [
        f"plan for {host} (allowed: {', '.join(allowed.words)})",
        f"  checks    {len(running)} run" + (f", {not_run} and are not run" if not_run else ""),
        "  reads     1 connection, at most 3 commands; nothing is written on the host",
        f"  requests  {requests}, at most {sum(each.tokens for each in running)} new tokens",
        f"  restarts  {restarts}",
        f"  time      about {max(1, round(seconds / 60))} min, and up to {ready_timeout_s:.0f} s more while the unit starts",
    ]
