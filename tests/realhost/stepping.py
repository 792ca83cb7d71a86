"""A pytest plugin of these tests: runs a shell command when the controller begins a step.

Law: loaded by name with -p; what to run at which step stands in `DFLASH_AT_STEP`, JSON. RUN_PID is the run's own.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Callable
from typing import Any

from pytest_dflash.lifecycle.controller import Controller

AT_STEP: dict[str, str] = json.loads(os.environ.get("DFLASH_AT_STEP", "{}"))
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # the tests may have been started by nohup
_made = Controller.__init__


def _stepping(tell: Callable[[str], None]) -> Callable[[str], None]:
    def told(line: str) -> None:
        tell(line)
        command = AT_STEP.pop(line.rpartition(": ")[2], None)
        if command:
            subprocess.run(command, shell=True, check=False, env=os.environ | {"RUN_PID": str(os.getpid())})

    return told


def _init(self: Controller, *arguments: Any, **named: Any) -> None:
    _made(self, *arguments, **named)
    self.tell = _stepping(self.tell)


Controller.__init__ = _init  # type: ignore[method-assign]  # that is what this plugin is for
