"""A process is given its input, heard to its end or its deadline, and never held without bound."""

from __future__ import annotations

import sys
import time

import pytest

from pytest_dflash.facts import execution
from pytest_dflash.facts.execution import TIMED_OUT, execute
from pytest_dflash.facts.probe import Reply


def python(code: str, stdin: bytes = b"", deadline_s: float = 30.0) -> Reply:
    return execute([sys.executable, "-c", code], stdin, deadline_s)


def test_both_streams_and_the_status_are_told() -> None:
    reply = python("import sys; print('a'); print('b', file=sys.stderr); sys.exit(3)")
    assert (reply.stdout, reply.stderr, reply.rc) == (b"a\n", b"b\n", 3)


def test_an_input_larger_than_any_pipe_comes_back_whole() -> None:
    given = bytes(range(256)) * 4096
    assert python("import sys; sys.stdout.buffer.write(sys.stdin.buffer.read())", given).stdout == given


def test_a_process_that_does_not_read_is_no_error() -> None:
    assert python("print('done')", b"x" * 2**20).stdout == b"done\n"


def test_what_was_said_until_the_deadline_counts() -> None:
    reply = python("import time; print('here', flush=True); time.sleep(60)", deadline_s=1.5)
    assert (reply.stdout, reply.rc) == (b"here\n", TIMED_OUT)


def test_a_process_that_closes_its_streams_and_goes_on_has_a_deadline_too() -> None:
    begun = time.monotonic()
    assert python("import os, time; os.close(1); os.close(2); time.sleep(60)", deadline_s=1.0).rc == TIMED_OUT
    assert time.monotonic() - begun < 20


@pytest.mark.parametrize("stream", ["1", "2"])
def test_a_process_that_prints_without_end_is_ended(stream: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(execution, "LARGEST", 2**20)
    reply = python(f"import os\nwhile True: os.write({stream}, b'x' * 65536)")
    assert reply.rc == -9
    assert 2**20 <= len(reply.stdout + reply.stderr) < 2**20 + 2**16


def test_a_child_that_survives_holds_nobody_beyond_the_deadline() -> None:
    code = "import subprocess; subprocess.Popen(['sleep', '3'], start_new_session=True); print('left')"
    reply = python(code, deadline_s=1.0)
    assert (reply.stdout, reply.rc) == (b"left\n", 0)
