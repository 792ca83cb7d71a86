"""What a run would do, printed instead of done.

Law: takes the place of the test loop; opens nothing, writes nothing. The numbers are `estimate`'s.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pytest_dflash import checks, estimate
from pytest_dflash.gate import host_of
from pytest_dflash.levels import Allowed

if TYPE_CHECKING:
    from pytest_dflash.host_run import HostRun

NOTHING = (
    "--dflash-plan: no check was collected, so there is nothing to plan; name the suites, for example suites/"
)


class Plan:
    """Prints the plan of the collected checks and ends the run.

    Args:
        reports: Where the files of the run would go, as a person reads it.
    """

    def __init__(self, runs: dict[str, HostRun], allowed: Allowed, reports: str) -> None:
        self.runs = runs
        self.allowed = allowed
        self.reports = reports

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Takes the place of the test loop."""
        if not any(map(checks.of, session.items)):
            raise pytest.UsageError(NOTHING)
        reporter = session.config.pluginmanager.getplugin("terminalreporter")
        for name, run in self.runs.items():
            chosen = [
                c for item in session.items if host_of(item) == name and (c := checks.of(item)) is not None
            ]
            cost = estimate.estimate(chosen, self.allowed, run.profile, run.ready_timeout_s)
            told = estimate.lines(
                name,
                cost,
                allowed=self.allowed,
                profile=run.profile,
                ready_timeout_s=run.ready_timeout_s,
                allowance=run.allowance,
                reports=self.reports,
            )
            for line in told:
                reporter.line(line)
        return True
