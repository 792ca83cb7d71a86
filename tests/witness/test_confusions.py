"""The confusions that cost an engineer an afternoon, each told apart from the others.

The fifth, active but not serving, is in tests/lifecycle/test_phase.py.
"""

from __future__ import annotations

import json
from dataclasses import replace

from pytest_dflash.facts.journal import Journal
from pytest_dflash.facts.reading import Reading, Silent, Value
from pytest_dflash.facts.systemd import LoadedCommand
from pytest_dflash.findings import Judgement, Outcome
from pytest_dflash.witness.chain import Sources
from pytest_dflash.witness.drift import no_drift
from pytest_dflash.witness.window import window
from tests.witness.small_engine import BEFORE, NOW, WINDOW, chain_of, healthy, log, process, told, unit_text

OLD_LINES = (f"args {json.dumps(told(WINDOW, None))}", f"draft {json.dumps({WINDOW: None})}", "ready")
ASKED = ("/opt/engine", "--model", "/m", f"--{WINDOW}", "2048")


def judged(sources: Sources) -> Judgement:
    return window(chain_of(sources), 2048, "flag")


def test_lines_of_the_previous_process_are_no_evidence() -> None:
    stale: Reading[Journal] = Value(log(*OLD_LINES, invocation=BEFORE))
    judgement = judged(replace(healthy(), journal=stale))
    assert judgement.outcome is Outcome.UNPROVEN
    assert judgement.summary == (
        f"{WINDOW} is not proven: draft_runner_log is silent: its lines are of invocation {BEFORE[:8]}…, "
        f"and {NOW[:8]}… runs now: they speak of another process; 2048 as far as server_info"
    )


def test_healthy_lines_of_the_previous_process_prove_nothing_either() -> None:
    good = (f"args {json.dumps(told(WINDOW, 2048))}", f"draft {json.dumps({WINDOW: 2048})}", "ready")
    stale: Reading[Journal] = Value(log(*good, invocation=BEFORE))
    assert judged(replace(healthy(), journal=stale)).outcome is Outcome.UNPROVEN


def test_nothing_logged_yet_is_unproven_and_not_a_missing_window() -> None:
    young = replace(healthy(), journal=Value(log("Load weight begin")), info=Silent("connection refused"))
    judgement = judged(young)
    assert judgement.outcome is Outcome.UNPROVEN
    assert "no line of the draft runner in the log of this invocation" in judgement.summary
    assert judgement.summary.endswith("2048 as far as process_argv")


def test_edited_but_not_reloaded_is_lost_between_disk_and_manager() -> None:
    without = healthy(None)
    judgement = judged(replace(without, unit_files=Value(unit_text(" ".join(ASKED)))))
    assert judgement.outcome is Outcome.FAIL
    assert judgement.between == ("unit_file", "loaded_unit")
    assert "daemon-reload" in (judgement.remedy or "")


def test_an_edit_that_was_not_meant_to_be_is_told_before_it_comes_into_force() -> None:
    judgement = judged(replace(healthy(), unit_files=Value(unit_text("/opt/engine --model /m"))))
    assert judgement.outcome is Outcome.FAIL
    assert judgement.between == ("unit_file", "loaded_unit")
    assert (judgement.cause or "").startswith("Only the disk differs")
    assert "restart" not in (judgement.remedy or "")


def test_reloaded_but_not_restarted_is_lost_between_manager_and_process() -> None:
    without = healthy(None)
    edited = replace(
        without,
        unit_files=Value(unit_text(" ".join(ASKED))),
        loaded=Value(LoadedCommand((ASKED,), {}, ())),
    )
    judgement = judged(edited)
    assert judgement.outcome is Outcome.FAIL
    assert judgement.between == ("loaded_unit", "process_argv")
    assert judgement.remedy == "systemctl restart engine.service when drained, then run again"


def test_told_all_along_and_dropped_by_the_draft_runner() -> None:
    dropped = log(
        f"args {json.dumps(told(WINDOW, 2048))}",
        f"warn {WINDOW}: has no effect with speculative_algorithm=DDTREE",
        f"draft {json.dumps({WINDOW: None})}",
        "ready",
    )
    judgement = judged(replace(healthy(), journal=Value(dropped)))
    assert judgement.summary == (
        f"{WINDOW} drifted between server_info and draft_runner_log: expected 2048, found None"
    )
    assert 'This engine warns: "has no effect with speculative_algorithm=DDTREE"' in (judgement.cause or "")


def test_a_process_that_still_runs_with_the_flag_while_the_unit_lost_it_is_told_by_no_drift_too() -> None:
    edited = replace(healthy(), loaded=Value(LoadedCommand((("/opt/engine", "--model", "/m"),), {}, ())))
    judgement = no_drift(chain_of(edited))
    assert judgement.outcome is Outcome.FAIL
    assert judgement.between == ("unit_file", "loaded_unit")


def test_the_process_is_judged_by_its_own_argv_and_not_by_the_units() -> None:
    judgement = judged(replace(healthy(), process=Value(process("/opt/engine", f"--{WINDOW}", "16"))))
    assert judgement.between == ("loaded_unit", "process_argv")
