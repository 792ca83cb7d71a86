"""Xid and out-of-memory lines."""

from __future__ import annotations

import pytest

from pytest_dflash.facts.journal import Entry
from pytest_dflash.facts.kernel import oom_kills, xids


def entry(message: str) -> Entry:
    return Entry(0, 1, None, None, message)


@pytest.mark.parametrize(
    "line, code, device",
    [
        ("NVRM: Xid (PCI:0000:01:00): 79, GPU has fallen off the bus.", 79, "0000:01:00"),
        ("NVRM: Xid (PCI:0000:01:00): 119, pid='N/A', Timeout waiting for RPC from GSP", 119, "0000:01:00"),
        ("NVRM: Xid (0000:c1:00): 31, pid=1, name=python", 31, "0000:c1:00"),
    ],
)
def test_an_xid_has_its_number_and_its_gpu(line: str, code: int, device: str) -> None:
    (xid,) = xids([entry("NVRM: loading"), entry(line)])
    assert (xid.code, xid.device) == (code, device)


def test_an_xid_without_a_meaning_points_to_the_catalogue() -> None:
    (xid,) = xids([entry("NVRM: Xid (PCI:0000:01:00): 9999, x")])
    assert xid.meaning == "see NVIDIA's Xid catalogue"


def test_an_out_of_memory_kill_has_its_victim_and_control_group() -> None:
    (kill,) = oom_kills(
        [
            entry(
                "oom-kill:constraint=CONSTRAINT_MEMCG,oom_memcg=/a,task_memcg=/system.slice/x.service,task=python,pid=41,uid=9"
            ),
            entry("Memory cgroup out of memory: Killed process 41 (python) total-vm:1kB"),
        ]
    )
    assert (kill.pid, kill.name, kill.cgroup) == (41, "python", "/system.slice/x.service")
