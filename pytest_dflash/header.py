"""What stands above the tests: hosts, expectations, limits, files, and which value came from where.

Law: configuration in, lines out; asks no host anything.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_dflash import origins
from pytest_dflash.levels import Allowed
from pytest_dflash.redaction import without_secrets

if TYPE_CHECKING:
    from pytest_dflash.host_run import HostRun

SHORT = 12
"""Digits of a sha256 that tell profiles apart."""


class Header:
    """The report header's lines; pytest leaves them out with -q."""

    def __init__(
        self, config: pytest.Config, runs: dict[str, HostRun], allowed: Allowed, reports: Path | None
    ) -> None:
        self.config = config
        self.runs = runs
        self.allowed = allowed
        self.reports = reports

    def pytest_report_header(self) -> list[str]:
        """One line a value, its origin in brackets."""
        # Somebody may have typed a key of this side.
        return [f"dflash {without_secrets(line, self.runs.values())}" for line in self._lines()]

    def _lines(self) -> Iterator[str]:
        option = self.config.option
        yield f"hosts: {', '.join(self.runs)} ({origins.origin(self.config, '--host')})"
        for line in dict.fromkeys(self._profile(run) for run in self.runs.values()):
            yield line
        if option.dflash_expect:
            yield f"expect: {', '.join(option.dflash_expect)} ({origins.origin(self.config, '--dflash-expect')})"
        allow = origins.origin(self.config, "--dflash-allow") if option.dflash_allow else "default"
        yield f"allow: {', '.join(self.allowed.words)} ({allow})"
        for line in dict.fromkeys(self._patience(run) for run in self.runs.values()):
            yield line
        for name in ("--dflash-max-restarts", "--dflash-deadline", "--dflash-drained"):
            value = getattr(option, name.removeprefix("--").replace("-", "_"))
            if value not in (None, False):
                shown = "" if value is True else f": {value:g}"
                yield f"{name.removeprefix('--dflash-')}{shown} ({origins.origin(self.config, name)})"
        if option.dflash_fault:
            yield f"faults: {', '.join(option.dflash_fault)} ({origins.origin(self.config, '--dflash-fault')})"
        if option.dflash_compare:
            yield f"compare: {option.dflash_compare} ({origins.origin(self.config, '--dflash-compare')})"
        if self.reports is not None:
            yield f"reports: {self.reports} ({origins.report_folder(self.config)[1]})"

    def _profile(self, run: HostRun) -> str:
        loaded = run.loaded
        _, origin = origins.profiles(self.config, run.reach.target)
        reviewed = "reviewed" if loaded.reviewed else "not reviewed"
        bases = "".join(f", extends {path}" for path in loaded.bases)
        unit = loaded.profile.service.unit
        return f"profile: for {unit}: {loaded.path}, sha256 {loaded.sha256[:SHORT]}, {reviewed}{bases} ({origin})"

    def _patience(self, run: HostRun) -> str:
        seconds, origin = origins.ready_timeout(self.config, run.loaded)
        return f"ready timeout: {seconds:g} s ({origin})"
