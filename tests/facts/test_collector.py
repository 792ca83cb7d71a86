"""One round trip, again where it was torn, and no secret in what comes out."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_dflash.errors import HostUnreachable
from pytest_dflash.facts.collector import Collector
from pytest_dflash.facts.connection import Connection, local_connection
from pytest_dflash.facts.identity import Identity
from pytest_dflash.facts.probe import Probe
from pytest_dflash.facts.reading import Silent, Value
from pytest_dflash.facts.target import Target
from pytest_dflash.redaction import Redactor

ECHO = Probe("echo", 'echo "$UNIT"', lambda reply: Value(reply.text.strip()))
ARGV = Probe(
    "argv", "printf 'x\\0--api-key\\0sk-12345678\\0'", lambda reply: Value(tuple(reply.text.split("\0")))
)
LOG = Probe("log", "echo POST key sk-12345678", lambda reply: Value(reply.text))


@pytest.fixture
def connection(tmp_path: Path) -> Connection:
    (tmp_path / "root/proc/sys/kernel/random").mkdir(parents=True)
    (tmp_path / "root/proc/sys/kernel/random/boot_id").write_text("boot\n")
    show(tmp_path, "echo MainPID=7")
    return local_connection(tmp_path / "root", tmp_path / "bin")


def show(folder: Path, script: str) -> None:
    tool = folder / "bin/systemctl"
    tool.parent.mkdir(exist_ok=True)
    tool.write_text(f"#!/bin/sh\n{script}\n")
    tool.chmod(0o755)


def test_all_questions_take_one_command(connection: Connection) -> None:
    taken = Collector(connection, "a.service").collect([ECHO, ARGV, LOG])
    assert taken.reading(ECHO) == Value("a.service")
    assert connection.commands == 1


def test_no_secret_comes_out_and_what_one_probe_gave_away_is_hidden_in_the_others(
    connection: Connection,
) -> None:
    redactor = Redactor()
    taken = Collector(connection, "a.service", redactor).collect([LOG, ARGV])
    assert taken.reading(ARGV) == Value(("x", "--api-key", "****", ""))
    assert taken.reading(LOG) == Value("POST key ****\n")
    assert redactor.mask("sk-12345678") == "****"


def test_the_identity_is_asked_alone_and_counts_as_no_passive_command(connection: Connection) -> None:
    assert Collector(connection, "a.service").identity() == Value(
        Identity("boot", None, 7, None, None), "systemctl show"
    )
    assert connection.commands == 0


def test_a_torn_transcript_is_collected_again(connection: Connection, tmp_path: Path) -> None:
    show(
        tmp_path,
        f'echo x >>"{tmp_path}/asked"; [ $(wc -l <"{tmp_path}/asked") -gt 1 ] && echo MainPID=8 || echo MainPID=7',
    )
    pauses: list[float] = []
    taken = Collector(connection, "a.service", pause=pauses.append).collect([ECHO])
    assert (taken.torn, pauses, connection.commands) == ("", [0.5], 2)
    assert taken.identity == Value(Identity("boot", None, 8, None, None), "systemctl show")


def test_a_process_that_never_holds_still_is_said_to(connection: Connection, tmp_path: Path) -> None:
    show(tmp_path, f'echo x >>"{tmp_path}/asked"; echo MainPID=$(wc -l <"{tmp_path}/asked")')
    pauses: list[float] = []
    taken = Collector(connection, "a.service", pause=pauses.append).collect([ECHO])
    assert taken.torn == "the main process changed (main_pid 5 -> 6)"
    assert (pauses, connection.commands) == ([0.5, 0.5], 3)


def test_a_host_that_drops_gives_what_was_complete_and_the_reason(
    connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pytest_dflash.facts.shell.GRACE_S", 0)
    connection.deadline_s = 1
    slow = Probe("slow", "sleep 60", lambda reply: Value(reply.text))
    taken = Collector(connection, "a.service").collect([ECHO, slow])
    assert taken.reading(ECHO) == Value("a.service")
    missing = taken.reading(slow)
    assert isinstance(missing, Silent)
    assert missing.why.startswith("a command on rehearsal did not come to its end")


def test_a_host_without_a_shell_is_unreachable() -> None:
    connection = Connection(
        Target(scheme="docker", name="web", host="web"), lambda _: ["echo", "No such container"]
    )
    with pytest.raises(HostUnreachable, match="there is no container web"):
        Collector(connection, "a.service").collect([ECHO])
