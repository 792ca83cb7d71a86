"""A load in several processes: alike, or one of them in a slow mode."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from pytest_dflash.findings import Outcome
from pytest_dflash.load.measurement import Measurement
from pytest_dflash.load.phase import Stop
from pytest_dflash.rules.starts import starts
from tests.rules.loads import SLOW, load, measured


def thrice(*tpot_s: float, limits: dict[str, Any] | None = None, **more: Any) -> list[Measurement]:
    wanted = load(starts=len(tpot_s), **(limits or {}))
    return [measured(wanted, tpot_s=each, ttft_s=0.01, **more) for each in tpot_s]


def test_starts_that_are_alike_pass_and_show_their_rates() -> None:
    found = starts(thrice(0.02, 0.0201, 0.0199))
    assert found.outcome is Outcome.PASS
    assert found.summary.startswith("3 starts are alike: 50.2")
    assert found.measures["starts"] == 3
    assert len(found.series["values_by_start"]) == 3  # type: ignore[arg-type]  # a list


def test_a_start_in_a_slow_mode_fails_where_no_limit_says_what_is_enough() -> None:
    found = starts(thrice(0.02, 0.03, 0.02))
    assert found.outcome is Outcome.FAIL
    assert found.summary.startswith("start 2 of 3 landed in a slow mode: 33.5")
    assert "the others 50.2" in found.summary
    assert "kernels" in str(found.remedy)


def test_a_slow_mode_that_meets_every_limit_is_told_and_passes() -> None:
    found = starts(thrice(0.02, 0.03, 0.02, limits={"min_decode_tokens_per_s_per_request": 25}))
    assert found.outcome is Outcome.PASS
    assert found.summary.startswith(
        "the limits are met in each of 3 starts; start 2 of 3 landed in a slow mode"
    )


def test_a_slow_mode_below_a_floor_fails_and_names_the_start() -> None:
    found = starts(thrice(0.02, 0.03, 0.03, limits={"min_decode_tokens_per_s_per_request": 45}))
    assert found.outcome is Outcome.FAIL
    assert found.summary.startswith("starts 2, 3 of 3 landed in a slow mode")
    assert "start 2 of 3: decode rate of one request is below its floor of 45 tokens/s" in found.summary


def test_a_start_that_this_side_was_too_slow_for_proves_nothing() -> None:
    limits = {"min_decode_tokens_per_s_per_request": 49}
    found = starts(thrice(0.0202, 0.0215, limits=limits, instrument=SLOW))
    assert found.outcome is Outcome.UNPROVEN
    assert "too busy to measure" in found.summary


def test_a_load_that_was_ended_tells_of_no_mode() -> None:
    one, other = thrice(0.02, 0.03)
    ended = replace(other.result, stop=Stop.ABORTED, why="somebody came")
    found = starts([one, replace(other, result=ended)])
    assert found.outcome is Outcome.UNPROVEN
    assert "the load was ended: somebody came" in found.summary


@pytest.mark.parametrize("which", [0, 1])
def test_a_start_without_an_answer_is_unproven(which: int) -> None:
    found = thrice(0.02, 0.02)
    found[which] = replace(found[which], result=replace(found[which].result, repeats=()))
    told = starts(found)
    assert told.outcome is Outcome.UNPROVEN
    assert told.summary == f"start {which + 1} of 2 has no total rate"
