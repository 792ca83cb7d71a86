"""A load in several processes: alike, or one of them in a slow mode."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from pytest_dflash.facts.reading import Value
from pytest_dflash.findings import Outcome
from pytest_dflash.load.measurement import Measurement
from pytest_dflash.load.phase import Stop
from pytest_dflash.load.sampling import Beside, Sight
from pytest_dflash.profile.schema import Throughput
from pytest_dflash.rules.starts import starts
from tests.rules.loads import SLOW, load, measured, refused, request
from tests.rules.test_under_load import IDLE, XID, look, working

FOREIGN = Beside(foreign=(Sight(at_s=1.0, running=4, queued=2, ours=1),))


def thrice(*tpot_s: float, limits: dict[str, Any] | None = None, **more: Any) -> list[Measurement]:
    wanted = load(starts=len(tpot_s), **(limits or {}))
    return [measured(wanted, tpot_s=each, ttft_s=0.01, **more) for each in tpot_s]


def test_starts_that_are_alike_pass_and_show_their_rates() -> None:
    found = starts(thrice(0.02, 0.0201, 0.0199))
    assert found.outcome is Outcome.PASS
    assert found.summary.startswith("3 starts are alike: 50.2")
    assert found.measures["starts"] == 3
    assert len(found.series["values_by_start"]) == 3  # type: ignore[arg-type]  # a list


def test_a_picture_is_told_which_start_is_slow_and_between_which_bounds_each_lies() -> None:
    series: dict[str, Any] = dict(
        starts(thrice(0.02, 0.03, 0.02, limits={"min_output_tokens_per_s_total": 20})).series
    )
    assert series["slow"] == [2]
    rates, low, high = (series[f"{name}_by_start"] for name in ("total_rate", "low", "high"))
    assert all(a <= b <= c for a, b, c in zip(low, rates, high, strict=True))
    assert series["alike_from"] == pytest.approx(0.95 * max(rates), abs=0.001)
    assert series["floor"] == 20


def test_a_single_repeat_has_no_bounds_to_draw() -> None:
    found = thrice(0.02, 0.02)
    one = [replace(each, result=replace(each.result, repeats=each.result.repeats[:1])) for each in found]
    series = starts(one).series
    assert (series["low_by_start"], series["high_by_start"]) == ([None, None], [None, None])


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


def test_one_repeat_of_each_start_does_not_make_them_alike() -> None:
    wanted = load(starts=2)
    found = starts([measured(wanted, [[request(0)]]), measured(wanted, [[request(0, tpot_s=0.2)]])])
    assert found.outcome is Outcome.UNPROVEN
    assert found.summary.startswith("whether 2 starts are alike is not decided: 45.9")
    assert found.summary.endswith("; one repeat each bounds nothing")
    assert "time_budget_s" in str(found.remedy)


def test_starts_whose_noise_could_hide_a_slow_mode_are_not_called_alike() -> None:
    def noisy(tpot_s: float) -> Measurement:
        scatter = (0.6, 1.5, 0.8, 1.3, 0.7, 1.4)
        return measured(
            load(starts=2), [[request(at, tpot_s=tpot_s * each)] for at, each in enumerate(scatter)]
        )

    found = starts([noisy(0.02), noisy(0.03)])
    assert found.outcome is Outcome.UNPROVEN
    assert "is not excluded" in found.summary


def test_a_start_below_its_accept_length_fails_and_is_named() -> None:
    limits = {"accept_length": {"min": 3}, "min_output_tokens_per_s_total": 20}
    for wanted in (load(starts=2, **limits), load(starts=2, accept_length={"min": 3})):
        found = starts([measured(wanted, ttft_s=0.01), measured(wanted, ttft_s=0.01, accept_length=1.2)])
        assert found.outcome is Outcome.FAIL
        assert "start 2 of 2: accept length on prose is below its floor of 3" in found.summary


def test_an_accept_length_that_is_met_does_not_excuse_a_slow_mode() -> None:
    found = starts(thrice(0.02, 0.03, 0.02, limits={"accept_length": {"min": 3}}))
    assert found.outcome is Outcome.FAIL
    assert found.summary.startswith("start 2 of 3 landed in a slow mode")


def failing(wanted: Throughput) -> Measurement:
    bad = refused()
    return measured(wanted, [[request(at, ttft_s=0.01), bad] for at in range(8)])


def test_requests_that_a_later_start_does_not_answer_fail() -> None:
    wanted = load(starts=2, min_output_tokens_per_s_total=1)
    found = starts([measured(wanted, ttft_s=0.01), failing(wanted)])
    assert found.outcome is Outcome.FAIL
    assert found.summary.startswith("start 2 of 2: 8 of 16 requests were not answered properly")
    first = starts([failing(wanted), measured(wanted, ttft_s=0.01)])
    assert first.outcome is Outcome.UNPROVEN
    assert first.summary.startswith("start 1 of 2: 8 of 16 requests were not answered")


def test_a_host_that_is_not_sound_in_a_later_start_proves_nothing() -> None:
    one, other = thrice(0.02, 0.02)
    xid = Beside(samples=(IDLE, look(Value(working()), 4, XID)))
    found = starts([one, replace(other, beside=xid)])
    assert found.outcome is Outcome.UNPROVEN
    assert found.summary.startswith("start 2 of 2 proves nothing: under load the driver reported Xid 79")


@pytest.mark.parametrize(
    "more, words",
    [
        ({"beside": FOREIGN}, "start 2: foreign_traffic"),
        ({"instrument": SLOW}, "start 2: this machine was too busy"),
    ],
)
def test_a_slow_start_that_something_else_slowed_down_is_no_slow_mode(
    more: dict[str, Any], words: str
) -> None:
    wanted = load(starts=2)
    tpot_s = 0.03 if "beside" in more else 0.0225
    found = starts([measured(wanted, ttft_s=0.01), measured(wanted, ttft_s=0.01, tpot_s=tpot_s, **more)])
    assert found.outcome is Outcome.UNPROVEN
    assert words in found.summary


def test_fewer_starts_than_wanted_prove_nothing() -> None:
    found = starts(thrice(0.02, 0.02, 0.02)[:2])
    assert found.outcome is Outcome.UNPROVEN
    assert found.summary == "only 2 of 3 starts were measured"
