"""From facts to an observation."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, cast

from pytest_dflash.facts.host_facts import Facts
from pytest_dflash.facts.journal import Entry, Journal
from pytest_dflash.facts.platform import Clock
from pytest_dflash.facts.procfs import Process
from pytest_dflash.facts.reading import Absent, Reading, Silent, Value
from pytest_dflash.facts.sockets import Listener, Owner
from pytest_dflash.facts.starts import Previous
from pytest_dflash.facts.systemd import Unit
from pytest_dflash.lifecycle.observing import observe
from pytest_dflash.lifecycle.phase import Observation, Phase, standing

UNIT = Unit(
    name="engine.service",
    load_state="loaded",
    active_state="active",
    sub_state="running",
    result="success",
    unit_file_state="enabled",
    fragment_path="/etc/systemd/system/engine.service",
    drop_in_paths=(),
    need_daemon_reload=False,
    invocation_id="aa",
    main_pid=10,
    exec_main_code=0,
    exec_main_status=0,
    exec_main_start_monotonic_us=90_000_000,
    n_restarts=0,
    control_group="/system.slice/engine.service",
    user="",
    restart="on-failure",
    properties={},
)
ENGINE = Process(10, 1, ("engine",), Value("/opt/engine"), Value({}), 9_000, 0, UNIT.control_group, {})
LISTENER = Listener("127.0.0.1", 30000, (10,))


def line(message: str, *, manager: bool = False) -> Entry:
    return Entry(0, 0, 10, 6, message, from_manager=manager)


def log(*entries: Entry) -> Reading[Journal]:
    return Value(Journal("aa", entries, reaches_start=True, whole=True))


@dataclass
class SmallDialect:
    def runs(self, argv: Any) -> bool:
        return "engine" in argv

    def ready_line(self, journal: Journal) -> str | None:
        return next((each.message for each in journal.entries if each.message == "ready"), None)

    def progress(self, journal: Journal) -> str:
        return journal.entries[-1].message if journal.entries else ""


@dataclass
class Seen:
    """The facts that an observation is made of."""

    unit: Reading[Unit] = field(default_factory=lambda: Value(UNIT))
    journal: Reading[Journal] = field(default_factory=lambda: log(line("ready")))
    processes: Reading[tuple[Process, ...]] = field(default_factory=lambda: Value((ENGINE,)))
    serving: Reading[Process] = field(default_factory=lambda: Value(ENGINE))
    listeners: Reading[tuple[Listener, ...]] = field(default_factory=lambda: Value((LISTENER,)))
    listener_owners: Reading[dict[int, Owner]] = field(default_factory=lambda: Value({}))
    clock: Reading[Clock] = field(default_factory=lambda: Value(Clock(0.0, 100.0)))
    previous: Reading[Previous] = field(default_factory=Absent)
    port: int | None = 30000
    containers = Facts.containers


def look(**changes: Any) -> Observation:
    return observe(cast("Any", replace(Seen(), **changes)), cast("Any", SmallDialect()))


def test_a_healthy_unit_is_ready() -> None:
    seen = look()
    assert (seen.port_open, seen.owner_in_unit, seen.ready_line, seen.age_s) == (True, True, "ready", 10.0)
    assert standing(seen).phase is Phase.READY


def test_a_silent_manager_is_observed_as_nothing() -> None:
    assert look(unit=Silent("no systemctl")) == Observation()


def test_a_port_of_somebody_else_is_not_the_units_and_is_named() -> None:
    other = Value({77: Owner(77, "/system.slice/other.service", ("other",))})
    seen = look(listeners=Value((Listener("*", 30000, (77,)),)), listener_owners=other)
    assert (seen.owner_in_unit, seen.owner) == (False, "pid 77 (/system.slice/other.service)")
    assert standing(seen).phase is Phase.SERVING_OLDER_PROCESS


def test_a_container_that_cannot_be_told_from_others_is_not_taken_for_a_stranger() -> None:
    client = Value(replace(ENGINE, argv=("docker", "run", "image", "engine")))
    listeners = Value((Listener("*", 30000, (77,)),))
    theirs = Value({77: Owner(77, "/system.slice/docker-0a.scope", ("engine",))})
    processes = Value((client.value,))
    seen = look(processes=processes, serving=client, listeners=listeners, listener_owners=theirs)
    assert seen.owner_in_unit is None
    other = Value({77: Owner(77, "/system.slice/other.service", ("engine",))})
    seen = look(processes=processes, serving=client, listeners=listeners, listener_owners=other)
    assert seen.owner_in_unit is False


def test_a_daemon_that_publishes_a_containers_port_is_not_taken_for_a_stranger() -> None:
    client = replace(ENGINE, pid=9, argv=("docker", "run", "-p", "30000:30000", "image", "engine"))
    proxy = Value({77: Owner(77, "/system.slice/docker.service", ("docker-proxy",))})
    listeners = Value((Listener("0.0.0.0", 30000, (77,)),))
    seen = look(processes=Value((client, ENGINE)), listeners=listeners, listener_owners=proxy)
    assert seen.owner_in_unit is None


def test_containers_that_nobody_can_tell_from_others_prove_nothing() -> None:
    compose = replace(ENGINE, argv=("docker", "compose", "up"))
    seen = look(processes=Value((compose,)), serving=Silent("none"), port=None)
    assert standing(seen).phase is Phase.UNKNOWN
    assert standing(seen).why == (
        "the unit starts containers by no name of theirs, so that their processes are not known: use `run --name`"
    )


def test_an_owner_that_may_not_be_seen_is_not_guessed() -> None:
    seen = look(listeners=Value((Listener("*", 30000, None),)))
    assert (seen.port_open, seen.owner_in_unit, seen.owner) == (True, None, "")


def test_sockets_that_could_not_be_listed_leave_the_port_unknown() -> None:
    assert look(listeners=Silent("no ss")).port_open is None


def test_a_log_that_does_not_reach_back_is_not_heard() -> None:
    cut = Journal("aa", (line("Decode batch"),), reaches_start=False, whole=True)
    assert look(journal=Value(cut)).log_heard is False
    assert look(journal=Silent("not in group systemd-journal")).log_heard is False


def test_a_wrapper_without_an_engine_is_as_old_as_the_main_process() -> None:
    alone = {"serving": Silent("none"), "listeners": Value(()), "journal": log(line("loading")), "port": None}
    seen = look(**alone)
    assert (seen.serving_process, seen.age_s) == (False, 10.0)
    assert standing(seen).phase is Phase.STARTING
    old = look(**alone, clock=Value(Clock(0.0, 1000.0)))
    assert standing(old).phase is Phase.ACTIVE_NOT_SERVING


def test_without_a_clock_there_is_no_age() -> None:
    assert look(clock=Silent("no /proc/uptime")).age_s is None


def test_processes_that_could_not_be_read_are_not_counted_as_gone() -> None:
    hidden = {"processes": Silent("no /proc"), "serving": Silent("no /proc")}
    assert look(**hidden).serving_process is None
    assert look(processes=Absent(), serving=Absent()).serving_process is False


def test_a_unit_that_somebody_stopped_is_told_from_one_that_crashed() -> None:
    failed = replace(
        UNIT,
        active_state="failed",
        sub_state="failed",
        result="signal",
        main_pid=None,
        exec_main_code=2,
        exec_main_status=9,
    )
    gone = {"processes": Absent(), "serving": Absent(), "listeners": Value(())}
    stopped = look(unit=Value(failed), journal=log(line("Stopping engine.service", manager=True)), **gone)
    assert standing(stopped).phase is Phase.NOT_RUNNING
    crashed = look(unit=Value(failed), journal=log(line("Main process exited", manager=True)), **gone)
    assert standing(crashed).phase is Phase.FAILED
    assert "SIGKILL" in standing(crashed).why


def test_the_newest_line_and_a_start_limit_are_seen() -> None:
    refused = line("engine.service: Start request repeated too quickly.", manager=True)
    seen = look(journal=log(replace(refused, realtime_us=7)))
    assert (seen.start_limit, seen.newest_us) == (True, 7)
    assert look().start_limit is False


FORGOTTEN = replace(UNIT, active_state="inactive", sub_state="dead", invocation_id=None, main_pid=None)
RUN = Previous(
    invocation_id="dead", exit_code=None, exit_status=None, result="success", stop_requested=False,
    ended_realtime_us=9, last_lines=(line("the engine core died"),),
)  # fmt: skip


def test_the_death_of_a_unit_that_systemd_has_forgotten_is_told_by_the_log_of_its_last_run() -> None:
    seen = look(unit=Value(FORGOTTEN), journal=Silent("it has no invocation"), previous=Value(RUN))
    now = standing(seen)
    assert now.phase is Phase.NOT_RUNNING
    assert now.why == "it is inactive; its log ends with: the engine core died"


def test_a_unit_that_was_stopped_and_forgotten_did_not_die() -> None:
    stopped = Value(replace(RUN, stop_requested=True))
    seen = look(unit=Value(FORGOTTEN), journal=Silent("it has no invocation"), previous=stopped)
    assert standing(seen).why == "it is inactive"


def test_the_run_before_says_nothing_about_a_unit_that_runs() -> None:
    assert look(journal=Silent("not read"), previous=Value(RUN)).progress == ""
