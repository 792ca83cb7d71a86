"""The machine below the service."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_dflash.facts.reading import Absent, Reading, Silent, Value
from pytest_dflash.facts.starts import Previous
from pytest_dflash.findings import Outcome
from pytest_dflash.rules import host
from tests.rules.healthy_host import (
    DAY_US,
    GIB,
    NOT_HEARD,
    clock,
    disk,
    gpus,
    kernel,
    memory,
    process,
    unit,
)

XID = "NVRM: Xid (PCI:0000:98:00): 79, pid='<unknown>', GPU has fallen off the bus."
FIRST: Reading[Previous] = Absent("journal: it keeps no earlier invocation of the unit")


def test_a_boot_without_an_xid_passes() -> None:
    assert host.xid(kernel(), gpus(), unit(), clock()).summary == "GPU errors (Xid) since boot: none"


def test_an_xid_fails_with_its_meaning_also_in_a_rotated_log() -> None:
    for whole in (True, False):
        judgement = host.xid(kernel(XID, XID, reaches_boot=whole), gpus(), unit(), clock())
        assert judgement.outcome is Outcome.FAIL
        assert judgement.summary.endswith(
            "found Xid 79 on 0000:98:00 (the GPU has fallen off the bus: power, heat, riser or link), 2 x"
        )
        assert judgement.measures == {"xids": 2}


def test_a_rotated_log_that_covers_the_service_passes_and_says_since_when() -> None:
    judgement = host.xid(kernel(reaches_boot=False, oldest_us=DAY_US // 2), gpus(), unit(), clock())
    assert judgement.outcome is Outcome.PASS
    assert judgement.summary == (
        "GPU errors (Xid): none in the last 10 days; older lines of the kernel were rotated away, "
        "from before the start of the service"
    )


def test_a_host_that_is_up_for_long_is_not_accused_for_a_day_of_log() -> None:
    judgement = host.xid(kernel(reaches_boot=False, oldest_us=9 * DAY_US), gpus(), unit(), clock())
    assert judgement.outcome is Outcome.PASS
    assert "none in the last 2 days" in judgement.summary


@pytest.mark.parametrize(
    "log, now",
    [
        (kernel(reaches_boot=False, oldest_us=11 * DAY_US - 1), clock()),
        (kernel(reaches_boot=False, oldest_us=None), clock()),
        (kernel(reaches_boot=False, oldest_us=9 * DAY_US), NOT_HEARD),
        (NOT_HEARD, clock()),
    ],
)
def test_a_log_of_minutes_or_none_proves_nothing(log: Any, now: Any) -> None:
    judgement = host.xid(log, gpus(), unit(), now)
    assert judgement.outcome is Outcome.UNPROVEN
    assert judgement.remedy


def test_without_a_gpu_no_xid_is_looked_for() -> None:
    assert host.xid(NOT_HEARD, Absent("none"), unit(), clock()).outcome is Outcome.NOT_APPLICABLE


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"available_bytes": 6 * GIB, "size_bytes": 10_000 * GIB},
        {"size_bytes": GIB // 10, "available_bytes": GIB // 100},  # a small tmpfs
        {"inodes": None, "inodes_free": None},  # btrfs
        {"available_bytes": 0, "inodes_free": 0, "read_only": True},  # squashfs
    ],
)
def test_a_disk_with_room_passes(changes: Any) -> None:
    (judgement,) = host.disk_space(Value((disk(**changes),)))
    assert judgement.outcome is Outcome.PASS, judgement.summary
    assert judgement.param == "/"


def test_a_full_disk_names_its_use_and_its_room() -> None:
    full = disk(mount="/srv", available_bytes=GIB, used_for={"--model-path": "/srv/k26"})
    (judgement,) = host.disk_space(Value((full,)))
    assert judgement.outcome is Outcome.FAIL
    assert judgement.summary == (
        "free space on /srv: expected at least 2% or 5 GiB, and 1% of the inodes, found 1.0 GiB of 1000 GiB, "
        "900000 inodes"
    )
    assert judgement.cause == "it is used for --model-path; a full disk leaves models incomplete"
    assert judgement.measures == {"free_bytes": GIB, "size_bytes": 1000 * GIB}


def test_a_disk_without_inodes_left_is_full() -> None:
    (judgement,) = host.disk_space(Value((disk(inodes_free=10),)))
    assert judgement.outcome is Outcome.FAIL


def test_disks_that_do_not_answer_are_unproven() -> None:
    unread = disk(size_bytes=0, available_bytes=0, unread="df ended with 124")
    assert [each.outcome for each in host.disk_space(Value((disk(), unread)))] == ["pass", "unproven"]
    assert [each.outcome for each in host.disk_space(NOT_HEARD)] == ["unproven"]
    assert [each.outcome for each in host.disk_space(Value((disk(size_bytes=0),)))] == ["unproven"]


def test_shared_memory_is_measured_by_the_gpus_that_the_service_sees() -> None:
    small = Value(disk(mount="/dev/shm", size_bytes=GIB, available_bytes=GIB // 4))
    judgement = host.shared_memory(small, gpus(8), process())
    assert judgement.outcome is Outcome.FAIL
    assert judgement.summary.startswith(
        "free shared memory: expected at least 0.5 GiB for 8 GPUs, found 0.2 GiB"
    )
    two = process(environ={"CUDA_VISIBLE_DEVICES": "0,1"})
    assert host.shared_memory(small, gpus(8), two).outcome is Outcome.PASS
    one = process(environ={"CUDA_VISIBLE_DEVICES": "3"})
    assert host.shared_memory(small, gpus(8), one).outcome is Outcome.NOT_APPLICABLE


def test_shared_memory_is_unproven_where_df_or_nvidia_smi_is_silent() -> None:
    assert host.shared_memory(NOT_HEARD, gpus(), process()).outcome is Outcome.UNPROVEN
    assert host.shared_memory(Value(disk()), NOT_HEARD, process()).outcome is Outcome.UNPROVEN
    assert host.shared_memory(Value(disk()), Absent(), process()).outcome is Outcome.NOT_APPLICABLE


KILL = (
    "oom-kill:constraint=CONSTRAINT_MEMCG,task_memcg=/system.slice/llm.service,task=python,pid=99,uid=0",
    "Memory cgroup out of memory: Killed process 99 (python) total-vm:1kB",
)


def test_enough_memory_passes() -> None:
    assert host.memory(memory(), kernel(), unit(), FIRST).summary == "available memory: 500.0 GiB of 1000 GiB"


def test_little_memory_and_kills_of_the_unit_fail_and_kills_of_others_do_not() -> None:
    assert host.memory(memory(0.01), kernel(), unit(), FIRST).outcome is Outcome.FAIL
    killed = host.memory(memory(), kernel(*KILL), unit(), FIRST)
    assert killed.outcome is Outcome.FAIL
    assert "Killed process 99 (python)" in killed.summary
    other = unit(control_group="/system.slice/other.service")
    assert host.memory(memory(), kernel(*KILL), other, FIRST).outcome is Outcome.PASS


def test_systemd_speaks_where_the_kernel_cannot_be_heard() -> None:
    judgement = host.memory(memory(), NOT_HEARD, unit(), FIRST)
    assert judgement.outcome is Outcome.PASS
    assert "systemd noted no kill" in judgement.summary
    assert host.memory(memory(), NOT_HEARD, unit(result="oom-kill"), FIRST).outcome is Outcome.FAIL
    before = Value(Previous("b" * 32, "killed", 9, "oom-kill", False, None, ()))  # noqa: FBT003 - stop_requested
    assert host.memory(memory(), kernel(), unit(), before).outcome is Outcome.FAIL


@pytest.mark.parametrize(
    "readings",
    [
        (NOT_HEARD, kernel(), unit(), FIRST),
        (memory(), NOT_HEARD, unit(), NOT_HEARD),
        (memory(), NOT_HEARD, NOT_HEARD, FIRST),
    ],
)
def test_memory_is_unproven_where_nobody_speaks(readings: Any) -> None:
    assert host.memory(*readings).outcome is Outcome.UNPROVEN


def test_silence_is_a_reason() -> None:
    assert host.memory(Silent("no /proc"), kernel(), unit(), FIRST).summary == (
        "available memory could not be read: no /proc"
    )
