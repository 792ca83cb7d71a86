"""The machine below the service."""

from __future__ import annotations

from pytest_dflash.checks import check
from pytest_dflash.facts.host_facts import Facts
from pytest_dflash.findings import Judgement
from pytest_dflash.rules import host as machine


@check("host.xid")
def test_the_kernel_reports_no_gpu_error_since_boot(facts: Facts) -> Judgement:
    return machine.xid(facts.kernel, facts.gpus, facts.unit, facts.clock)


@check("host.disk_space")
def test_no_disk_of_the_service_is_full(facts: Facts) -> list[Judgement]:
    return machine.disk_space(facts.disks)


@check("host.shared_memory")
def test_shared_memory_suffices(facts: Facts) -> Judgement:
    return machine.shared_memory(facts.shared_memory, facts.gpus, facts.serving)


@check("host.memory")
def test_memory_suffices_and_nothing_was_killed_for_it(facts: Facts) -> Judgement:
    return machine.memory(facts.memory, facts.kernel, facts.unit, facts.previous)
