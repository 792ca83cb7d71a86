from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from pytest_dflash.findings import Outcome
from pytest_dflash.load.long_prompts import STILL, Point, Reuse, lengths_of
from pytest_dflash.profile.schema import Context
from pytest_dflash.rules.long_prompts import context, prefix_cache


def point(tokens: int, accept_length: float | None = 4.0, step_s: float = 0.02, **more: Any) -> Point:
    tpot = step_s / (accept_length or 4.0)
    return Point(
        asked_tokens=tokens, context_tokens=tokens + 3.0, accept_length=accept_length, tpot_s=tpot, **more
    )


def test_acceptance_that_stays_passes_and_is_told_by_length() -> None:
    found = context([point(1024), point(2048, 3.8), point(8192, 3.7)], Context(), 2048)
    assert found.outcome is Outcome.PASS
    assert found.summary == "accept length by prompt tokens: 4.00 at 1027, 3.80 at 2051, 3.70 at 8195"
    assert found.series["window_tokens"] == 2048


def test_a_drafter_that_goes_blind_beyond_its_window_fails() -> None:
    found = context([point(1024), point(8192, 1.4)], Context(), 2048)
    assert found.outcome is Outcome.FAIL
    assert found.summary == (
        "with 8195 tokens of prompt the accept length falls to 1.40, from 4.00 with 1027 (at least 3.20 is expected)"
    )


def test_a_step_that_takes_longer_fails_only_where_that_is_expected_not_to_be() -> None:
    points = [point(1024), point(8192, step_s=0.05)]
    assert context(points, Context(), 2048).outcome is Outcome.PASS
    found = context(points, Context(max_step_time_share=1.5), 2048)
    assert found.outcome is Outcome.FAIL
    assert "a step takes 50.0 ms, 2.50 times that of 1027 (at most 1.5 is expected)" in found.summary


def test_lengths_that_are_not_answered_fail() -> None:
    found = context([point(1024), point(8192, None, failed=("status 400",))], Context(), 2048)
    assert found.outcome is Outcome.FAIL
    assert "8192: status 400" in found.summary


def test_without_counters_nothing_is_proven() -> None:
    found = context([point(1024, None, why="404"), point(2048, None)], Context(), 2048)
    assert found.outcome is Outcome.UNPROVEN


def test_one_length_compares_nothing() -> None:
    assert context([point(1024)], Context(), None).outcome is Outcome.NOT_APPLICABLE


def reuse(**more: Any) -> Reuse:
    told: dict[str, Any] = {
        "fresh_ttft_s": 1.0,
        "again_ttft_s": 0.1,
        "cached_share": None,
        "prompt_tokens": 2000.0,
    }
    return Reuse(**{**told, **more})


@pytest.mark.parametrize(
    "found, on, outcome",
    [
        (reuse(cached_share=0.99), True, Outcome.PASS),
        (reuse(cached_share=0.0, again_ttft_s=1.0), True, Outcome.FAIL),
        (reuse(), True, Outcome.PASS),
        (reuse(again_ttft_s=0.95), True, Outcome.FAIL),
        (reuse(fresh_ttft_s=0.01, again_ttft_s=0.01), True, Outcome.UNPROVEN),
        (reuse(cached_share=0.0), False, Outcome.PASS),
        (reuse(cached_share=0.9), False, Outcome.FAIL),
        (reuse(again_ttft_s=None), True, Outcome.UNPROVEN),
        (reuse(failed=("status 500",)), True, Outcome.FAIL),
    ],
)
def test_a_prompt_that_was_read_is_not_read_again(found: Reuse, on: bool, outcome: Outcome) -> None:  # noqa: FBT001 - a case
    assert prefix_cache(found, on=on).outcome is outcome


@pytest.mark.parametrize(
    "wanted, limit, lengths",
    [
        ((), 4096, ()),
        ((512, 2560), 4096, (512, 2560)),
        ((512, 2560), None, (512, 2560)),
        ((512, 9000), 4096, (512,)),
        ((512, 4000), 4096, (512,)),
    ],
)
def test_lengths_are_the_profiles_as_far_as_the_engine_takes_them(
    wanted: tuple[int, ...], limit: int | None, lengths: tuple[int, ...]
) -> None:
    assert lengths_of(Context(lengths=wanted), limit) == lengths


def test_counters_that_fall_silent_at_a_later_length_are_no_fall_of_acceptance() -> None:
    found = context([point(1024), point(8192, None, why="GET /metrics answered 404")], Context(), 2048)
    assert found.outcome is Outcome.UNPROVEN
    assert found.summary == "the accept length at 8192 tokens could not be told: GET /metrics answered 404"


def test_counters_that_stand_still_at_a_later_length_mean_that_nothing_is_verified() -> None:
    found = context([point(1024), point(8192, None, why=STILL)], Context(), 2048)
    assert found.outcome is Outcome.FAIL
    assert found.summary == (
        "with 8195 tokens of prompt nothing is verified (the counters did not move), with 1027 the accept length is 4.00"
    )


@pytest.mark.parametrize("which", [0, 1])
def test_a_step_without_a_time_does_not_meet_a_limit_of_step_times(which: int) -> None:
    points = [point(1024), point(8192)]
    points[which] = replace(points[which], tpot_s=None)
    found = context(points, Context(max_step_time_share=1.5), 2048)
    assert found.outcome is Outcome.UNPROVEN
    assert found.summary.startswith(
        f"the time of a step at {points[which].asked_tokens} tokens could not be told"
    )
    assert context(points, Context(), 2048).outcome is Outcome.PASS
