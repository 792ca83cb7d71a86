"""The scripts of the machine's probes, run here by dash against this machine's own /proc."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_dflash.facts import disks, platform, procfs, sockets, toolkit
from pytest_dflash.facts.probe import Probe, Reply
from pytest_dflash.facts.reading import Absent, Reading, Silent, Value
from tests.facts.probes import PROBES

SHELL = shutil.which("dash") or "/bin/sh"


def ask(probe: Probe[Any], *, user: int | None = None, **variables: str) -> Reading[Any]:
    environment = {
        "PATH": os.environ["PATH"],
        "LC_ALL": "C.UTF-8",
        "R": "",
        "PIDS": "",
        "MAIN_PID": "0",
    } | variables
    run = subprocess.run(
        [SHELL, "-c", probe.script], env=environment, capture_output=True, check=False, timeout=60, user=user
    )
    return probe.parse(Reply(run.stdout, run.stderr, run.returncode))


@pytest.fixture
def sleeper() -> Iterator[int]:
    """A process with blanks, an empty argument and a line end in its argv, and a small environment."""
    argv = ["python3 server", "-s", "--", "--text", "a b\nc", "", "--model-path", "/"]
    with subprocess.Popen(
        argv, executable="/bin/sh", stdin=subprocess.PIPE, env={"A": "1\n2", "HF_HOME": "/tmp"}
    ) as one:
        yield one.pid
        one.kill()


@pytest.mark.parametrize("probe", PROBES.values(), ids=lambda probe: probe.name)
def test_a_host_without_the_tool_or_the_unit_is_no_surprise(probe: Probe[Any], tmp_path: Path) -> None:
    """A PATH with coreutils only, an empty /proc: a reading, and never a pass by accident of a shell error."""
    for tool in (
        "cat",
        "head",
        "tr",
        "readlink",
        "timeout",
        "grep",
        "sort",
        "sed",
        "df",
        "date",
        "uname",
        "id",
        "stat",
    ):
        (tmp_path / tool).symlink_to(shutil.which(tool) or "/bin/false")
    (tmp_path / "root").mkdir()
    reading = ask(probe, PATH=str(tmp_path), R=str(tmp_path / "root"))
    assert isinstance(reading, Value | Absent | Silent)
    if probe.name in {
        "listeners",
        "listener-owners",
        "gpus",
        "gpu-processes",
        "memory",
        "clock",
        "kernel-command-line",
    }:
        assert isinstance(reading, Silent)


def test_a_process_is_read_as_it_is(sleeper: int) -> None:
    reading = ask(procfs.PROCESSES, PIDS=f"{sleeper} 999999999")
    assert isinstance(reading, Value)
    (process,) = reading.value
    assert process.pid == sleeper
    assert process.parent == os.getpid()
    assert process.argv == ("python3 server", "-s", "--", "--text", "a b\nc", "", "--model-path", "/")
    assert process.environ == Value({"A": "1\n2", "HF_HOME": "/tmp"}, f"/proc/{sleeper}/environ")
    assert process.exe == Value(os.path.realpath("/bin/sh"), f"/proc/{sleeper}/exe")
    assert process.uid == os.getuid()
    clock = ask(platform.CLOCK)
    assert isinstance(clock, Value)
    assert 0 <= procfs.age_s(process, clock.value) < 60


def test_the_stand_ins_links_lead_to_the_real_process(sleeper: int, tmp_path: Path) -> None:
    folder = tmp_path / "proc" / str(sleeper)
    folder.mkdir(parents=True)
    for name in ("stat", "status", "limits", "cmdline", "environ", "exe"):
        (folder / name).symlink_to(f"/proc/{sleeper}/{name}")
    (folder / "cgroup").write_text("0::/system.slice/engine.service\n")
    reading = ask(procfs.PROCESSES, PIDS=str(sleeper), R=str(tmp_path))
    assert isinstance(reading, Value)
    assert reading.value[0].cgroup == "/system.slice/engine.service"
    assert reading.value[0].exe == Value(os.path.realpath("/bin/sh"), f"/proc/{sleeper}/exe")


def test_a_unit_without_processes_is_absent() -> None:
    assert isinstance(ask(procfs.PROCESSES), Absent)


@pytest.mark.slow
def test_hundreds_of_processes_take_one_read() -> None:
    everyone = [entry.name for entry in Path("/proc").iterdir() if entry.name.isdigit()]
    reading = ask(procfs.PROCESSES, PIDS=" ".join(everyone * 20))
    assert isinstance(reading, Value)
    assert len(reading.value) <= procfs.MOST_PROCESSES


def test_the_machine_is_read() -> None:
    memory, system = ask(platform.MEMORY), ask(platform.SYSTEM)
    assert isinstance(memory, Value)
    assert memory.value.available_bytes <= memory.value.total_bytes
    assert isinstance(system, Value)
    assert (system.value.kernel, system.value.uid) == (os.uname().release, os.getuid())


def test_the_services_own_paths_are_asked_for_their_disk(sleeper: int) -> None:
    reading = ask(disks.DISKS, PIDS=str(sleeper), MAIN_PID=str(sleeper))
    assert isinstance(reading, Value)
    purposes = {purpose: path for disk in reading.value for purpose, path in disk.used_for.items()}
    assert purposes["root"] == "/"
    assert purposes["HF_HOME"] == "/tmp"
    assert purposes["--model-path"] == "/"


def test_somebody_without_privileges_hears_silence_where_root_is_needed(sleeper: int) -> None:
    if os.getuid() != 0:
        pytest.skip("needs root, to become another user")
    reading = ask(procfs.PROCESSES, user=65534, PIDS=str(sleeper))
    assert isinstance(reading, Value)
    (process,) = reading.value
    assert process.argv[0] == "python3 server"
    assert process.environ == Silent(
        "not readable: only root and the process's own user may read its environment; try --sudo",
        f"/proc/{sleeper}/environ",
    )
    assert isinstance(process.exe, Silent)
    compilers = ask(toolkit.TOOLKIT, user=65534, PIDS=str(sleeper), MAIN_PID=str(sleeper))
    assert compilers == Silent(
        f"the environment of pid {sleeper} is not readable, so its PATH and CUDA_HOME are not known; try --sudo",
        f"/proc/{sleeper}/environ",
    )


def test_a_listening_socket_is_found_with_its_owner() -> None:
    if not shutil.which("ss"):
        pytest.skip("needs ss: apt-get install iproute2")
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        listeners, owners = ask(sockets.LISTENERS), ask(sockets.LISTENER_OWNERS)
    assert isinstance(listeners, Value)
    (mine,) = (one for one in listeners.value if one.port == port)
    assert (mine.address, mine.pids) == ("127.0.0.1", (os.getpid(),))
    assert isinstance(owners, Value)
    words = Path(f"/proc/{os.getpid()}/cmdline").read_text().split("\0")
    assert owners.value[os.getpid()].argv == tuple(word for word in words if word)
