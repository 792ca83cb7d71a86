from __future__ import annotations

import pytest

from pytest_dflash.rehearsal.engine.pace import LATEST_S, Pace, Schedule, of


def test_without_a_pace_nothing_is_waited_for() -> None:
    schedule = Schedule(Pace())
    schedule.begin(5.0)

    assert schedule.after_step(3, 100, 5.7) == 0
    assert schedule.after_prompt(4000, 9.0) == 0


def test_steps_end_on_a_schedule_whatever_they_cost() -> None:
    schedule = Schedule(Pace(step_ms=20))
    schedule.begin(10.0)
    now = 10.0
    for step in range(1, 50):
        now += 0.003 if step % 7 else 0.05  # each seventh is computed too slowly
        now += schedule.after_step(1, 100, now)
    assert now == pytest.approx(10.0 + 49 * 0.02 + 0.03)


def test_a_long_delay_is_not_caught_up() -> None:
    schedule = Schedule(Pace(step_ms=20))
    schedule.begin(0.0)

    assert schedule.after_step(1, 1, 10.0) == 0
    assert schedule.due == pytest.approx(10.0 - LATEST_S + 0.02)


def test_a_rest_begins_the_schedule_anew() -> None:
    schedule = Schedule(Pace(step_ms=20))
    schedule.begin(0.0)
    schedule.after_step(1, 1, 0.001)
    schedule.begin(3.0)

    assert schedule.after_step(1, 1, 3.001) == pytest.approx(0.019)


@pytest.mark.parametrize(
    "pace, running, longest, busy, ms",
    [
        (Pace(step_ms=10), 4, 100, 0, 10),
        (Pace(step_ms=10, step_ms_per_request=2), 4, 100, 0, 16),
        (Pace(step_ms=10, draft_ms=5), 1, 100, 0, 15),
        (Pace(step_ms=10, slow_factor=3), 4, 100, 99, 10),
        (Pace(step_ms=10, slow_factor=3, slow_from_concurrency=4), 3, 100, 0, 10),
        (Pace(step_ms=10, slow_factor=3, slow_from_concurrency=4), 4, 100, 0, 30),
        (Pace(step_ms=10, slow_factor=3, slow_past_tokens=100), 1, 100, 0, 10),
        (Pace(step_ms=10, slow_factor=3, slow_past_tokens=100), 1, 101, 0, 30),
        (Pace(step_ms=10, slow_factor=3, slow_after_s=5), 1, 1, 4.9, 10),
        (Pace(step_ms=10, slow_factor=3, slow_after_s=5), 1, 1, 5.0, 30),
    ],
)
def test_a_step_takes_what_the_pace_says(
    pace: Pace, running: int, longest: int, busy: float, ms: float
) -> None:
    assert pace.step_s(running, longest, busy) == pytest.approx(ms / 1000)


def test_prompts_take_time_by_the_token() -> None:
    schedule = Schedule(Pace(prefill_ms_per_token=0.5))
    schedule.begin(0.0)

    assert schedule.after_prompt(200, 0.02) == pytest.approx(0.08)


def test_it_stalls_every_so_often() -> None:
    schedule = Schedule(Pace(step_ms=100, stall_every_s=0.35, stall_ms=1000))
    schedule.begin(0.0)
    now, waits = 0.0, []
    for _ in range(5):
        waits.append(schedule.after_step(1, 1, now))
        now += waits[-1]

    assert [round(wait, 3) for wait in waits] == [0.1, 0.1, 0.1, 1.1, 1.1]


def test_an_unknown_pace_is_refused() -> None:
    with pytest.raises(
        ValueError, match="unknown in pace: step_s; known are draft_ms, prefill_ms_per_token, "
    ):
        of({"step_s": 1})


def test_a_process_that_drafts_nothing_takes_no_time_for_drafts() -> None:
    pace = Pace(step_ms=10, draft_ms=5)
    assert pace.in_process(1, drafts=True).draft_ms == 5
    assert pace.in_process(1, drafts=False).draft_ms == 0


def test_every_so_manieth_start_is_slow_and_the_others_are_not() -> None:
    pace = Pace(step_ms=10, slow_factor=3, slow_every_start=3)
    took = [pace.in_process(start, drafts=True).step_s(1, 1, 0) for start in range(1, 7)]
    assert took == [0.01, 0.01, 0.03, 0.01, 0.01, 0.03]
