"""Runs one local process to its end or its deadline, and leaves nothing of it behind.

Law: acts (processes); knows neither hosts nor probes. An argument list, never a shell's line.
"""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from pytest_dflash.facts.probe import Reply

TIMED_OUT = 124
"""The status of what its deadline ended, as `timeout` has it."""
LARGEST = 64 * 2**20
"""Bytes of either stream at most: whoever prints without end is ended, and what came until then counts."""
PIECE = 2**16


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
            stdout, stderr = _exchanged(process, stdin, time.monotonic() + deadline_s)
        except _Late as late:
            _kill(process)
            return Reply(late.stdout, late.stderr, TIMED_OUT)
        except BaseException:  # Ctrl-C above all
            _kill(process)
            raise
    return Reply(stdout, stderr, process.returncode)


class _Late(Exception):  # noqa: N818 - a moment, not an error
    """The deadline came first."""

    def __init__(self, stdout: bytes, stderr: bytes) -> None:
        super().__init__()
        self.stdout = stdout
        self.stderr = stderr


def _exchanged(process: subprocess.Popen[bytes], stdin: bytes, until: float) -> tuple[bytes, bytes]:
    """Both outputs of a process that is given all of its input.

    Raises:
        _Late: It is `until` on the monotonic clock; with both as far as they came.
    """
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    stdin_fd = process.stdin.fileno()
    said = {process.stdout.fileno(): bytearray(), process.stderr.fileno(): bytearray()}
    rest = memoryview(stdin)
    os.set_blocking(stdin_fd, False)
    with selectors.DefaultSelector() as open_ones:
        open_ones.register(process.stdin, selectors.EVENT_WRITE)
        for fd in said:
            open_ones.register(fd, selectors.EVENT_READ)
        while open_ones.get_map() and time.monotonic() < until:
            for key, _ in open_ones.select(until - time.monotonic()):
                if key.fd == stdin_fd:
                    rest = _written(stdin_fd, rest)
                    if not rest:
                        open_ones.unregister(process.stdin)
                        process.stdin.close()
                    continue
                said[key.fd] += (piece := os.read(key.fd, PIECE))
                if len(said[key.fd]) >= LARGEST:
                    _kill(process)
                if not piece or len(said[key.fd]) >= LARGEST:
                    open_ones.unregister(key.fd)
    stdout, stderr = map(bytes, said.values())
    try:
        process.wait(max(until - time.monotonic(), 0.0))
    except subprocess.TimeoutExpired:
        raise _Late(stdout, stderr) from None
    return stdout, stderr


def _written(stdin: int, rest: memoryview) -> memoryview:
    """What is still to be written; nothing where nobody reads any more."""
    try:
        return rest[os.write(stdin, rest[:PIECE]) :]
    except BlockingIOError:
        return rest
    except BrokenPipeError:
        return rest[:0]


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
