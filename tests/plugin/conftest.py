"""Small acceptance runs of the tests' own: a profile, checks that say outright what they find, and no host."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import pytest_dflash.activation  # noqa: F401 - imported once, where pytester would import it for each run

HOST = "10.1.2.200"
"""An address that no check here ever asks for a connection, so that nothing is sent there."""

PROFILE = """
[service]
unit = "engine.service"
engine = "sglang"
"""
HEAD = """
from pytest_dflash.checks import check
from pytest_dflash.errors import *
from pytest_dflash.findings import Evidence, Judgement, Outcome, failed, not_applicable, passed, unproven
import pytest
"""
GUARD = """
import socket, subprocess, sys

def pytest_configure():
    def refuse(event, arguments):
        if event in ("socket.connect", "socket.getaddrinfo", "subprocess.Popen"):
            if event == "subprocess.Popen" and sys.executable in str(arguments):
                return  # xdist's workers
            raise AssertionError(f"the world was touched: {event} {arguments!r}")
    sys.addaudithook(refuse)
"""


class Project:
    """A folder with a profile and checks, and the runs in it."""

    def __init__(self, pytester: pytest.Pytester) -> None:
        self.pytester = pytester
        self.path = pytester.path
        self.profile()

    def profile(self, more: str = "", *, name: str = "dflash.toml", text: str = PROFILE) -> Path:
        """Writes a profile."""
        path = self.path / name
        path.write_text(text + more)
        return path

    def checks(self, source: str, name: str = "test_checks.py") -> None:
        """Writes checks, the usual imports before them."""
        (self.path / name).write_text(HEAD + source)

    def finding(self, outcome: str, *, name: str = "systemd.active", function: str = "test_it") -> str:
        """The source of a check that comes out like this."""
        body = BODIES[outcome]
        level = ', level="restart"' if outcome == "not_run" else ""
        return f'@check("{name}"{level})\ndef {function}(host_run):\n    {body}\n\n'

    def run(self, *arguments: str, host: str | None = HOST, apart: bool = False) -> Run:
        """Runs pytest here, in this process, or in one of its own where it must be."""
        named = [] if host is None else [f"--host={host}"]
        run = self.pytester.runpytest_subprocess if apart else self.pytester.runpytest_inprocess
        return Run(self.path, run("-p", "no:cacheprovider", "-p", "no:hypothesispytest", *named, *arguments))


BODIES: Mapping[str, str] = {
    "pass": 'return passed("it is so", expected=1, observed=1)',
    "fail": 'return failed("it is not so", expected=1, observed=2, remedy="mend it")',
    "unproven": 'return unproven("nobody says")',
    "not_applicable": 'return not_applicable("nothing is expected")',
    "not_run": 'return passed("never reached")',
    "unreachable": 'raise HostUnreachable("10.1.2.200 does not answer", "ask the network team")',
    "waived": 'return failed("known")',
}


class Run:
    """What came of one run."""

    def __init__(self, path: Path, result: pytest.RunResult) -> None:
        self.path = path
        self.result = result
        self.code = int(result.ret)
        self.out = result.stdout.str()
        self.err = result.stderr.str()

    @property
    def folder(self) -> Path:
        """Where the files are."""
        return (self.path / "reports" / "latest").resolve()

    @property
    def document(self) -> dict[str, Any]:
        """findings.json."""
        loaded: dict[str, Any] = json.loads((self.folder / "findings.json").read_text())
        return loaded

    @property
    def verdict(self) -> str:
        """The verdict in findings.json."""
        return str(self.document["run"]["verdict"])

    @property
    def outcomes(self) -> list[str]:
        """The outcomes of all findings, in order."""
        return [finding["outcome"] for finding in self.document["findings"]]

    @property
    def words(self) -> dict[str, int]:
        """Pytest's own count."""
        return self.result.parseoutcomes()


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
    pytester.makeini("[pytest]\n")
    return Project(pytester)


@pytest.fixture
def guarded(project: Project) -> Project:
    """The same, where a connection or a process is an error."""
    (project.path / "guard.py").write_text(GUARD)
    sys.modules.pop("guard", None)
    return project
