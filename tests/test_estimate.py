"""The plan: what the chosen checks cost, from checks and a profile alone."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_dflash.checks import Check
from pytest_dflash.estimate import Estimate, estimate, lines
from pytest_dflash.levels import Allowed
from pytest_dflash.lifecycle.allowance import Allowance
from pytest_dflash.profile.schema import Profile

READ = Check("systemd.active")
PROBE = Check("endpoint.completion", "probe", requests=1, tokens=64)
RESTART = Check("lifecycle.restarts", "restart", restarts=1)
STAYS = Check("lifecycle.stays_up", "restart", restarts=1, requests=1, tokens=8, seconds=120)
BUDGET = Check("lifecycle.budget_in_force", "reconfigure", restarts=1)
LOAD = Check("throughput.decode_rate", "load", "load")
ALL = (READ, PROBE, RESTART, STAYS, BUDGET, LOAD)
EVERYTHING = Allowed(("load", "reconfigure"))
SERVICE = {"unit": "engine.service", "engine": "sglang"}


def profile(**tables: Any) -> Profile:
    return Profile.model_validate({"service": SERVICE, **tables})


TREE = {"budgets": (1, 7, 31), "topks": (1, 4), "topk_flag": "speculative-eagle-topk"}


def cost(*checks: Check, allowed: Allowed = EVERYTHING, **tables: Any) -> Estimate:
    return estimate(checks or ALL, allowed, profile(**tables), 900.0)


def plan(
    *checks: Check, allowed: Allowed = EVERYTHING, allowance: Allowance | None = None, **tables: Any
) -> list[str]:
    found = cost(*checks, allowed=allowed, **tables)
    return list(
        lines(
            "gpu1",
            found,
            allowed=allowed,
            profile=profile(**tables),
            ready_timeout_s=900.0,
            allowance=allowance or Allowance(),
            reports="/tmp/reports",
        )
    )


def test_reading_costs_next_to_nothing() -> None:
    assert plan(READ, PROBE, allowed=Allowed()) == [
        "plan for gpu1 (allowed: load)",
        "  checks    2 run",
        "  reads     1 connection, at most 3 commands",
        "  requests  1, at most 64 new tokens",
        "  restarts  0",
        "  writes    nothing there",
        "  writes    report.html, junit.xml, findings.json here, in /tmp/reports",
        "  time      about 1 min, and up to 900 s more if the unit is still starting",
    ]


def test_what_the_level_does_not_reach_is_counted_by_the_level_that_it_needs() -> None:
    held = plan(allowed=Allowed(("read",)))
    assert (
        held[1]
        == "  checks    1 run, 1 need probe, 2 need restart, 1 need reconfigure, 1 need load and are not run"
    )
    assert cost(allowed=Allowed(("read",))).restarts == 0


def test_one_restart_is_shared_by_all_that_need_it() -> None:
    found = cost(RESTART, STAYS, lifecycle={"ready_within_s": 600, "stays_up_s": 60})
    assert (found.restarts, found.reconfigured) == (1, 0)
    assert (found.requests, found.tokens) == (2, 8 + 64)
    assert found.seconds == pytest.approx(5 + 2 * 3 + 60 + 600)


def test_a_fresh_process_is_asked_for_a_completion_where_any_may_be_asked_for() -> None:
    assert cost(RESTART).requests == 1
    assert cost(RESTART, allowed=Allowed(("read", "restart"))).requests == 0


def test_budgets_and_topks_cost_a_restart_each_and_one_to_put_back() -> None:
    found = plan(READ, RESTART, BUDGET, BUDGET, tree=TREE, lifecycle={"ready_within_s": 300})
    assert found[4:] == [
        "  restarts  8: 1 as it is, 6 for 3 budgets at 2 top-ks, 1 to put it back",
        "  writes    /run/pytest-dflash/engine.service/ there (lock and lease), taken away again",
        "  writes    /run/systemd/system/engine.service.d/zzz-dflash-RUN.conf there, taken away again",
        "  writes    report.html, junit.xml, findings.json here, in /tmp/reports",
        "  time      about 40 min, each start 300 s (lifecycle.ready_within_s)",
    ]


def test_without_a_promise_a_start_may_take_its_timeout() -> None:
    assert plan(RESTART)[-1] == "  time      about 15 min, each start 900 s (the ready timeout)"


def test_without_budgets_nothing_is_reconfigured() -> None:
    assert cost(BUDGET).restarts == 0


def test_loads_take_the_time_that_the_profile_gives_them() -> None:
    load = {"name": "chat", "class": "prose", "concurrency": 1, "prompt_tokens": 9, "output_tokens": 9}
    found = cost(
        LOAD, throughput=[load | {"time_budget_s": 100}, load | {"name": "code", "time_budget_s": 50}]
    )
    assert found.seconds == pytest.approx(155)
    assert cost(READ, throughput=[load]).seconds == pytest.approx(5)


def test_a_plan_that_does_not_fit_its_limits_says_so() -> None:
    limited = Allowance(max_restarts=2, deadline_s=600.0)
    assert plan(RESTART, BUDGET, tree=TREE, allowance=limited)[-2:] == [
        "  limit     8 restarts are more than --dflash-max-restarts=2: what does not fit is refused and unproven",
        "  limit     7229 s are more than --dflash-deadline=600: what does not fit is refused and unproven",
    ]
    assert not [line for line in plan(READ, allowance=limited) if "limit" in line]


def test_the_commands_of_the_load_balancer_are_shown_with_the_host_in_them() -> None:
    traffic = {"drain": ("lbctl", "drain", "{host}"), "undrain": ("lbctl", "undrain", "{host}")}
    shown = [line for line in plan(RESTART, traffic=traffic) if line.startswith("  runs")]
    assert shown == ["  runs      `lbctl drain gpu1` here", "  runs      `lbctl undrain gpu1` here"]
    assert not [line for line in plan(READ, traffic=traffic) if line.startswith("  runs")]


def test_each_load_is_told_with_what_it_asks_of_the_host() -> None:
    load = {"name": "chat", "class": "prose", "concurrency": 16, "prompt_tokens": 512, "output_tokens": 256}
    assert (
        "  loads     chat: 16 at once for at most 90 s, each with about 512 tokens of prompt and at most 256 new ones"
        in plan(LOAD, throughput=[load | {"time_budget_s": 90}])
    )


def test_the_unit_without_speculation_is_one_restart_more_where_loads_are_allowed() -> None:
    reference = Check("tree.reference", "reconfigure", restarts=1, requests=140, tokens=3000)
    assert cost(reference, BUDGET).restarts == 2
    assert cost(reference, BUDGET, tree=TREE).restarts == 8
    assert "  restarts  8: 1 without speculation, 6 for 3 budgets at 2 top-ks, 1 to put it back" in plan(
        reference, BUDGET, tree=TREE
    )
    assert cost(reference, allowed=Allowed(("read", "reconfigure"))).restarts == 0


def test_further_starts_and_plain_decoding_cost_restarts_and_the_time_of_their_loads() -> None:
    starts, beats = (
        Check("throughput.starts", "restart", "load"),
        Check("throughput.beats_plain", "reconfigure", "load"),
    )
    load = {"name": "chat", "class": "prose", "concurrency": 1, "prompt_tokens": 9, "output_tokens": 9}
    thrice = [load | {"time_budget_s": 100, "starts": 3}, load | {"name": "code", "time_budget_s": 50}]
    assert cost(LOAD, starts, throughput=thrice).restarts == 2
    assert cost(LOAD, starts, RESTART, throughput=thrice).restarts == 3
    found = cost(LOAD, starts, beats, throughput=thrice)
    assert (found.restarts, found.reconfigured, found.reference) == (4, 2, 1)
    assert found.seconds == pytest.approx(5 + 350 + 150 + 4 * (900 + 3))
    assert "  restarts  4: 2 as it is, 1 without speculation, 1 to put it back" in plan(
        LOAD, starts, beats, throughput=thrice
    )
    told = [
        line.partition("; ")[2] for line in plan(LOAD, starts, beats, throughput=thrice) if " loads " in line
    ]
    assert told == ["in 3 processes; again without speculation", "again without speculation"]
    reference = Check("tree.reference", "reconfigure", restarts=1)
    assert cost(LOAD, beats, reference, throughput=thrice).restarts == 2
    assert "  restarts  4: 2 without speculation, 2 to put it back" in plan(
        beats, reference, throughput=thrice
    )
    assert cost(starts, beats).restarts == 0
    assert cost(starts, beats, allowed=Allowed(("read", "reconfigure")), throughput=thrice).restarts == 0


def test_many_small_requests_are_timed_by_their_tokens() -> None:
    sampling = Check("tree.sampling", "load", requests=192, tokens=800)
    assert cost(sampling).seconds < 30
