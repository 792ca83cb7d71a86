"""A real process whose command line is asked about."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_dflash.facts.probe import Probe, Reply

AskOfAProcess = Callable[..., Reply]


@pytest.fixture
def ask_of_a_process(tmp_path: Path) -> Iterator[AskOfAProcess]:
    """Starts a Python in the test's folder with these arguments and asks the probe about it, or about another one."""
    running: list[subprocess.Popen[bytes]] = []

    def asked(probe: Probe[Any], *arguments: str, root: Path | str = "", pid: str = "") -> Reply:
        script = tmp_path / "server.py"
        script.write_text("import sys; sys.stdout.write('up\\n'); sys.stdout.flush(); sys.stdin.read()")
        process = subprocess.Popen(
            [sys.executable, str(script), *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=tmp_path,
        )
        running.append(process)
        assert process.stdout is not None
        process.stdout.readline()
        pid = pid or str(process.pid)
        environment = {**os.environ, "R": str(root), "PIDS": pid, "MAIN_PID": pid, "LC_ALL": "C.UTF-8"}
        ran = subprocess.run(["sh", "-c", probe.script], capture_output=True, env=environment, check=False)
        return Reply(ran.stdout, ran.stderr, ran.returncode)

    yield asked
    for process in running:
        process.kill()
        process.communicate()
