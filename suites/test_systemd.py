"""The unit: loaded, active, in force, and not restarting behind everybody's back."""

from __future__ import annotations

from functools import partial

from pytest_dflash import engine_units
from pytest_dflash.checks import check
from pytest_dflash.facts.host_facts import Facts
from pytest_dflash.findings import Judgement
from pytest_dflash.host_run import HostRun
from pytest_dflash.rules import reload, restart, systemd
from pytest_dflash.witness.chain import Chain


@check("systemd.loaded")
def test_the_unit_is_loaded(facts: Facts, host_run: HostRun) -> Judgement:
    return systemd.loaded(facts.unit, partial(engine_units.here, host_run.ask))


@check("systemd.active")
def test_the_unit_is_active(facts: Facts, host_run: HostRun) -> Judgement:
    return systemd.active(facts.unit, partial(engine_units.here, host_run.ask))


@check("systemd.reloaded")
def test_the_manager_holds_what_is_on_disk(facts: Facts) -> Judgement:
    return reload.reloaded(facts.unit, facts.files, facts.loaded)


@check("systemd.restarted")
def test_the_process_was_started_with_what_the_manager_holds(chain: Chain) -> Judgement:
    return restart.restarted(chain)


@check("systemd.stable")
def test_the_unit_does_not_restart_by_itself(facts: Facts) -> Judgement:
    return systemd.stable(facts.unit, facts.previous, facts.starts, facts.clock)


@check("systemd.environment_files")
def test_the_process_has_the_environment_files_as_they_are_on_disk(facts: Facts) -> Judgement:
    return restart.environment_files(facts.files, facts.loaded, facts.started)
