"""How a unit stands: every row of the table, by what was really seen on hosts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_dflash.facts.exits import exit_meaning
from pytest_dflash.lifecycle.ending import RESULTS, ending
from pytest_dflash.lifecycle.phase import TABLE, Observation, Phase, standing

LOADING = Observation(
    load_state="loaded",
    active_state="active",
    sub_state="running",
    result="success",
    serving_process=True,
    port=30000,
    port_open=False,
    progress="Load weight 3/8",
    age_s=12.0,
    n_restarts=0,
)
READY = replace(
    LOADING,
    port_open=True,
    owner_in_unit=True,
    ready_line="The server is fired up",
    progress="ready",
    age_s=60.0,
)
FAILED = replace(LOADING, active_state="failed", sub_state="failed", result="exit-code", port_open=False)


def test_a_silent_manager_leaves_the_phase_unknown() -> None:
    assert standing(Observation()).phase is Phase.UNKNOWN


@pytest.mark.parametrize("load_state", ["not-found", "masked"])
def test_a_unit_that_cannot_be_started_is_not_running(load_state: str) -> None:
    seen = Observation(load_state=load_state, active_state="inactive", sub_state="dead")
    assert standing(seen).phase is Phase.NOT_RUNNING
    assert standing(seen).why == f"the unit is {load_state}, so it cannot be started"


def test_a_unit_masked_while_it_runs_still_serves() -> None:
    assert standing(replace(READY, load_state="masked")).phase is Phase.READY


def test_a_bad_drop_in_does_not_stop_a_running_service() -> None:
    assert standing(replace(READY, load_state="bad-setting")).phase is Phase.READY


def test_failed_after_a_stop_is_no_crash() -> None:
    seen = replace(FAILED, result="signal", exit_meaning="killed by SIGKILL", stopped_by_request=True)
    assert standing(seen).phase is Phase.NOT_RUNNING
    assert standing(seen).why == (
        "it was stopped; systemd calls it failed because of how the engine ended (killed by SIGKILL)"
    )


def test_failed_without_a_stop_says_how_it_ended() -> None:
    seen = replace(FAILED, exit_meaning=exit_meaning(1, 203))
    assert standing(seen).phase is Phase.FAILED
    assert standing(seen).why == (
        "it failed (exited with 203 (EXEC: the program of ExecStart= does not exist or may not be executed)), "
        "and systemd does not start it again"
    )


@pytest.mark.parametrize("result", [result for result, words in RESULTS.items() if words])
def test_failed_by_the_manager_says_what_its_result_means(result: str) -> None:
    seen = replace(FAILED, result=result, exit_meaning="killed by SIGKILL")
    assert standing(seen).phase is Phase.FAILED
    assert standing(seen).why == (
        f"it failed (killed by SIGKILL; {RESULTS[result]}), and systemd does not start it again"
    )


def test_a_start_limit_is_told_also_where_the_result_keeps_the_first_cause() -> None:
    why = standing(replace(FAILED, start_limit=True, exit_meaning="exited with 2")).why
    assert "exited with 2; it was started too often for StartLimitBurst=" in why


@pytest.mark.parametrize(
    "result, exit_words, said",
    [
        ("", "", ""),
        ("success", "", ""),
        ("success", "exited with 0 (success)", " (exited with 0 (success))"),
        ("exit-code", "", " (Result=exit-code)"),
        ("exit-code", "exited with 2", " (exited with 2)"),
        ("some-new-result", "exited with 2", " (exited with 2; Result=some-new-result)"),
    ],
)
def test_an_ending_says_what_is_known_and_nothing_twice(result: str, exit_words: str, said: str) -> None:
    assert ending(exit_words, result) == said


def test_the_pause_between_two_crashes_is_a_crash_loop() -> None:
    seen = replace(LOADING, active_state="activating", sub_state="auto-restart", result="signal")
    assert standing(seen).phase is Phase.CRASH_LOOP
    assert standing(replace(seen, sub_state="auto-restart-queued")).phase is Phase.CRASH_LOOP


def test_a_crash_loop_that_looks_fine_right_now_is_one_by_its_restarts() -> None:
    seen = replace(LOADING, restarts_grown=True, n_restarts=4)
    assert standing(seen).phase is Phase.CRASH_LOOP
    assert standing(seen).why == "it was started again while we looked, 4 times by systemd so far"


def test_a_loop_that_systemd_gave_up_is_failed() -> None:
    assert standing(replace(FAILED, restarts_grown=True)).phase is Phase.FAILED


@pytest.mark.parametrize(
    "active, sub, phase",
    [
        ("deactivating", "stop-sigterm", Phase.STOPPING),
        ("inactive", "dead", Phase.NOT_RUNNING),
        ("maintenance", "dead", Phase.NOT_RUNNING),
        ("activating", "start-pre", Phase.STARTING),
        ("hatching", "", Phase.UNKNOWN),
    ],
)
def test_the_states_of_systemd_that_are_not_active(active: str, sub: str, phase: Phase) -> None:
    assert standing(replace(LOADING, active_state=active, sub_state=sub, progress="")).phase is phase


def test_after_a_restart_that_changed_nothing_it_is_not_restarted() -> None:
    assert standing(replace(READY, invocation_changed=False)).phase is Phase.NOT_RESTARTED
    assert standing(replace(READY, invocation_changed=True)).phase is Phase.READY


def test_a_port_that_belongs_to_another_process_is_served_by_that_one() -> None:
    seen = replace(READY, owner_in_unit=False, owner="pid 77 (python)")
    assert standing(seen).phase is Phase.SERVING_OLDER_PROCESS
    assert standing(seen).why == (
        "port 30000 belongs to pid 77 (python) outside of this invocation: requests reach that one"
    )


def test_active_but_not_serving_because_the_engine_died_inside_its_wrapper() -> None:
    seen = replace(LOADING, serving_process=False, age_s=300.0)
    assert standing(seen).phase is Phase.ACTIVE_NOT_SERVING
    assert standing(seen).why == "the unit is active, and no process of it runs the engine"


def test_active_but_not_serving_because_its_process_is_over() -> None:
    assert standing(replace(READY, sub_state="exited")).phase is Phase.ACTIVE_NOT_SERVING


def test_active_but_not_serving_because_the_port_is_closed_after_it_was_ready() -> None:
    seen = replace(READY, port_open=False, owner_in_unit=None)
    assert standing(seen).phase is Phase.ACTIVE_NOT_SERVING
    assert standing(seen).why == "it logged that it is ready, and nobody listens on port 30000"


def test_active_but_not_serving_because_nothing_answers_on_the_port() -> None:
    assert standing(replace(READY, answers=False)).phase is Phase.ACTIVE_NOT_SERVING


def test_active_but_not_serving_because_its_completions_are_wrong() -> None:
    seen = replace(READY, answers=True, completes=False)
    assert standing(seen).phase is Phase.ACTIVE_NOT_SERVING
    assert (
        standing(seen).why
        == "it logged that it is ready, and a short completion on port 30000 came out wrong"
    )


def test_a_unit_that_must_tell_systemd_itself_is_loading_until_it_does() -> None:
    seen = replace(LOADING, active_state="activating", sub_state="start")
    assert standing(seen).phase is Phase.LOADING
    assert standing(seen).why == "systemd is starting it, and the engine is loading: Load weight 3/8"
    assert standing(replace(seen, progress="")).why == "systemd is starting it (start)"
    ready = replace(READY, active_state="activating", sub_state="start")
    assert standing(ready).phase is Phase.STARTING
    assert standing(ready).why == (
        "the engine logged that it is ready, and systemd still waits for its word (Type=notify)"
    )


def test_a_young_wrapper_may_still_bring_up_the_engine() -> None:
    assert standing(replace(LOADING, serving_process=False, age_s=3.0)).phase is Phase.STARTING


def test_the_owner_of_the_port_is_the_engine_under_whatever_title() -> None:
    assert standing(replace(READY, serving_process=False)).phase is Phase.READY


def test_ready_is_the_ready_line_together_with_the_port_of_its_own_process() -> None:
    assert standing(READY).why == "it logged that it is ready, and port 30000 belongs to its process"


def test_ready_is_also_an_answer_when_the_log_cannot_be_read() -> None:
    seen = replace(READY, ready_line=None, log_heard=False, answers=True)
    assert standing(seen).phase is Phase.READY


def test_an_answer_from_an_unseen_owner_is_ready_and_says_what_is_not_proven() -> None:
    seen = replace(READY, owner_in_unit=None, answers=True)
    assert standing(seen).phase is Phase.READY
    assert standing(seen).why == "port 30000 answers; whose process answers could not be seen"


def test_the_ready_line_alone_is_not_readiness() -> None:
    assert standing(replace(READY, port_open=None, owner_in_unit=None)).phase is Phase.UNKNOWN
    assert standing(replace(READY, owner_in_unit=None)).phase is Phase.UNKNOWN


def test_an_open_port_without_the_ready_line_is_still_loading() -> None:
    seen = replace(READY, ready_line=None, progress="Capture cuda graph")
    assert standing(seen).phase is Phase.LOADING
    assert standing(seen).why == "port 30000 is open, and the engine is not ready yet: Capture cuda graph"
    assert standing(replace(seen, answers=True)).phase is Phase.LOADING


def test_loading_tells_what_it_is_busy_with() -> None:
    assert standing(LOADING).why == "the engine is loading: Load weight 3/8"


def test_nothing_logged_yet_is_starting() -> None:
    seen = replace(LOADING, progress="")
    assert standing(seen).phase is Phase.STARTING
    assert standing(seen).why == "the process is there and has logged nothing that tells yet"


def test_a_closed_port_and_an_unreadable_log_is_loading() -> None:
    seen = replace(LOADING, progress="", log_heard=False)
    assert standing(seen).phase is Phase.LOADING
    assert standing(seen).why == "port 30000 is not open yet, and the log cannot be read"


NONE_OR_BOOL = st.sampled_from([None, True, False])
OBSERVATIONS = st.builds(
    Observation,
    load_state=st.sampled_from(["", "loaded", "not-found", "masked", "bad-setting"]),
    active_state=st.sampled_from(
        ["", "active", "reloading", "inactive", "failed", "activating", "deactivating", "other"]
    ),
    sub_state=st.sampled_from(["", "running", "exited", "auto-restart", "dead", "failed", "stop-sigterm"]),
    result=st.sampled_from(["", "success", "exit-code", "signal", "oom-kill"]),
    stopped_by_request=NONE_OR_BOOL,
    restarts_grown=NONE_OR_BOOL,
    invocation_changed=NONE_OR_BOOL,
    serving_process=NONE_OR_BOOL,
    port_open=NONE_OR_BOOL,
    owner_in_unit=NONE_OR_BOOL,
    log_heard=st.booleans(),
    ready_line=st.sampled_from([None, "ready"]),
    answers=NONE_OR_BOOL,
    completes=NONE_OR_BOOL,
    containers=st.booleans(),
    start_limit=st.booleans(),
    progress=st.sampled_from(["", "Load weight"]),
    age_s=st.sampled_from([None, 1.0, 600.0]),
)


@given(OBSERVATIONS)
def test_every_observation_has_a_phase_and_a_reason(seen: Observation) -> None:
    now = standing(seen)
    assert now.phase in Phase
    assert now.why


@given(OBSERVATIONS)
def test_nothing_is_ready_without_proof(seen: Observation) -> None:
    if standing(seen).phase is not Phase.READY:
        return
    assert seen.active_state in {"active", "reloading"}
    assert seen.port_open is not False
    assert seen.owner_in_unit is not False
    assert seen.answers is not False
    assert seen.completes is not False
    assert seen.restarts_grown is not True
    assert seen.answers or (seen.ready_line and seen.owner_in_unit)


def test_every_row_of_the_table_can_be_reached() -> None:
    reached = {id(next(row for row in TABLE if row.when(seen))) for seen in SEEN}
    assert [row.phase for row in TABLE if id(row) not in reached] == []


SEEN = (
    Observation(),
    replace(LOADING, serving_process=False, containers=True),
    Observation(load_state="masked", active_state="inactive"),
    replace(FAILED, stopped_by_request=True),
    FAILED,
    replace(LOADING, sub_state="auto-restart"),
    replace(LOADING, restarts_grown=True),
    replace(LOADING, active_state="deactivating"),
    replace(LOADING, active_state="inactive"),
    replace(READY, active_state="activating"),
    replace(LOADING, active_state="activating"),
    replace(LOADING, active_state="activating", progress=""),
    replace(LOADING, active_state="hatching"),
    replace(READY, invocation_changed=False),
    replace(READY, owner_in_unit=False),
    replace(READY, sub_state="exited"),
    replace(LOADING, serving_process=False),
    replace(LOADING, serving_process=False, age_s=None),
    replace(READY, port_open=False),
    replace(READY, answers=False),
    replace(READY, completes=False),
    replace(READY, answers=True),
    READY,
    replace(READY, owner_in_unit=None),
    replace(READY, ready_line=None),
    LOADING,
    replace(LOADING, progress=""),
    replace(LOADING, progress="", log_heard=False),
)


def test_only_what_may_change_by_itself_is_waited_for() -> None:
    assert {phase for phase in Phase if phase.transient} == {Phase.STOPPING, Phase.STARTING, Phase.LOADING}


WAYS_OUT: dict[str, tuple[Phase, Callable[[Observation], Observation]]] = {
    "it comes up": (
        Phase.READY,
        lambda seen: replace(READY, load_state=seen.load_state, invocation_changed=seen.invocation_changed),
    ),
    "it fails": (Phase.FAILED, lambda seen: replace(seen, active_state="failed", stopped_by_request=False)),
    "it is stopped": (
        Phase.NOT_RUNNING,
        lambda seen: replace(seen, active_state="inactive", sub_state="dead"),
    ),
    "it starts again": (
        Phase.CRASH_LOOP,
        lambda seen: replace(seen, active_state="activating", sub_state="auto-restart"),
    ),
}


@given(OBSERVATIONS.filter(lambda seen: seen.load_state in {"loaded", "bad-setting"}))
def test_out_of_every_phase_that_is_waited_in_there_is_a_way(seen: Observation) -> None:
    if not standing(seen).phase.transient:
        return
    settled = replace(seen, invocation_changed=None, restarts_grown=None)
    for phase, step in WAYS_OUT.values():
        assert standing(step(settled)).phase is phase


def test_a_server_that_ended_by_itself_is_told_with_what_its_log_ends() -> None:
    ended = replace(
        LOADING, active_state="inactive", sub_state="dead", exit_meaning="", progress="the engine core died"
    )
    assert standing(ended).why == "it is inactive; its log ends with: the engine core died"
    assert standing(replace(ended, stopped_by_request=True)).why == "it is inactive"
