"""The stand-in host and the real one answer the same questions in the same way."""

from __future__ import annotations

from itertools import pairwise

import pytest

from pytest_dflash.engines.registry import dialect
from pytest_dflash.facts.collector import Collector
from pytest_dflash.facts.connection import local_connection, open_connection
from pytest_dflash.facts.host_facts import ALL, Facts
from pytest_dflash.facts.named_files import named_files
from pytest_dflash.facts.reading import Value
from pytest_dflash.facts.target import parse_spec
from pytest_dflash.rehearsal.host import StandInHost
from tests.realhost.services import UNIT, Service

SGLANG = dialect("sglang")
NAMED = named_files(SGLANG.file_flags, SGLANG.folder_flags)
WINDOW = ("--speculative-draft-window-size", "2048")


@pytest.fixture(scope="module", params=["stand-in", "real"])
def facts(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Facts:
    """Everything that one look tells of a healthy host."""
    if request.param == "real":
        service: Service = request.getfixturevalue("mini_host")
        target = parse_spec(f"root@{service.machine.name}")
        with open_connection(target, ssh_config=str(service.machine.ssh_config)) as connection:
            read = Collector(connection, UNIT).collect([*ALL, NAMED])
    else:
        folder = tmp_path_factory.mktemp("stand-in") / "host"
        with StandInHost(folder) as host, local_connection(host.root, host.bin) as connection:
            read = Collector(connection, UNIT).collect([*ALL, NAMED])
    return Facts(read, SGLANG.runs, lambda argv: int(argv[list(argv).index("--port") + 1]), NAMED)


def test_one_look_is_whole_and_of_one_process(facts: Facts) -> None:
    assert (facts.transcript.cut, facts.transcript.torn) == ("", "")
    assert isinstance(facts.identity, Value)


@pytest.mark.parametrize(
    "name",
    [
        "unit", "files", "loaded", "processes", "listeners", "listener_owners", "journal", "starts", "memory",
        "clock", "system", "disks", "shared_memory", "packages", "kernel_command_line", "serving", "named_files",
    ],
)  # fmt: skip
def test_a_healthy_host_answers(facts: Facts, name: str) -> None:
    assert isinstance(getattr(facts, name), Value), getattr(facts, name)


def test_the_manager_holds_what_is_on_disk_and_the_process_was_started_with_it(facts: Facts) -> None:
    assert isinstance(facts.unit, Value)
    assert isinstance(facts.loaded, Value)
    assert isinstance(facts.serving, Value)
    (loaded,) = facts.loaded.value.exec_start
    assert facts.unit.value.need_daemon_reload is False
    assert facts.unit.value.active_state == "active"
    assert loaded == facts.serving.value.argv
    assert WINDOW in pairwise(loaded)


def test_the_port_belongs_to_the_serving_process(facts: Facts) -> None:
    assert isinstance(facts.serving, Value)
    assert isinstance(facts.listeners, Value)
    (mine,) = [each for each in facts.listeners.value if each.port == facts.port]
    assert mine.pids == (facts.serving.value.pid,)
    assert mine.address == "127.0.0.1"


def test_the_journal_of_this_invocation_holds_the_long_line_whole(facts: Facts) -> None:
    assert isinstance(facts.journal, Value)
    journal = facts.journal.value
    assert journal.reaches_start
    (line,) = [each.message for each in journal.entries if "server_args=" in each.message]
    assert "'speculative_draft_window_size': 2048" in line
    assert any("Initialized DFLASH draft runner." in each.message for each in journal.entries)


def test_packages_are_those_of_the_serving_interpreter(facts: Facts) -> None:
    assert isinstance(facts.packages, Value)
    assert facts.packages.value.versions["sglang"] == "0.5.23"
