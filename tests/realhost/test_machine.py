"""The real host itself: it boots, its users may what their names say, it leaves nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.realhost.machine import CGROUPS, Machine

HOLD = """
import sys, time
from tests.realhost.machine import Machine
machine = Machine()
print(machine.folder, flush=True)
time.sleep(600)
"""


@pytest.fixture(scope="module")
def machine(real_host_tools: None) -> Iterator[Machine]:
    with Machine() as made:
        yield made


def _running(folder: Path) -> list[str]:
    """Processes of this machine in the container's cgroup: systemd-nspawn, and all that runs inside."""
    found = []
    for cgroup in Path("/proc").glob("[0-9]*/cgroup"):
        try:
            if folder.name in cgroup.read_text("utf-8", "replace"):
                found.append(
                    cgroup.with_name("cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
                )
        except OSError:
            continue
    return found


def test_every_unit_of_a_fresh_machine_is_well(machine: Machine) -> None:
    assert machine.sh("systemctl is-system-running; systemctl --failed --no-legend").strip() == "running"


@pytest.mark.parametrize(
    "user,script,says",
    [
        ("root", "id -u", "0"),
        ("admin", "sudo -n id -u", "0"),
        ("auditor", "sudo -n id -u", "a password is required"),
        ("auditor", "id -Gn", "systemd-journal"),
        ("visitor", "sudo -n id -u", "a password is required"),
        ("visitor", "id -Gn", "visitor"),
        ("guest", "id -u", "This account is currently not available."),
    ],
)
def test_a_user_may_what_its_name_says(machine: Machine, user: str, script: str, says: str) -> None:
    assert says in machine.sh(script, user=user, check=False)


def test_a_visitor_reads_no_journal(machine: Machine) -> None:
    assert machine.sh("journalctl -u systemd-logind.service -o json 2>&1", user="visitor").strip() == ""
    assert machine.sh("journalctl -u systemd-logind.service -o json", user="auditor").strip() != ""


def test_a_file_put_there_is_there(machine: Machine) -> None:
    machine.put("/etc/a folder/it's.txt", "naïve $HOME\n", mode=0o600)
    assert machine.sh("stat -c %a '/etc/a folder/it'\\''s.txt'; cat /etc/a*/it*") == "600\nnaïve $HOME\n"


def test_two_machines_do_not_meet(machine: Machine) -> None:
    with Machine() as other:
        other.sh("systemd-run --quiet --unit=mine sleep 600")
        assert machine.sh("systemctl show -P LoadState mine.service").strip() == "not-found"
        machine.sh("systemd-run --quiet --unit=mine sleep 600; systemctl stop mine.service")
        assert other.sh("systemctl is-active mine.service").strip() == "active"


def test_a_closed_machine_leaves_nothing(real_host_tools: None) -> None:
    with Machine() as made:
        assert _running(made.folder)
    made.close()
    assert not _running(made.folder)
    assert not made.folder.exists()
    assert not any(Path(hierarchy, made.folder.name).exists() for hierarchy in CGROUPS)


def test_a_machine_dies_with_its_maker_and_the_next_one_tidies_up(real_host_tools: None) -> None:
    root = Path(__file__).parents[2]
    with subprocess.Popen([sys.executable, "-c", HOLD], cwd=root, stdout=subprocess.PIPE, text=True) as maker:
        assert maker.stdout is not None
        folder = Path(maker.stdout.readline().strip())
        assert _running(folder)
        os.kill(maker.pid, signal.SIGKILL)
        maker.wait(10)
    deadline = time.monotonic() + 10
    while _running(folder) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not _running(folder)
    with Machine():
        assert not folder.exists()
