"""The stand-in host: a folder, a manager, a unit that runs, and the faults that were asked for.

Law: starts and ends processes; what they do is told elsewhere. Whatever happens, `close` leaves none.
"""

from __future__ import annotations

import os
import random
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

import pytest_dflash
from pytest_dflash.errors import HostError
from pytest_dflash.rehearsal import client, layout, staged, unit_file, venv
from pytest_dflash.rehearsal.oddities import Oddity

PROFILE = Path(__file__).parent / "profile.toml"
PREVIOUS_RUN_AGO_S = 3600.0
SERVING = "The server is fired up and ready to roll!"
PATIENCE_S = 15.0


class RehearsalError(HostError):
    """The stand-in host itself could not do what it should; no verdict on anything."""


def free_port() -> int:
    """A port of 127.0.0.1 that nobody listens on, below those that the kernel hands to outgoing connections.

    Raises:
        RehearsalError: When there is none.
    """
    for port in random.sample(range(20_000, 32_000), 200):
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise RehearsalError("no free port of 127.0.0.1 between 20000 and 32000 was found in 200 tries")


class StandInHost:
    """A host of local processes.

    Attributes:
        folder: Everything of it; made by `start`, removed by `close`.
        bin: Its commands, to be put first on PATH.
        root: The prefix of its /proc, /sys, /etc and /dev.
        unit: The unit that serves. scope: Whose it is: "system" or "user".
        port: Where it serves, on 127.0.0.1.
    """

    def __init__(self, folder: Path, faults: Sequence[str] = ()) -> None:
        """Nothing is started yet.

        Args:
            folder: A folder that does not exist or is empty.
            faults: Names of `staged.STAGED`.

        Raises:
            UnknownFault: For a name that is none, with the close ones.
        """
        self.faults = _chosen(faults)
        self.folder = folder.absolute()
        self.bin = self.folder / "bin"
        self.root = self.folder / "root"
        odd = [each for each in self.faults if isinstance(each, Oddity)]
        self.scope = "user" if any(each.by_user for each in odd) else "system"
        self.unit = next(
            (each.unit for each in self.faults if isinstance(each, Oddity) and each.unit), layout.UNIT
        )
        self.port = free_port()
        self._manager: subprocess.Popen[bytes] | None = None

    @property
    def unit_file(self) -> Path:
        """The unit's file on the stand-in's disk."""
        return self.root / "etc/systemd" / self.scope / unit_file.template(self.unit)

    @property
    def site_packages(self) -> Path:
        """Where the packages of the serving interpreter are."""
        return venv.site_packages(self.root / "opt/sglang/venv")

    @property
    def mischief(self) -> Path:
        """The engine's switches, read when it starts."""
        return self.site_packages / "sglang/miniature/mischief.json"

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def start(self) -> None:
        """Lays out the host, runs the unit once and stops it, stages the faults, starts it, waits for it.

        Raises:
            RehearsalError: When it does not come up; nothing is left running.
        """
        try:
            self._start()
        except BaseException:
            self.close()
            raise

    def _start(self) -> None:
        if os.pathsep in str(self.bin):
            raise RehearsalError(
                f"{self.folder}: its commands go on PATH, and no folder with a colon in its name can; set TMPDIR to another"
            )
        self.folder.mkdir(parents=True, exist_ok=True)
        layout.lay_out(self.folder, self.port, self.unit_file)
        self._start_manager()
        # A healthy earlier run, so that its lines lie in the journal for anyone who does not ask by invocation.
        self.tool("systemctl", "start", self.unit)
        self.wait_for_log(SERVING)
        self.tool("systemctl", "stop", self.unit)
        self.tool("systemctl", "reset-failed", self.unit)
        self.tool(
            "control", "age", str(min(PREVIOUS_RUN_AGO_S, time.clock_gettime(time.CLOCK_MONOTONIC) / 2))
        )
        for fault in self.faults:
            fault.before(self)
        self.tool("systemctl", "daemon-reload")
        self.ask("systemctl", "start", self.unit)  # which a fault may make fail
        for awaited in {fault.settled_by for fault in self.faults} or {SERVING}:
            if awaited:
                self.wait_for_log(awaited)
        for fault in self.faults:
            fault.after(self)

    def _start_manager(self) -> None:
        package = Path(pytest_dflash.__file__).parent.parent
        environment = {
            name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "COV_"))
        }
        with (self.folder / "manager.log").open("wb") as complaints:
            self._manager = subprocess.Popen(  # noqa: S603 - our own module, by this interpreter
                [
                    sys.executable,
                    "-S",
                    "-m",
                    "pytest_dflash.rehearsal.manager",
                    str(self.folder),
                    self.unit,
                    self.scope,
                ],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=complaints,
                env=environment | {"PYTHONPATH": str(package), "PYTHONDONTWRITEBYTECODE": "1"},
                cwd="/",
                start_new_session=True,
            )
        assert self._manager.stdout is not None
        if self._manager.stdout.readline() != b"ready\n":
            said = (self.folder / "manager.log").read_text("utf-8", "replace")
            raise RehearsalError(f"the stand-in's manager did not start: {said.strip()[-600:]}")

    def ask(self, tool: str, *argv: str) -> tuple[int, str, str]:
        """(status, stdout, stderr) of a stand-in command."""
        return client.ask(str(self.folder), tool, list(argv))

    def tool(self, name: str, *argv: str) -> str:
        """What a command prints.

        Raises:
            RehearsalError: When it fails.
        """
        status, stdout, stderr = self.ask(name, *argv)
        if status:
            raise RehearsalError(f"stand-in `{name} {' '.join(argv)}` ended with {status}: {stderr.strip()}")
        return stdout

    def wait_for_log(self, text: str) -> None:
        """Waits until the running invocation has logged `text`.

        Raises:
            RehearsalError: When it does not in time, with its last lines.
        """
        deadline = time.monotonic() + PATIENCE_S
        while self.ask("control", "logged", text)[0]:
            if time.monotonic() > deadline:
                last = self.ask("journalctl", "-a", "-o", "cat", "-n", "12", "-u", self.unit)[1]
                raise RehearsalError(
                    f"the stand-in's engine did not log {text!r} in {PATIENCE_S:.0f} s; last:\n{last}"
                )
            time.sleep(0.01)

    def close(self) -> None:
        """Ends every process and removes the folder; may be called twice."""
        manager, self._manager = self._manager, None
        if manager is not None:
            assert manager.stdin is not None
            assert manager.stdout is not None
            manager.stdin.close()
            try:
                manager.wait(5)
            except subprocess.TimeoutExpired:
                manager.kill()
                manager.wait()
            manager.stdout.close()
        shutil.rmtree(self.folder, ignore_errors=True)


def _chosen(names: Sequence[str]) -> tuple[staged.Staged, ...]:
    return tuple(staged.named(name) for name in names)
