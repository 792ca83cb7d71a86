from __future__ import annotations

from typing import Any

import pytest

from pytest_dflash.load import floors
from pytest_dflash.load.limit import Limit, decide
from pytest_dflash.load.measuring import bound, progress
from pytest_dflash.profile.schema import Profile, Throughput

ASKED = {"name": "chat", "class": "prose", "concurrency": 16, "prompt_tokens": 512, "output_tokens": 256}


def load(**more: Any) -> Throughput:
    return Throughput.model_validate({**ASKED, **more})


def test_a_plan_asks_what_the_profile_says_and_names_the_run() -> None:
    plan = floors.plan_of(load(time_budget_s=90), "1a2b")
    assert (plan.concurrency, plan.prompt_tokens, plan.output_tokens) == (16, 512, 256)
    assert (plan.run, plan.time_budget_s, plan.fresh) == ("1a2b", 90, True)


@pytest.mark.parametrize(
    "more, per_stream",
    [
        ({}, 2),
        ({"min_decode_tokens_per_s_per_request": 55, "time_budget_s": 120}, 2),
        ({"min_decode_tokens_per_s_per_request": 20, "time_budget_s": 120}, 1),
        ({"min_output_tokens_per_s_total": 320, "time_budget_s": 120}, 1),
    ],
)
def test_repeats_are_short_enough_that_several_fit_the_time(more: dict[str, float], per_stream: int) -> None:
    assert floors.plan_of(load(**more), "").per_stream == per_stream


def test_a_slow_answer_is_waited_for_by_its_own_floor() -> None:
    assert floors.plan_of(load(), "").request_timeout_s == 120
    slow = load(min_decode_tokens_per_s_per_request=4, max_ttft_ms=10_000)
    assert floors.plan_of(slow, "").request_timeout_s == pytest.approx(20 * (64 + 10))


def test_all_limits_of_a_profile_share_one_error() -> None:
    service = {"unit": "engine.service", "engine": "sglang"}
    loads = [
        ASKED | {"max_ttft_ms": 900, "min_decode_tokens_per_s_per_request": 50},
        ASKED | {"name": "other", "accept_length": {"min": 2.0, "max": 7.9}},
        ASKED | {"name": "shown"},
    ]
    profile = Profile.model_validate({"service": service, "throughput": loads})
    assert floors.error_of_each(profile) == pytest.approx(0.05 / 4)
    assert floors.error_of_each(Profile.model_validate({"service": service})) == 0.05


def test_a_load_without_limits_has_none() -> None:
    assert all(floors.limit_of(load(), measure) is None for measure in floors.MEASURES)
    assert floors.accept_limits(load()) == ()
    assert [each.kind for each in floors.accept_limits(load(accept_length={"max": 5.0}))] == ["ceiling"]


def test_progress_tells_estimate_bound_and_time() -> None:
    limit = Limit("decode rate of one request", "tokens/s", 45.0)
    some = decide([50.0, 52.0], limit)
    assert bound(some) == "no bound yet"
    many = decide([50.0, 52.0, 49.0, 51.0, 50.5, 49.5, 51.5, 50.0], limit)
    assert progress(load(), 8, [many], 12.3) == (
        f"chat: repeat 8, decode rate of one request 50.44 tokens/s ({bound(many)}; floor 45, met); "
        "12 s of at most 120 s"
    )
    assert progress(load(), 1, [], 2.0) == "chat: repeat 1, no limits; 2 s of at most 120 s"
