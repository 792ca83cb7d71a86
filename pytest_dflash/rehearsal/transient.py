"""Transient services: what `systemd-run` started, while it runs.

Law: as started with --collect: a unit that has ended is forgotten, whatever its end. Processes end with the manager.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Sequence
from contextlib import suppress

from pytest_dflash.rehearsal.service import die_with_parent


class Transients:
    """The transient services of one manager, by name."""

    def __init__(self) -> None:
        self.running: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, name: str, argv: Sequence[str]) -> str:
        """Starts one; its name serves as a lock.

        Returns:
            "" or systemd's complaint.
        """
        self.reap()
        if name in self.running:
            return f"Unit {name} was already loaded or has a fragment file."
        try:
            self.running[name] = subprocess.Popen(  # noqa: S603 - what the test run asks for on its own stand-in
                argv,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd="/",
                start_new_session=True,
                preexec_fn=die_with_parent,  # noqa: PLW1509 - the manager has no threads
            )
        except OSError as error:
            return f"Failed to find executable {argv[0]}: {error.strerror}"
        return ""

    def reap(self) -> None:
        """Forgets those that have ended."""
        self.running = {name: each for name, each in self.running.items() if each.poll() is None}

    def stop(self, name: str) -> bool:
        """Ends one; False where there is none of that name."""
        self.reap()
        process = self.running.pop(name, None)
        if process is None:
            return False
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return True

    def close(self) -> None:
        """Ends all."""
        for name in list(self.running):
            self.stop(name)
