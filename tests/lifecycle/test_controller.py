"""The controller against the stand-in host: what it does to a unit, and that it puts it back."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import ANY

import pytest

from pytest_dflash.engines.registry import dialect
from pytest_dflash.errors import NotPutBack, Refused
from pytest_dflash.facts.claim import CLAIM, Claim
from pytest_dflash.facts.collector import Collector
from pytest_dflash.facts.connection import local_connection
from pytest_dflash.facts.host_facts import ALIVE, Facts
from pytest_dflash.facts.named_files import named_files
from pytest_dflash.facts.reading import Value
from pytest_dflash.lifecycle.controller import STEPS, Controller
from pytest_dflash.lifecycle.observing import observe
from pytest_dflash.lifecycle.phase import Observation, Phase
from pytest_dflash.lifecycle.readiness import Settled, wait_until_settled
from pytest_dflash.rehearsal.host import StandInHost

SGLANG = dialect("sglang")
WINDOW = "speculative-draft-window-size"
FIRST_LEASE_S = 60.0


class Killed(BaseException):
    """Stands for SIGKILL: nobody cleans up after it."""


class Bench:
    """A stand-in host, and controllers of several runs on it."""

    def __init__(self, folder: Path) -> None:
        self.host = StandInHost(folder / "host")
        self.host.start()
        self.told: list[str] = []
        self.patience_s = 60.0
        self.dead = ""

    def controller(
        self, run: str = "r1", lease_s: float = FIRST_LEASE_S, *, heals: bool = True
    ) -> Controller:
        collector = Collector(local_connection(self.host.root, self.host.bin), self.host.unit)
        named = named_files(SGLANG.file_flags, SGLANG.folder_flags)

        def wait(beat: Callable[[], object], before: str | None) -> Settled:
            def look() -> Observation:
                beat()
                facts = Facts(
                    collector.collect(ALIVE, passive=False), SGLANG.runs, lambda _argv: self.host.port, named
                )
                return observe(facts, SGLANG)

            return wait_until_settled(
                look, timeout_s=self.patience_s, before=before, sleep=lambda s: time.sleep(min(s, 0.05))
            )

        def tell(line: str) -> None:
            self.told.append(line)
            if self.dead and line.endswith(f": {self.dead}"):
                raise Killed

        return Controller(collector, SGLANG, wait, run, f"alice@laptop, run {run}", lease_s, heals, tell)

    def prop(self, name: str) -> str:
        return self.host.tool("systemctl", "show", "-p", name, "--value", self.host.unit).strip()

    def state(self) -> tuple[str, ...]:
        pid = self.prop("MainPID")
        argv = (self.host.root / "proc" / pid / "cmdline").read_text() if pid != "0" else ""
        return (
            argv,
            self.prop("ExecStart").split("start_time")[0],
            self.prop("DropInPaths"),
            self.prop("ActiveState"),
        )

    def lease(self) -> str:
        name = "dflash-lease-sglang-k26-ddtree.service"
        return self.host.tool("systemctl", "show", "-p", "ActiveState", "--value", name).strip()

    def claim(self) -> Any:
        collector = Collector(local_connection(self.host.root, self.host.bin), self.host.unit)
        found = collector.collect((CLAIM,)).reading(CLAIM)
        return found.value if isinstance(found, Value) else None

    @property
    def leftovers(self) -> list[str]:
        run = self.host.root / "run"
        return [
            str(path.relative_to(run)) for path in run.rglob("*") if path.name not in {"systemd", "system"}
        ]


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path)
    yield made
    made.host.close()


def test_a_restart_is_a_new_invocation_that_serves(bench: Bench) -> None:
    controller, before = bench.controller(), bench.state()
    made = controller.restart()
    assert made.ready
    assert made.before != made.after == bench.prop("InvocationID")
    controller.close()
    assert bench.state() == before
    assert bench.leftovers == []
    assert (controller.changed, controller.restored) == (True, None)


def test_a_flag_is_changed_for_a_while_and_all_is_as_before(bench: Bench) -> None:
    controller, before = bench.controller(), bench.state()
    with controller.reconfigured({WINDOW: 1024}) as changed:
        assert changed.ready
        assert "\0--speculative-draft-window-size\0001024\0" in bench.state()[0]
        assert bench.prop("DropInPaths").endswith("/zzz-dflash-r1.conf")
    assert bench.state() == before
    controller.close()
    assert bench.leftovers == []
    assert (controller.changed, controller.restored) == (True, True)
    assert [line.rpartition(": ")[2] for line in bench.told if line.rpartition(": ")[2] in STEPS] == list(
        STEPS
    )


def test_changes_follow_each_other_without_a_way_back_between_them(bench: Bench) -> None:
    controller, before = bench.controller(), bench.state()
    for window in (512, 256):
        assert controller.apply({WINDOW: window}).ready
        assert f"\0{window}\0" in bench.state()[0]
    controller.close()
    assert bench.state() == before
    assert controller.restored


def test_a_change_after_a_change_that_was_put_back_has_a_lease_again(bench: Bench) -> None:
    controller, before = bench.controller(), bench.state()
    for window in (512, 256):
        with controller.reconfigured({WINDOW: window}) as changed:
            assert changed.ready
            assert bench.lease() == "active"
        assert bench.state() == before
    controller.close()
    assert (bench.leftovers, bench.lease()) == ([], "inactive")


def test_a_crash_in_the_changed_configuration_is_told_and_put_back(bench: Bench) -> None:
    controller, before = bench.controller(), bench.state()
    with controller.reconfigured({"no-such-flag": 3}) as changed:
        assert not changed.ready
        assert changed.settled.phase in {Phase.CRASH_LOOP, Phase.FAILED}
    assert bench.state() == before
    assert controller.restored


def test_an_error_in_the_block_puts_back_too(bench: Bench) -> None:
    controller, before = bench.controller(), bench.state()
    with pytest.raises(ZeroDivisionError), controller.reconfigured({WINDOW: 1024}):
        raise ZeroDivisionError
    controller.close()
    assert bench.state() == before
    assert bench.leftovers == []


@pytest.mark.slow
@pytest.mark.parametrize("step", STEPS)
def test_a_run_that_dies_at_any_step_is_put_back_by_the_lease(bench: Bench, step: str) -> None:
    controller, before = bench.controller(lease_s=5), bench.state()
    bench.dead = step
    # What a killed process cannot do, this one must not: put_back is not reached.
    with pytest.raises(Killed):
        die(controller)
    bench.dead = ""
    deadline = time.monotonic() + 60
    while bench.state() != before or bench.host.ask("control", "logged", "fired up")[0]:
        assert time.monotonic() < deadline, (step, bench.state(), bench.told)
        time.sleep(0.1)
    again = bench.controller("r2")
    while True:  # what is left of a lock without a lease lapses by itself
        try:
            assert again.restart().ready
            break
        except Refused:
            assert time.monotonic() < deadline
            time.sleep(0.2)
    again.close()
    assert bench.state() == before
    assert bench.leftovers == []


def die(controller: Controller) -> None:
    """Every step of a run, without its clean-up when it dies."""
    controller._hold()
    controller._apply({WINDOW: 1024}, None)
    controller._put_back()
    controller._held.end(as_before=True)


def test_a_second_run_is_refused_with_the_name_of_the_first(bench: Bench) -> None:
    first = bench.controller()
    first.restart()
    second = bench.controller("r2")
    with pytest.raises(Refused) as refused:
        second.restart()
    assert "another run works on sglang-k26-ddtree.service: alice@laptop, run r1 since 20" in str(
        refused.value
    )
    assert "it lapses in" in str(refused.value)
    second.close()
    first.close()
    assert bench.controller("r3").restart().ready


def test_what_a_dead_run_left_is_put_back_by_the_next_one_that_may_reconfigure(bench: Bench) -> None:
    before = bench.state()
    controller = bench.controller()
    controller._hold()
    controller._apply({WINDOW: 1024}, None)
    bench.host.tool("systemctl", "stop", "dflash-lease-sglang-k26-ddtree.service")
    (bench.host.root / "run/pytest-dflash" / bench.host.unit / "until").write_text("0\n")
    timid = bench.controller("r2", heals=False)
    with pytest.raises(Refused) as refused:
        timid.restart()
    assert "an earlier run left sglang-k26-ddtree.service half changed" in str(refused.value)
    healer = bench.controller("r3")
    assert healer.restart().ready
    healer.close()
    assert bench.state() == before
    assert bench.leftovers == []


def test_a_lease_that_came_before_the_restart_is_told_and_nothing_is_broken(bench: Bench) -> None:
    controller, before = bench.controller(), bench.state()
    state = bench.host.root / "run/pytest-dflash" / bench.host.unit

    def tell(line: str) -> None:
        if line.endswith(": restart"):
            (state / "until").write_text("0\n")
            deadline = time.monotonic() + 30
            while state.exists():
                assert time.monotonic() < deadline
                time.sleep(0.05)

    controller.tell = tell
    with pytest.raises(Refused, match="ran out before it was renewed; the host was put back"):
        controller.apply({WINDOW: 1024})
    controller.close()
    assert (bench.state(), controller.broken, bench.leftovers) == (before, "", [])


def test_a_persons_edit_stays_and_is_told(bench: Bench) -> None:
    controller = bench.controller()
    with controller.reconfigured({WINDOW: 1024}):
        bench.host.unit_file.write_text(
            bench.host.unit_file.read_text().replace("--tp-size 8", "--tp-size 4")
        )
    assert "--tp-size 4" in bench.prop("ExecStart")
    assert controller.restored
    assert any("was edited meanwhile" in note for note in controller.notes)


def test_a_failed_way_back_breaks_the_controller_and_says_what_is_left(bench: Bench) -> None:
    controller = bench.controller()
    bench.patience_s = 5.0
    with pytest.raises(NotPutBack) as broken, controller.reconfigured({WINDOW: 1024}):
        bench.host.mischief.write_text('{"load_hangs": true}')
    assert "could not be put back" in str(broken.value)
    assert "by hand: `rm -f /run/systemd/system/sglang-k26-ddtree.service.d/zzz-dflash-r1.conf" in str(
        broken.value
    )
    assert (controller.restored, bool(controller.broken)) == (False, True)
    with pytest.raises(NotPutBack):
        controller.restart()
    controller.close()


def test_what_cannot_be_rewritten_is_refused_before_anything_is_touched(bench: Bench) -> None:
    before, invocation = bench.state(), bench.prop("InvocationID")
    bench.host.unit_file.write_text(bench.host.unit_file.read_text().replace("--tp-size 8", "--tp-size 4"))
    controller = bench.controller()
    with pytest.raises(Refused) as refused, controller.reconfigured({WINDOW: 1024}):
        pass
    assert "run `systemctl daemon-reload`" in str(refused.value)
    controller.close()
    assert (bench.state(), bench.prop("InvocationID")) == (before, invocation)
    assert bench.leftovers == []


def test_others_are_kept_away_from_the_first_change_until_the_end(bench: Bench) -> None:
    heard: list[str] = []

    @contextmanager
    def apart() -> Iterator[None]:
        heard.append("drain")
        yield
        heard.append("undrain")

    controller = replace(bench.controller(), apart=apart, undrain="lb undrain h")
    controller.restart()
    assert heard == ["drain"]
    assert bench.claim() == Claim(
        held=True, who="alice@laptop, run r1", since=ANY, left_s=ANY, drained=True, undrain="lb undrain h"
    )
    controller.close()
    controller.close()
    assert heard == ["drain", "undrain"]
    assert bench.leftovers == []


@pytest.mark.slow
def test_a_run_that_dies_drained_leaves_word_of_it_until_another_one_has_undrained(bench: Bench) -> None:
    dead = replace(bench.controller(lease_s=5), undrain="lb undrain h")
    bench.dead = "wait"
    with pytest.raises(Killed):
        die(dead)
    bench.dead = ""
    deadline = time.monotonic() + 60
    while (left := bench.claim()) and left.held:
        assert time.monotonic() < deadline
        time.sleep(0.1)
    assert left == Claim(held=False, drained=True, undrain="lb undrain h")
    plain = bench.controller("r2")
    plain.restart()
    plain.close()
    assert bench.claim() == left
    healer = replace(bench.controller("r3"), undrain="lb undrain h")
    healer.restart()
    healer.close()
    assert (bench.claim(), bench.leftovers) == (None, [])


def test_a_host_that_cannot_be_drained_keeps_neither_lock_nor_note(bench: Bench) -> None:
    def apart() -> AbstractContextManager[None]:
        raise Refused("foreign_traffic")

    controller = replace(bench.controller(), apart=apart, undrain="lb undrain h")
    with pytest.raises(Refused):
        controller.restart()
    assert bench.leftovers == []


def test_a_host_that_stays_out_of_rotation_is_not_put_back(bench: Bench) -> None:
    @contextmanager
    def apart() -> Iterator[None]:
        yield
        raise NotPutBack("it is still out of rotation")

    controller = replace(bench.controller(), apart=apart, undrain="lb undrain h")
    controller.restart()
    controller.close()
    assert (controller.restored, controller.broken) == (False, "it is still out of rotation")
    assert bench.claim() == Claim(held=False, drained=True, undrain="lb undrain h")


def test_a_drain_that_fails_and_cannot_be_undone_breaks_the_controller(bench: Bench) -> None:
    def apart() -> AbstractContextManager[None]:
        raise NotPutBack("it is still out of rotation")

    controller = replace(bench.controller(), apart=apart, undrain="lb undrain h")
    with pytest.raises(NotPutBack):
        controller.restart()
    assert (controller.restored, controller.broken) == (False, "it is still out of rotation")
    assert bench.claim().drained


def test_what_others_do_not_allow_touches_nothing(bench: Bench) -> None:
    def apart() -> AbstractContextManager[None]:
        raise Refused("foreign_traffic")

    controller, invocation = replace(bench.controller(), apart=apart), bench.prop("InvocationID")
    with pytest.raises(Refused):
        controller.restart()
    controller.close()
    assert (bench.prop("InvocationID"), bench.leftovers, controller.changed) == (invocation, [], False)


def test_a_run_whose_lease_came_first_touches_nobody_elses_lock(bench: Bench) -> None:
    before, first, second = bench.state(), bench.controller(), bench.controller("r2")
    first.apply({WINDOW: 1024})
    state = bench.host.root / "run/pytest-dflash" / bench.host.unit
    (state / "until").write_text("0\n")
    deadline = time.monotonic() + 15
    while state.exists():
        assert time.monotonic() < deadline
        time.sleep(0.05)
    second._hold()
    first.clock = lambda: time.monotonic() + FIRST_LEASE_S
    for _ in range(2):  # and is told so again and again: its flags are not in force any more
        with pytest.raises(Refused) as refused:
            first.beat()
        assert "ran out before it was renewed" in str(refused.value)
        first.clock = time.monotonic
    first.close()
    assert (bench.state(), first.restored) == (before, True)
    assert "run r2" in (state / "who").read_text()
    second.close()
    assert bench.leftovers == []


@pytest.mark.slow
def test_starts_longer_than_the_lease_are_waited_out_there_and_back(bench: Bench) -> None:
    """A lease of half an hour and starts of three quarters, by a clock that runs 180 times as fast."""
    before, lease_s, load_s = bench.state(), 10.0, 15.0
    bench.host.mischief.write_text(f'{{"load_seconds": {load_s}}}')
    controller = bench.controller(lease_s=lease_s)
    with controller.reconfigured({WINDOW: 1024}) as changed:
        assert changed.ready
        assert changed.took_s > load_s > lease_s
        assert bench.lease() == "active"
    assert (bench.state(), controller.restored, controller.notes) == (before, True, [])
    controller.close()
    starts = [line for line in bench.told if line.endswith((": restart", ": put back"))]
    assert len(starts) == 2, "nobody else restarted it"
    assert bench.leftovers == []


@pytest.mark.slow
def test_a_folder_of_an_odd_name_is_no_hindrance(tmp_path: Path) -> None:
    odd = tmp_path / 'it\'s "odd" $HOME é'
    odd.mkdir()
    made = Bench(odd)
    try:
        with made.controller().reconfigured({WINDOW: 1024}) as changed:
            assert changed.ready
    finally:
        made.host.close()
