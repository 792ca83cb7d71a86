from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from pytest_dflash.facts.platform import Clock
from pytest_dflash.facts.procfs import ONLY_STARTS, Process, age_s, published, serving_process
from pytest_dflash.facts.reading import Absent, Reading, Silent, Value
from pytest_dflash.facts.sockets import Listener

ENGINE = ("/venv/bin/python", "-m", "engine", "--port", "30000")
NOBODY: Reading[tuple[Listener, ...]] = Value(())


def is_engine(argv: Sequence[str]) -> bool:
    return "engine" in " ".join(argv).split()


def process(pid: int, parent: int, argv: Sequence[str] = ENGINE, **rest: Any) -> Process:
    given: dict[str, Any] = {
        "exe": Value("/usr/bin/python3.11"),
        "environ": Value({}),
        "start_ticks": pid * 10,
        "uid": 0,
        "cgroup": "/system.slice/engine.service",
        "limits": {},
        "title": argv[0].rsplit("/", 1)[-1][:15] if argv else "",
        "state": "S",
    }
    return Process(pid=pid, parent=parent, argv=tuple(argv), **(given | rest))


def serving(
    processes: Sequence[Process],
    listeners: Reading[tuple[Listener, ...]] = NOBODY,
    port: int | None = 30000,
) -> Reading[Process]:
    return serving_process(Value(tuple(processes), "/proc"), listeners, port, is_engine)


def listening(*pids: int, port: int = 30000) -> Reading[tuple[Listener, ...]]:
    return Value((Listener("127.0.0.1", port, pids or None),))


def pid_of(reading: Reading[Process]) -> int:
    assert isinstance(reading, Value)
    return reading.value.pid


def test_the_owner_of_the_port_serves_whatever_its_title() -> None:
    shell = process(10, 1, ("/bin/bash", "-lc", "python -m engine | tee log"))
    titled = process(11, 10, ("engine::api",))
    assert pid_of(serving([shell, titled], listening(11))) == 11


def test_of_several_owners_the_engine_that_started_first_serves() -> None:
    worker = process(12, 11, ("/venv/bin/python", "-c", "spawn"), start_ticks=1)
    assert pid_of(serving([worker, process(11, 1), process(13, 11)], listening(12, 13, 11))) == 11


def test_an_owner_outside_the_unit_does_not_serve_it() -> None:
    assert pid_of(serving([process(11, 1)], listening(99))) == 11


def test_another_port_of_the_unit_is_not_the_port() -> None:
    worker = process(12, 11, ("engine::scheduler",))
    assert pid_of(serving([process(11, 1), worker], listening(12, port=29293))) == 11


def test_before_anybody_listens_the_command_line_tells() -> None:
    tracker = process(12, 11, ("/venv/bin/python", "-c", "from multiprocessing.resource_tracker import main"))
    reading = serving([process(11, 1), tracker])
    assert pid_of(reading) == 11
    assert isinstance(reading, Value)
    assert reading.where == "/proc/11, by its command line"


def test_a_wrapper_that_names_the_engine_is_looked_through() -> None:
    shell = process(10, 1, ("/bin/bash", "-lc", "python -m engine ; echo ended"))
    init = process(11, 10, ("tini", "--"))
    assert pid_of(serving([shell, init, process(12, 11)])) == 12


def test_the_environment_of_a_containers_client_is_not_the_engines() -> None:
    found = serving([process(10, 1, ("docker", "run", "image", *ENGINE))])
    assert isinstance(found, Value)
    assert found.value.environ == Silent(f"pid 10 {ONLY_STARTS}", "/proc/10/environ")


@pytest.mark.parametrize(
    "words, port",
    [
        ("-p 8000:30000", 8000),
        ("-p8000:30000", 8000),
        ("--publish 127.0.0.1:8000:30000/tcp", 8000),
        ("--publish=[::1]:8000:30000", 8000),
        ("-p 8000:80 -p 30000:30000", 30000),
        ("-p 30000", 30000),
        ("-p 8000-8010:30000", 30000),
        ("--network host", 30000),
    ],
)
def test_a_published_port_is_the_hosts(words: str, port: int) -> None:
    assert published(("docker", "run", *words.split(), "image"), 30000) == port


def test_a_forked_child_with_the_same_command_line_is_not_the_engine() -> None:
    assert pid_of(serving([process(12, 11), process(11, 1)])) == 11


def test_a_loop_of_parents_ends() -> None:
    one, two = process(11, 12, (*ENGINE, "a")), process(12, 11, (*ENGINE, "b"))
    assert isinstance(serving([one, two, process(13, 12)]), Silent | Value)


def test_owners_that_may_not_be_seen_leave_the_command_line() -> None:
    assert pid_of(serving([process(11, 1)], listening())) == 11


def test_no_engine_among_the_processes_is_silence_with_names() -> None:
    reading = serving([process(11, 1, ("/usr/bin/sleep", "1"))], Silent("no ss"))
    assert reading == Silent(
        "none of the unit's 1 processes owns the port or starts an engine; found: sleep", "/proc"
    )


@pytest.mark.parametrize("state", ["Z"])
def test_a_zombie_serves_nobody(state: str) -> None:
    assert isinstance(serving([process(11, 1, state=state)]), Absent)


@pytest.mark.parametrize("reading", [Absent("empty"), Silent("hidden")])
def test_unheard_processes_stay_unheard(reading: Absent | Silent) -> None:
    assert serving_process(reading, Value(()), 1, is_engine) is reading


def test_ages_are_counted_by_the_hosts_own_clocks() -> None:
    assert age_s(process(11, 1, start_ticks=2_500), Clock(epoch_s=0, uptime_s=100, ticks_per_s=250)) == 90
