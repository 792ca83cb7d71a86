"""Runs one local process to its end or its deadline, and leaves nothing of it behind.

Law: acts (processes); knows neither hosts nor probes. An argument list, never a shell's line.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from pytest_dflash.facts.probe import Reply

TIMED_OUT = 124
"""The status of what its deadline ended, as `timeout` has it."""


def execute(
    argv: Sequence[str],
    stdin: bytes,
    deadline_s: float,
    environment: Mapping[str, str] | None = None,
) -> Reply:
    """Runs a command in a session of its own, so that Ctrl-C is ours to handle.

    Args:
        argv: The program and its arguments.
        stdin: All of its standard input.
        deadline_s: Seconds; then the whole process group is killed and the reply's rc is 124.
        environment: None inherits.

    Raises:
        FileNotFoundError: There is no such program.
    """
    with subprocess.Popen(  # noqa: S603 - an argument list, checked by whoever made it
        argv,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
        start_new_session=True,
    ) as process:
        try:
            stdout, stderr = process.communicate(stdin, deadline_s)
        except subprocess.TimeoutExpired:
            _kill(process)
            return Reply(*process.communicate(), TIMED_OUT)
        except BaseException:  # Ctrl-C above all
            _kill(process)
            raise
    return Reply(stdout, stderr, process.returncode)


def launch(argv: Sequence[str], log: Path, deadline_s: float) -> int:
    """Runs a command that goes into the background, and returns the status of its foreground part.

    Args:
        argv: As for `execute`.
        log: Takes its complaints; no pipe is held, as what stays behind would hold it, too.
        deadline_s: Seconds for the foreground part; then 124.

    Raises:
        FileNotFoundError: There is no such program.
    """
    with (
        log.open("ab") as complaints,
        subprocess.Popen(  # noqa: S603 - as above
            argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=complaints,
            start_new_session=True,
        ) as process,
    ):
        try:
            return process.wait(deadline_s)
        except subprocess.TimeoutExpired:
            _kill(process)
            return TIMED_OUT
        except BaseException:
            _kill(process)
            raise


def _kill(process: subprocess.Popen[bytes]) -> None:
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        process.kill()
