"""The GPUs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from pytest_dflash.facts.nvidia import GpuProcess
from pytest_dflash.facts.reading import Absent, Silent, Value
from pytest_dflash.findings import Judgement, Outcome
from pytest_dflash.profile import schema
from pytest_dflash.rules import gpu as rule
from tests.rules.healthy_host import NA, NOT_HEARD, gpus, process, processes

EXPECTED = schema.Gpu(
    count=2, name="NVIDIA RTX PRO 6000", pcie_generation=5, pcie_width=16, power_limit_w=600
)
PER_GPU: dict[str, Callable[[Any], list[Judgement]]] = {
    "name": lambda found: rule.name(found, EXPECTED),
    "pcie_link": lambda found: rule.pcie_link(found, EXPECTED),
    "power_limit": lambda found: rule.power_limit(found, EXPECTED),
    "ecc": rule.ecc,
    "persistence_mode": rule.persistence_mode,
    "throttling": rule.throttling,
    "mig": rule.mig,
}


def outcomes(judgements: list[Judgement]) -> list[str]:
    return [str(judgement.outcome) for judgement in judgements]


def test_an_idle_healthy_host_is_green_for_every_gpu_by_its_uuid() -> None:
    for check, judge in PER_GPU.items():
        judgements = judge(gpus())
        assert outcomes(judgements) == ["pass", "pass"], check
        assert [judgement.param for judgement in judgements] == ["GPU-0", "GPU-1"]


@pytest.mark.parametrize(
    "check, changes, outcome, said",
    [
        ("name", {"name": "NVIDIA L40S"}, "fail", "model: expected NVIDIA RTX PRO 6000, found NVIDIA L40S"),
        (
            "pcie_link",
            {"pcie_generation": 1, "pcie_width": 8},
            "pass",
            "best possible PCIe link: generation 5, width 16",
        ),
        (
            "pcie_link",
            {"pcie_generation_max": 4},
            "fail",
            "expected generation 5, width 16, found generation 4, width 16",
        ),
        ("pcie_link", {"pcie_width_max": 8}, "fail", "found generation 5, width 8"),
        ("pcie_link", {"pcie_width_max": 8, "pcie_generation_max": NOT_HEARD}, "fail", "found width 8"),
        (
            "pcie_link",
            {"pcie_width_max": NA, "pcie_generation_max": NA},
            "not_applicable",
            "the host has no such thing",
        ),
        ("pcie_link", {"pcie_width_max": NOT_HEARD}, "unproven", "`tool` is not there"),
        ("power_limit", {"power_limit_w": 450.0}, "fail", "power limit in W: expected 600.0, found 450.0"),
        ("power_limit", {"power_limit_w": 600.4}, "pass", "power limit in W: 600.4"),
        ("power_limit", {"power_limit_w": NA}, "not_applicable", "the host has no such thing"),
        (
            "ecc",
            {"ecc_uncorrected": 3},
            "fail",
            "memory errors that were not corrected: expected none, found uncorrected 3",
        ),
        (
            "ecc",
            {"rows_remap_pending": True, "rows_remap_failed": NOT_HEARD},
            "fail",
            "found remap pending 1",
        ),
        ("ecc", {"rows_remapped_uncorrectable": 2}, "pass", "memory errors that were not corrected: none"),
        (
            "ecc",
            {"ecc_uncorrected": NA, "rows_remap_pending": NA, "rows_remap_failed": NA},
            "not_applicable",
            "counts no memory errors",
        ),
        ("ecc", {"ecc_uncorrected": NOT_HEARD}, "unproven", "could not be read"),
        (
            "ecc",
            {"rows_remap_pending": Silent("this driver's nvidia-smi does not know the field x")},
            "pass",
            "none",
        ),
        ("persistence_mode", {"persistence": False}, "fail", "persistence mode: expected on, found off"),
        (
            "persistence_mode",
            {"persistence": NA},
            "not_applicable",
            "persistence mode: the host has no such thing",
        ),
        ("throttling", {"throttle_bits": 0x1}, "pass", "clocks held back: not by heat or power supply"),
        ("throttling", {"throttle_bits": 0x104}, "pass", "clocks held back"),
        ("throttling", {"throttle_bits": 0x4000}, "pass", "clocks held back"),
        (
            "throttling",
            {"throttle_bits": 0x80},
            "fail",
            "expected not by heat or power supply, found hardware power brake",
        ),
        ("throttling", {"throttle_bits": NA}, "not_applicable", "the host has no such thing"),
        ("mig", {"mig": True}, "fail", "MIG mode: expected off, found on"),
        ("mig", {"mig": NA}, "not_applicable", "MIG mode: the host has no such thing"),
    ],
)
def test_one_gpu_is_judged_by_its_own_cells(check: str, changes: Any, outcome: str, said: str) -> None:
    first, second = PER_GPU[check](gpus(**changes))
    assert first.outcome == outcome, first.summary
    assert said in first.summary
    assert second.outcome is Outcome.PASS
    if outcome == "fail":
        assert first.remedy


@pytest.mark.parametrize("check", PER_GPU)
def test_silence_is_never_a_pass_and_no_gpu_is_not_applicable(check: str) -> None:
    assert outcomes(PER_GPU[check](NOT_HEARD)) == ["unproven"]
    assert outcomes(PER_GPU[check](Absent("nvidia-smi: No devices were found"))) == ["not_applicable"]


def test_without_an_expectation_nothing_is_compared() -> None:
    nothing = schema.Gpu()
    assert rule.count(gpus(), nothing).outcome is Outcome.NOT_APPLICABLE
    for judge in (rule.name, rule.pcie_link, rule.power_limit):
        assert outcomes(judge(gpus(), nothing)) == ["not_applicable"]


def test_as_many_gpus_as_expected_pass() -> None:
    judgement = rule.count(gpus(2), EXPECTED)
    assert judgement.summary == "number of GPUs: 2"
    assert judgement.measures == {"gpus": 2}


def test_a_missing_gpu_is_a_failure_with_what_nvidia_smi_said_beside_it() -> None:
    said = (
        "nvidia-smi (it also said: Unable to determine the device handle for GPU0000:98:00.0: Unknown Error)"
    )
    judgement = rule.count(Value(gpus(1).value, said), EXPECTED)
    assert judgement.outcome is Outcome.FAIL
    assert judgement.summary == f"number of GPUs: expected 2, found 1; {said}"


def test_a_lost_gpu_at_which_nvidia_smi_stops_is_a_failure_without_any_row() -> None:
    why = "`nvidia-smi` ended with 255: Unable to determine the device handle for GPU0000:98:00.0: Unknown Error"
    judgement = rule.count(Silent(why), EXPECTED)
    assert judgement.outcome is Outcome.FAIL
    assert judgement.summary == f"number of GPUs: expected 2, and nvidia-smi cannot reach one: {why}"
    assert judgement.remedy is not None
    assert "power cycle" in judgement.remedy


def test_a_driver_that_cannot_be_asked_leaves_the_number_open() -> None:
    judgement = rule.count(Silent("`nvidia-smi` ended with 18: Driver/library version mismatch"), EXPECTED)
    assert judgement.outcome is Outcome.UNPROVEN
    assert rule.count(Absent("none"), EXPECTED).outcome is Outcome.FAIL


def users(*pairs: tuple[str, int], name: str = "python") -> Value[tuple[GpuProcess, ...]]:
    return Value(tuple(GpuProcess(uuid, pid, NA, name) for uuid, pid in pairs), "nvidia-smi")


def test_the_units_own_processes_are_nobody_else() -> None:
    (judgement,) = rule.foreign_processes(gpus(), users(("GPU-0", 7)), processes(7), process())
    assert judgement.summary == "only the unit's own processes use its GPUs"


def test_processes_of_others_are_told_once_for_each_gpu() -> None:
    (judgement,) = rule.foreign_processes(gpus(), users(("GPU-1", 8), ("GPU-1", 9)), processes(7), process())
    assert judgement.outcome is Outcome.FAIL
    assert judgement.param == "GPU-1"
    assert judgement.summary == (
        "pid 8 (python), pid 9 (python): computes on this GPU and is not of the unit"
    )


def test_another_service_on_gpus_that_the_unit_does_not_see_is_left_alone() -> None:
    seen = process(environ={"CUDA_VISIBLE_DEVICES": "0"})
    assert outcomes(rule.foreign_processes(gpus(), users(("GPU-1", 8)), processes(7), seen)) == ["pass"]
    by_uuid = process(environ={"CUDA_VISIBLE_DEVICES": "GPU-1"})
    assert outcomes(rule.foreign_processes(gpus(), users(("GPU-1", 8)), processes(7), by_uuid)) == ["fail"]


def test_a_containers_cards_are_those_that_it_was_given_and_cuda_counts_within_them() -> None:
    given = process(environ={"NVIDIA_VISIBLE_DEVICES": "1"})
    assert outcomes(rule.foreign_processes(gpus(), users(("GPU-0", 8)), processes(7), given)) == ["pass"]
    within = process(environ={"NVIDIA_VISIBLE_DEVICES": "1", "CUDA_VISIBLE_DEVICES": "0"})
    assert outcomes(rule.foreign_processes(gpus(), users(("GPU-1", 8)), processes(7), within)) == ["fail"]
    everything = process(environ={"NVIDIA_VISIBLE_DEVICES": "all"})
    assert outcomes(rule.foreign_processes(gpus(), users(("GPU-1", 8)), processes(7), everything)) == ["fail"]


def test_a_card_on_which_the_unit_computes_is_its_own_whatever_its_variables_say() -> None:
    elsewhere = process(environ={"NVIDIA_VISIBLE_DEVICES": "0"})
    both = users(("GPU-1", 7), ("GPU-1", 8))
    assert outcomes(rule.foreign_processes(gpus(), both, processes(7), elsewhere)) == ["fail"]


def test_who_is_of_a_container_that_is_not_known_is_not_guessed() -> None:
    client = process(argv=("docker", "run", "image:1", "python", "-m", "engine"))
    (judgement,) = rule.foreign_processes(gpus(), users(("GPU-1", 8)), processes(7), client)
    assert judgement.outcome is Outcome.UNPROVEN
    assert judgement.summary.endswith(
        "only starts a container whose processes are not known: give it a name (--name)"
    )


def test_nvidias_own_server_and_an_empty_table_are_no_strangers() -> None:
    server = users(("GPU-0", 8), name="/usr/bin/nvidia-cuda-mps-server")
    assert outcomes(rule.foreign_processes(gpus(), server, processes(7), process())) == ["pass"]
    (judgement,) = rule.foreign_processes(gpus(), users(), processes(7), process())
    assert judgement.summary == "nvidia-smi lists no process on the GPUs"


@pytest.mark.parametrize("silent", [0, 1, 2])
def test_who_uses_the_gpus_is_unproven_where_a_source_is_silent(silent: int) -> None:
    readings: list[Any] = [gpus(), users(), processes(7)]
    readings[silent] = NOT_HEARD
    assert outcomes(rule.foreign_processes(readings[0], readings[1], readings[2], process())) == ["unproven"]


def test_without_a_process_of_the_unit_everybody_is_a_stranger() -> None:
    gone = Absent("the unit's cgroup: no process in it")
    assert outcomes(rule.foreign_processes(gpus(), users(("GPU-0", 8)), gone, gone)) == ["fail"]


def test_a_card_without_ecc_is_not_asked_for_rows_that_its_nvidia_smi_does_not_know() -> None:
    unknown = Silent("this driver's nvidia-smi does not know the field remapped_rows.pending")
    cells = {"ecc_uncorrected": NA, "rows_remap_pending": unknown, "rows_remap_failed": NA}
    assert [each.outcome for each in rule.ecc(gpus(1, **cells))] == [Outcome.NOT_APPLICABLE]
