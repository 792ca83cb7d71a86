"""Waiting until a unit stands still, on a clock that is moved by hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_dflash.errors import HostUnreachable
from pytest_dflash.lifecycle.phase import Observation, Phase
from pytest_dflash.lifecycle.readiness import Settled, stuck_after_s, wait_until_settled

LOADING = Observation(
    load_state="loaded",
    active_state="active",
    sub_state="running",
    serving_process=True,
    port=30000,
    port_open=False,
    progress="Load weight",
    n_restarts=0,
    invocation_id="aa",
)
READY = replace(LOADING, port_open=True, owner_in_unit=True, ready_line="ready", progress="ready")
CRASHED = replace(LOADING, active_state="failed", sub_state="failed", result="exit-code")


class Clock:
    """Seconds that pass only by sleeping, and by what a look costs."""

    def __init__(self, seen: Sequence[Observation], look_s: float = 0.0) -> None:
        self.now = 100.0
        self.slept: list[float] = []
        self.told: list[str] = []
        self._seen = list(seen)
        self._look_s = look_s
        self.looks = 0

    def time(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds

    def observe(self) -> Observation:
        self.looks += 1
        self.now += self._look_s
        return self._seen.pop(0) if len(self._seen) > 1 else self._seen[0]

    def wait(
        self, timeout_s: float = 900.0, stuck_s: float | None = None, before: str | None = None
    ) -> Settled:
        return wait_until_settled(
            self.observe,
            timeout_s=timeout_s,
            stuck_s=stuck_s,
            before=before,
            sleep=self.sleep,
            clock=self.time,
            progress=self.told.append,
        )


def test_what_is_ready_already_is_not_waited_for() -> None:
    clock = Clock([READY])
    settled = clock.wait()
    assert (settled.phase, settled.waited_s, clock.slept) == (Phase.READY, 0.0, [])


@pytest.mark.parametrize("look_s", [0.0, 0.1, 0.4])
def test_readiness_is_noticed_within_a_second(look_s: float) -> None:
    clock = Clock([LOADING] * 12 + [READY], look_s)
    assert clock.wait().phase is Phase.READY
    assert clock.slept == pytest.approx([0.5 - look_s] * 12)


def test_a_host_that_answers_slowly_gets_a_pause_between_two_looks() -> None:
    clock = Clock([LOADING] * 3 + [READY], look_s=2.0)
    clock.wait()
    assert clock.slept == [0.1] * 3


@pytest.mark.parametrize(
    "last, phase",
    [
        (CRASHED, Phase.FAILED),
        (replace(LOADING, sub_state="auto-restart"), Phase.CRASH_LOOP),
        (replace(LOADING, active_state="inactive", sub_state="dead"), Phase.NOT_RUNNING),
        (replace(READY, port_open=False), Phase.ACTIVE_NOT_SERVING),
        (replace(READY, owner_in_unit=False), Phase.SERVING_OLDER_PROCESS),
        (Observation(), Phase.UNKNOWN),
    ],
)
def test_it_stops_at_once_when_waiting_cannot_mend_it(last: Observation, phase: Phase) -> None:
    clock = Clock([LOADING, last])
    settled = clock.wait()
    assert (settled.phase, settled.timed_out, clock.looks) == (phase, False, 2)


def test_a_loading_unit_whose_restarts_grow_is_a_crash_loop() -> None:
    again = replace(LOADING, n_restarts=1, invocation_id="bb")
    settled = Clock([LOADING, LOADING, again]).wait()
    assert settled.phase is Phase.CRASH_LOOP
    assert settled.observation.restarts_grown is True


def test_a_loading_unit_that_somebody_restarts_is_not_waited_for_either() -> None:
    assert Clock([LOADING, replace(LOADING, invocation_id="bb")]).wait().phase is Phase.CRASH_LOOP


def test_a_counter_that_was_reset_is_no_restart() -> None:
    crashed_before = replace(LOADING, n_restarts=3)
    assert Clock([crashed_before, LOADING, READY]).wait().phase is Phase.READY


def test_restarts_from_before_the_first_look_are_history() -> None:
    assert Clock([replace(LOADING, n_restarts=3), replace(READY, n_restarts=3)]).wait().phase is Phase.READY


def test_at_the_deadline_it_tells_what_the_unit_was_doing() -> None:
    clock = Clock([LOADING])
    settled = clock.wait(timeout_s=10.0)
    assert settled.timed_out
    assert settled.phase is Phase.LOADING
    assert settled.why == "still loading after 10 s: the engine is loading: Load weight"
    assert sum(clock.slept) == pytest.approx(10.0)


def test_slow_looks_count_against_the_deadline() -> None:
    clock = Clock([LOADING], look_s=4.0)
    settled = clock.wait(timeout_s=10.0)
    assert settled.waited_s <= 14.0
    assert clock.looks == 3


def test_without_any_time_it_looks_once() -> None:
    clock = Clock([LOADING])
    assert clock.wait(timeout_s=0.0).timed_out
    assert clock.looks == 1


def test_progress_is_told_at_every_look() -> None:
    shards = replace(LOADING, progress="shards 3/8")
    clock = Clock([LOADING, replace(shards, age_s=1.0), replace(shards, age_s=2.0), READY])
    clock.wait()
    assert clock.told == ["loading: Load weight", "loading: shards 3/8", "loading: shards 3/8", "ready"]


def test_a_stuck_start_is_not_waited_for_to_the_end() -> None:
    clock = Clock([LOADING])
    settled = clock.wait(timeout_s=3600.0, stuck_s=60.0)
    assert settled.timed_out
    assert settled.waited_s == pytest.approx(60.0)
    assert settled.why == (
        "still loading after 60 s, and nothing moved for 60 s: the engine is loading: Load weight"
    )


def test_a_start_that_stops_moving_in_the_middle_is_stuck_from_there() -> None:
    moving = [replace(LOADING, progress=f"shards {number}/64") for number in range(50)]
    settled = Clock(moving).wait(timeout_s=3600.0, stuck_s=60.0)
    assert settled.waited_s == pytest.approx(49 * 0.5 + 60.0)


@pytest.mark.parametrize(
    "moving",
    [
        [replace(LOADING, progress=f"shards {number}") for number in range(2000)],
        [replace(LOADING, newest_us=number) for number in range(2000)],
    ],
    ids=["progress", "lines"],
)
def test_a_moving_start_keeps_its_deadline(moving: list[Observation]) -> None:
    settled = Clock(moving).wait(timeout_s=700.0, stuck_s=5.0)
    assert settled.waited_s == pytest.approx(700.0)
    assert "nothing moved" not in settled.why


def test_how_long_nothing_may_move_grows_with_the_time_that_a_start_has() -> None:
    assert (stuck_after_s(60.0), stuck_after_s(900.0), stuck_after_s(3600.0)) == (300.0, 300.0, 1200.0)


def test_after_a_restart_the_old_invocation_is_not_taken_for_the_new_one() -> None:
    settled = Clock([READY]).wait(before="aa")
    assert settled.phase is Phase.NOT_RESTARTED
    assert settled.why == "it is still the invocation from before the restart"


def test_after_a_restart_the_change_of_invocation_is_no_crash_loop() -> None:
    stopping = replace(READY, active_state="deactivating", sub_state="stop-sigterm")
    fresh = replace(LOADING, invocation_id="bb")
    settled = Clock([stopping, fresh, replace(READY, invocation_id="bb")]).wait(before="aa")
    assert settled.phase is Phase.READY
    assert settled.observation.invocation_changed is True


def test_a_second_new_invocation_after_a_restart_is_a_crash_loop() -> None:
    looks = [replace(LOADING, invocation_id=each) for each in ("bb", "cc")]
    assert Clock(looks).wait(before="aa").phase is Phase.CRASH_LOOP


OUTSIDE = st.sampled_from(["", "active", "activating", "deactivating", "failed", "inactive", "hatching"])


@given(
    st.lists(st.builds(replace, st.sampled_from([LOADING, READY]), active_state=OUTSIDE), min_size=1),
    st.floats(0.0, 500.0),
    st.floats(0.1, 100.0),
)
def test_no_wait_outlasts_its_time(seen: list[Observation], timeout_s: float, stuck_s: float) -> None:
    clock = Clock(seen, look_s=0.5)
    settled = clock.wait(timeout_s=timeout_s, stuck_s=stuck_s)
    assert settled.waited_s <= timeout_s + 0.5 + 1e-6
    assert settled.why


def test_a_host_that_is_lost_ends_the_wait() -> None:
    def lost() -> Observation:
        raise HostUnreachable("no route", "look at the network")

    clock = Clock([LOADING])
    with pytest.raises(HostUnreachable, match="no route"):
        wait_until_settled(lost, timeout_s=900.0, sleep=clock.sleep, clock=clock.time)
    assert clock.slept == []
