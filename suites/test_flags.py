"""Every expected flag and variable, followed from the unit file to the engine's own words."""

from __future__ import annotations

from pytest_dflash.checks import check
from pytest_dflash.facts.host_facts import Facts
from pytest_dflash.findings import Judgement
from pytest_dflash.profile.schema import Profile
from pytest_dflash.rules import knobs
from pytest_dflash.witness import drift
from pytest_dflash.witness.chain import Chain


@check("flags.in_force", per="flag")
def test_flag_is_in_force(chain: Chain, profile: Profile, flag: str | None) -> Judgement:
    return drift.flag(chain, flag, profile)


@check("flags.environment", per="variable")
def test_variable_is_in_force(chain: Chain, profile: Profile, variable: str | None) -> Judgement:
    return drift.variable(chain, variable, profile)


@check("flags.no_drift")
def test_no_flag_is_lost_on_its_way(chain: Chain) -> Judgement:
    return drift.no_drift(chain)


@check("flags.none_ignored")
def test_the_engine_ignores_no_flag(chain: Chain) -> Judgement:
    return drift.none_ignored(chain)


@check("flags.no_knobs")
def test_nothing_is_left_of_a_benchmark(chain: Chain, facts: Facts) -> Judgement:
    return knobs.no_knobs(chain, facts.serving)


@check("flags.acceptance_exact")
def test_only_what_the_target_says_is_accepted(chain: Chain, profile: Profile) -> Judgement:
    return knobs.acceptance_exact(chain, profile)


@check("flags.plain_environment")
def test_no_variable_holds_shell(facts: Facts) -> Judgement:
    return knobs.plain_environment(facts.serving, facts.files)
