"""The unit: loaded, active, stable."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from pytest_dflash.facts.reading import Absent, Reading, Silent, Value
from pytest_dflash.facts.starts import Previous, Starts
from pytest_dflash.findings import Judgement, Outcome
from pytest_dflash.rules import systemd
from tests.rules.healthy_host import DAY_US, NOT_HEARD, clock, unit

FIRST: Reading[Previous] = Absent("journal: it keeps no earlier invocation of the unit")
CRASHED = Value(
    Previous("b" * 32, "killed", 9, "signal", stop_requested=False, ended_realtime_us=1, last_lines=())
)
STOPPED = Value(
    Previous("b" * 32, "killed", 9, "signal", stop_requested=True, ended_realtime_us=1, last_lines=())
)


def starts(number: int, *, whole: bool = True) -> Value[Starts]:
    return Value(Starts(tuple(range(number)), 10**15, whole), "journal")


def stable(
    previous: Reading[Previous] = FIRST, count: Any = None, days: float = 11, **changes: Any
) -> Judgement:
    return systemd.stable(unit(**changes), previous, count or starts(0), clock(days))


def test_a_loaded_unit_passes() -> None:
    assert systemd.loaded(unit()).summary == "load state of the unit: loaded"


@pytest.mark.parametrize(
    "state, remedy",
    [
        (
            "not-found",
            "check service.unit, and for a user's unit service.user_manager: `systemctl list-units --all`",
        ),
        ("masked", "`systemctl unmask` it"),
        ("bad-setting", "`systemd-analyze verify` names the line; mend it and daemon-reload"),
        ("error", "`systemd-analyze verify` names the reason"),
        ("stub", "`systemctl status` tells why"),
    ],
)
def test_a_unit_that_is_not_loaded_fails_with_the_next_step(state: str, remedy: str) -> None:
    judgement = systemd.loaded(unit(load_state=state))
    assert judgement.outcome is Outcome.FAIL
    assert judgement.summary == f"load state of the unit: expected loaded, found {state}"
    assert judgement.remedy == remedy


@pytest.mark.parametrize("rule", [systemd.loaded, systemd.active])
def test_where_the_unit_is_not_the_host_s_engines_are_named(rule: Callable[..., Judgement]) -> None:
    gone = unit(load_state="not-found", active_state="inactive", sub_state="dead")
    assert rule(gone, lambda: ["a.service (sglang, active)", "b.service (vllm, failed)"]).remedy == (
        "set service.unit to the unit that is meant; those of an engine on this host: a.service (sglang, active), "
        "b.service (vllm, failed); for a user's unit set service.user_manager"
    )
    assert str(rule(gone, list).remedy).endswith(
        "no unit was seen that runs or names an engine that is known here (root sees more: --sudo)"
    )


@pytest.mark.parametrize("rule", [systemd.loaded, systemd.active])
def test_a_host_is_not_asked_for_other_units_where_the_profile_s_is_there(
    rule: Callable[..., Judgement],
) -> None:
    def here() -> list[str]:
        raise AssertionError

    assert rule(unit(), here).outcome is Outcome.PASS
    assert rule(unit(load_state="masked", active_state="failed"), here).outcome is Outcome.FAIL


def test_a_template_is_told_to_be_one() -> None:
    why = "`systemctl show` ended with 1: Unit name sglang@.service is neither a valid invocation ID nor unit name."
    judgement = systemd.loaded(Silent(why))
    assert judgement.outcome is Outcome.FAIL
    assert judgement.cause == "a template (name@.service) is no unit: its instances are"


@pytest.mark.parametrize(
    "changes, said",
    [
        ({"active_state": "inactive", "sub_state": "dead"}, "found inactive (dead)"),
        (
            {
                "active_state": "failed",
                "sub_state": "failed",
                "result": "exit-code",
                "exec_main_code": 1,
                "exec_main_status": 2,
            },
            "found failed (failed), exited with 2 (wrong arguments: the program refused its command line), result exit-code",
        ),
        (
            {"active_state": "activating", "sub_state": "auto-restart", "result": "signal"},
            "(auto-restart), result signal",
        ),
        ({"sub_state": "exited"}, "found active (exited)"),
    ],
)
def test_a_unit_that_does_not_run_is_told_with_its_end(changes: Any, said: str) -> None:
    judgement = systemd.active(unit(**changes))
    assert judgement.outcome is Outcome.FAIL
    assert said in judgement.summary


def test_an_active_unit_passes() -> None:
    assert systemd.active(unit()).summary == "state of the unit: active (running)"


def test_a_unit_that_never_restarted_is_stable_and_says_for_how_long() -> None:
    judgement = stable()
    assert judgement.outcome is Outcome.PASS
    assert judgement.summary == "no restart by the manager; up for 10 days; 0 starts in the last 24 hours"
    assert judgement.measures == {"restarts_by_manager": 0, "up_s": 864_000.0, "starts_24h": 0}


def test_restarts_weeks_ago_are_told_and_not_held_against_it() -> None:
    judgement = stable(n_restarts=2)
    assert judgement.outcome is Outcome.PASS
    assert judgement.summary.startswith(
        "no restart by the manager for 10 days, twice before that; up for 10 days"
    )


def test_a_restart_within_a_day_fails_with_the_end_of_the_run_before() -> None:
    judgement = stable(CRASHED, starts(3, whole=False), days=1.1, n_restarts=1)
    assert judgement.outcome is Outcome.FAIL
    assert judgement.summary.startswith(
        "the manager restarted the unit by itself, once; up for 2 h; "
        "at least 3 starts in the last 24 hours: the journal does not reach back so far; "
        "the run before killed by SIGKILL"
    )
    assert judgement.cause == "the process crashes and Restart= hides it"


def test_a_crash_loop_is_red_in_the_seconds_in_which_it_looks_fine_and_in_the_others() -> None:
    looks_fine = stable(CRASHED, starts(4), days=1.00002, n_restarts=3, result="success")
    assert looks_fine.outcome is Outcome.FAIL
    between = stable(active_state="activating", sub_state="auto-restart", n_restarts=0)
    assert between.outcome is Outcome.FAIL
    assert between.summary.startswith("the unit ended, and the manager is about to start it anew")


def test_a_loop_that_the_manager_gave_up_is_red() -> None:
    assert stable(active_state="failed", sub_state="failed", n_restarts=5).outcome is Outcome.FAIL


def test_whoever_mended_a_crash_and_started_it_by_hand_is_not_accused() -> None:
    judgement = stable(CRASHED, starts(2), days=1.001, n_restarts=0)
    assert judgement.outcome is Outcome.PASS
    assert "the run before killed by SIGKILL" in judgement.summary


def test_a_stop_that_systemd_calls_failed_is_no_crash() -> None:
    judgement = stable(STOPPED, starts(1), n_restarts=0)
    assert judgement.outcome is Outcome.PASS
    assert judgement.summary.endswith(", after a stop was asked for")


def test_restarts_without_a_clock_count() -> None:
    judgement = systemd.stable(unit(n_restarts=1), FIRST, NOT_HEARD, NOT_HEARD)
    assert judgement.outcome is Outcome.FAIL


@pytest.mark.parametrize("reading", [NOT_HEARD, unit(n_restarts=None), unit(load_state="not-found")])
def test_a_manager_that_does_not_tell_proves_no_stability(reading: Any) -> None:
    judgement = systemd.stable(reading, FIRST, starts(0), clock())
    assert judgement.outcome is Outcome.UNPROVEN


def test_silence_is_unproven() -> None:
    for judge in (systemd.loaded, systemd.active):
        assert judge(NOT_HEARD).outcome is Outcome.UNPROVEN


@pytest.mark.parametrize(
    "seconds, words",
    [(5, "5 s"), (61, "1 min"), (7000, "2 h"), (DAY_US / 1e6, "24 h"), (3 * DAY_US / 1e6, "3 days")],
)
def test_spans_are_spelled_as_a_person_would(seconds: float, words: str) -> None:
    assert systemd.spell(seconds) == words
