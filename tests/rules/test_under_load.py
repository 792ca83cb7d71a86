from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from pytest_dflash.facts.journal import Entry
from pytest_dflash.facts.kernel import KernelJournal
from pytest_dflash.facts.nvidia import Gpu
from pytest_dflash.facts.pressure import Pressure
from pytest_dflash.facts.reading import Absent, Silent, Value
from pytest_dflash.findings import Outcome
from pytest_dflash.load.phase import Stop
from pytest_dflash.load.sampling import Beside, HostSample
from pytest_dflash.profile import schema
from pytest_dflash.rules.under_load import host_under_load, unsound
from tests.rules.healthy_host import gpus
from tests.rules.loads import load, measured, refused

XID = Entry(0, 9, None, None, "NVRM: Xid (PCI:0000:01:00): 79, GPU has fallen off the bus.")


def working(**cells: Any) -> tuple[Gpu, ...]:
    told = {
        "pcie_generation": 5,
        "pcie_generation_max": 5,
        "pcie_width": 16,
        "pcie_width_max": 16,
        "utilization_percent": 97,
        "power_draw_w": 480.0,
        "clock_sm_mhz": 2370,
        "temperature_c": 71,
        "throttle_bits": 0x4,
        "ecc_uncorrected": 0,
        **cells,
    }
    found = gpus()
    assert isinstance(found, Value)
    return tuple(replace(gpu, **{name: Value(value) for name, value in told.items()}) for gpu in found.value)


def look(cards: Any, in_flight: int = 4, *entries: Entry) -> HostSample:
    return HostSample(
        at_s=12.0,
        cost_s=0.1,
        in_flight=in_flight,
        gpus=cards,
        pressure=Value(Pressure(waiting_percent=Value(8.0), load=3.0, cpus=64)),
        kernel=Value(KernelJournal(entries, reaches_boot=True)),
        identity=Silent("not asked"),
    )


def judged(*samples: HostSample, expected: schema.Gpu | None = None) -> list[tuple[str | None, Outcome, str]]:
    found = host_under_load([measured(load(), beside=Beside(samples=samples))], expected or schema.Gpu())
    return [(each.param, each.outcome, each.summary) for each in found]


IDLE = look(Value(working(pcie_generation=1, utilization_percent=0)), 0)


def test_a_host_that_works_soundly_passes_gpu_by_gpu_and_shows_what_looking_cost() -> None:
    one, two, machine = judged(IDLE, look(Value(working())), look(Value(working())))
    assert one == ("GPU-0", Outcome.PASS, "under load: 2370 MHz, 480 W, 71 °C, 97 % used (2 looks)")
    assert two[:2] == ("GPU-1", Outcome.PASS)
    assert machine == (None, Outcome.PASS, "under load no new Xid; 3 looks at the host took 0.3 s in all")


@pytest.mark.parametrize(
    "cells, words",
    [
        ({"pcie_generation": 1}, "PCIe generation 1 of 5"),
        ({"pcie_width": 8}, "PCIe width 8 of 16"),
        ({"throttle_bits": 0x40}, "clocks held back by hardware thermal slowdown in 100% of the looks"),
        ({"ecc_uncorrected": 3}, "3 new uncorrectable memory errors"),
    ],
)
def test_what_is_wrong_under_load_fails_for_its_gpu(cells: dict[str, int], words: str) -> None:
    one, *_ = judged(IDLE, look(Value(working(**cells))))
    assert one[:2] == ("GPU-0", Outcome.FAIL)
    assert words in one[2]


def test_the_profile_may_expect_less_than_the_card_can_do() -> None:
    one, *_ = judged(look(Value(working(pcie_generation=4))), expected=schema.Gpu(pcie_generation=4))
    assert one[1] is Outcome.PASS


def test_a_link_that_sleeps_between_two_kernels_is_judged_by_its_best() -> None:
    one, *_ = judged(look(Value(working(pcie_generation=1))), look(Value(working())))
    assert one[1] is Outcome.PASS


def test_idle_looks_give_no_verdict() -> None:
    ((_, outcome, summary),) = judged(IDLE)
    assert outcome is Outcome.UNPROVEN
    assert summary.startswith("the host under load could not be seen")


def test_a_gpu_that_the_load_did_not_use_is_not_judged() -> None:
    one, *_ = judged(look(Value(working(utilization_percent=0, pcie_generation=1))))
    assert one[1] is Outcome.NOT_APPLICABLE


def test_a_new_xid_fails_the_machine() -> None:
    *_, machine = judged(IDLE, look(Value(working()), 4, XID))
    assert machine[1] is Outcome.FAIL
    assert "Xid 79" in machine[2]


def test_gpus_that_cannot_be_heard_under_load_are_unproven_and_absent_ones_are_not_missed() -> None:
    first, machine = judged(look(Silent("nvidia-smi timed out")))
    assert (first[1], machine[1]) == (Outcome.UNPROVEN, Outcome.PASS)
    assert [each[1] for each in judged(look(Absent("no NVIDIA device")))] == [Outcome.NOT_APPLICABLE]


def test_an_unreadable_kernel_log_matters_only_where_a_driver_could_complain() -> None:
    unread = Silent("the kernel's journal cannot be read")
    (machine,) = judged(replace(look(Absent("no NVIDIA device")), kernel=unread))
    assert machine[1:] == (
        Outcome.NOT_APPLICABLE,
        "no NVIDIA GPU that could report an Xid under load: no NVIDIA device",
    )
    *_, machine = judged(replace(look(Value(working())), kernel=unread))
    assert machine[1] is Outcome.UNPROVEN


def test_without_a_load_there_is_nothing_to_look_at() -> None:
    (found,) = host_under_load([], schema.Gpu())
    assert found.outcome is Outcome.NOT_APPLICABLE


def test_a_gpu_that_is_gone_under_load_fails() -> None:
    alone = Value(working()[:1])
    for looks in ((IDLE, look(alone), look(alone)), (IDLE, look(Value(working())), look(alone))):
        one, two, machine = judged(*looks)
        assert (one[1], machine[1]) == (Outcome.PASS, Outcome.PASS)
        assert two == (
            "GPU-1", Outcome.FAIL, "this GPU was there before, and the last look under load does not see it",
        )  # fmt: skip


def test_gpus_that_most_looks_did_not_hear_are_unproven_but_what_is_wrong_stays() -> None:
    deaf = [look(Silent("Unknown Error")) for _ in range(9)]
    first, machine = judged(IDLE, look(Value(working())), *deaf)
    assert first == (
        None, Outcome.UNPROVEN,
        "the GPUs could not be seen under load: nvidia-smi was silent in 9 of 10 looks: Unknown Error",
    )  # fmt: skip
    assert machine[1] is Outcome.PASS
    found = judged(IDLE, look(Value(working(pcie_width=8))), *deaf)
    assert [each[1] for each in found] == [Outcome.UNPROVEN, Outcome.FAIL, Outcome.FAIL, Outcome.PASS]


def test_a_kernel_log_that_most_looks_did_not_hear_proves_no_absence_of_xids() -> None:
    seen = look(Value(working()))
    *_, machine = judged(IDLE, seen, *[replace(seen, kernel=Silent("no permission"))] * 9)
    assert machine[1:] == (
        Outcome.UNPROVEN,
        "GPU errors (Xid) under load could not be read: kernel log was silent in 9 of 10 looks: no permission",
    )


def test_loads_that_are_too_short_for_a_look_say_what_helps() -> None:
    (found,) = host_under_load([measured(load(), beside=Beside(samples=(IDLE,)))], schema.Gpu())
    assert found.summary.endswith("no load ran long enough for a look at the host, the longest 30.0 s")
    assert str(found.remedy).startswith(
        "running again does not help: give a [[throughput]] load more output_tokens"
    )


def test_what_is_wrong_under_one_load_is_named_with_its_gpu() -> None:
    sound = measured(load(), beside=Beside(samples=(IDLE, look(Value(working())))))
    assert unsound(sound, schema.Gpu()) == ""
    bad = replace(sound, beside=Beside(samples=(IDLE, look(Value(working(pcie_width=8))))))
    assert unsound(bad, schema.Gpu()) == "GPU-0: under load: PCIe width 8 of 16"


@pytest.mark.parametrize("broken", [{"requests": [[refused()]]}, {"requests": [], "stop": Stop.BROKEN}])
def test_loads_that_broke_off_before_a_look_are_the_matter_of_the_errors(broken: dict[str, Any]) -> None:
    (found,) = host_under_load([measured(load(), beside=Beside(samples=(IDLE,)), **broken)], schema.Gpu())
    assert found.outcome is Outcome.BLOCKED
    assert found.summary.endswith(", as requests failed (throughput.errors)")
