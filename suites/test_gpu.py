"""The GPUs: how many, which, and in what state. Idle samples give no verdict on speed."""

from __future__ import annotations

from pytest_dflash.checks import check
from pytest_dflash.facts.host_facts import Facts
from pytest_dflash.findings import Judgement
from pytest_dflash.profile.schema import Profile
from pytest_dflash.rules import gpu


@check("gpu.count")
def test_all_gpus_are_there(facts: Facts, profile: Profile) -> Judgement:
    return gpu.count(facts.gpus, profile.gpu)


@check("gpu.name")
def test_every_gpu_is_the_expected_card(facts: Facts, profile: Profile) -> list[Judgement]:
    return gpu.name(facts.gpus, profile.gpu)


@check("gpu.pcie_link")
def test_every_gpu_can_use_its_whole_link(facts: Facts, profile: Profile) -> list[Judgement]:
    return gpu.pcie_link(facts.gpus, profile.gpu)


@check("gpu.power_limit")
def test_every_gpu_has_the_expected_power_limit(facts: Facts, profile: Profile) -> list[Judgement]:
    return gpu.power_limit(facts.gpus, profile.gpu)


@check("gpu.ecc")
def test_no_gpu_has_lost_memory(facts: Facts) -> list[Judgement]:
    return gpu.ecc(facts.gpus)


@check("gpu.persistence_mode")
def test_every_gpu_keeps_its_driver_loaded(facts: Facts) -> list[Judgement]:
    return gpu.persistence_mode(facts.gpus)


@check("gpu.throttling")
def test_no_gpu_is_held_back_by_heat_or_power(facts: Facts) -> list[Judgement]:
    return gpu.throttling(facts.gpus)


@check("gpu.mig")
def test_no_gpu_is_cut_into_slices(facts: Facts) -> list[Judgement]:
    return gpu.mig(facts.gpus)


@check("gpu.foreign_processes")
def test_nobody_else_uses_the_gpus(facts: Facts) -> list[Judgement]:
    return gpu.foreign_processes(facts.gpus, facts.gpu_processes, facts.processes, facts.serving)
