"""The unit restarts, gets ready in time with every flag in force, stays up, and runs with every budget."""

from __future__ import annotations

import pytest

from pytest_dflash.checks import check
from pytest_dflash.endpoint.longest import NEW_TOKENS, send_longest
from pytest_dflash.facts.host_facts import Facts
from pytest_dflash.findings import Judgement
from pytest_dflash.host_run import HostRun
from pytest_dflash.lifecycle.changing import Budgets
from pytest_dflash.lifecycle.restart import Restart
from pytest_dflash.profile.schema import Profile
from pytest_dflash.rules import lifecycle
from pytest_dflash.witness import drift


@check("lifecycle.nothing_left_behind")
def test_no_earlier_run_left_anything(facts: Facts, profile: Profile) -> Judgement:
    return lifecycle.nothing_left_behind(facts.files, facts.claim, profile.service.unit)


@check("lifecycle.restarts", level="restart", restarts=1)
def test_a_restart_makes_a_new_process_that_serves(restarted: Restart) -> Judgement:
    return lifecycle.restarts(restarted)


@check("lifecycle.ready_in_time", level="restart", restarts=1)
def test_the_unit_is_ready_in_time(restarted: Restart, host_run: HostRun, profile: Profile) -> Judgement:
    journal, dialect = host_run.facts.journal, host_run.dialect
    return lifecycle.ready_in_time(restarted, journal, dialect, profile.lifecycle.ready_within_s)


@check("lifecycle.window_after_restart", level="restart", restarts=1)
@pytest.mark.usefixtures("restarted")
def test_the_window_reaches_the_fresh_draft_runner(host_run: HostRun) -> Judgement:
    return drift.draft_window(host_run.chain, host_run.profile)


@check("lifecycle.flags_after_restart", level="restart", per="flag", restarts=1)
@pytest.mark.usefixtures("restarted")
def test_flag_is_in_force_after_a_restart(host_run: HostRun, flag: str | None) -> Judgement:
    return drift.flag(host_run.chain, flag, host_run.profile)


@check("lifecycle.stays_up", level="restart", restarts=1, requests=1, tokens=NEW_TOKENS, seconds=120)
@pytest.mark.usefixtures("restarted")
def test_the_fresh_process_stays_up(host_run: HostRun, profile: Profile) -> Judgement:
    before = host_run.facts.identity
    sent = send_longest(host_run.service.client, profile, host_run.allowed)
    seconds = profile.lifecycle.stays_up_s
    return lifecycle.stays_up(before, host_run.controller.watch(seconds), seconds, sent)


@check("lifecycle.budget_in_force", level="reconfigure", per="budget", restarts=1)
def test_budget_is_in_force(budgets: Budgets, budget: str | None) -> Judgement:
    return lifecycle.budget_in_force(budget, budgets.visit(budget) if budget else None)
