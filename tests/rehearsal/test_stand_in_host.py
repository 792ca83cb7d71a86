from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from pytest_dflash.errors import UsageError
from pytest_dflash.rehearsal import client, proc_tree
from pytest_dflash.rehearsal import host as host_module
from pytest_dflash.rehearsal.host import PROFILE, RehearsalError, StandInHost


def main_pid(host: StandInHost) -> int:
    return int(host.tool("systemctl", "show", "-p", "MainPID", "--value", host.unit))


def is_alive(pid: int) -> bool:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text("utf-8")
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


def wait_until(condition: Callable[[], bool], seconds: float = 10.0) -> bool:
    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.02)
    return condition()


def test_its_proc_shows_the_real_process_in_the_units_cgroup(healthy: StandInHost) -> None:
    pid = main_pid(healthy)
    folder = healthy.root / "proc" / str(pid)

    argv = (folder / "cmdline").read_bytes().split(b"\0")
    assert argv[1:3] == [b"-m", b"sglang.launch_server"]
    assert argv[0].endswith(b"/opt/sglang/venv/bin/python")
    assert (folder / "cgroup").read_text("ascii") == f"0::/system.slice/{healthy.unit}\n"
    assert b"NCCL_P2P_LEVEL=SYS\0" in (folder / "environ").read_bytes()
    assert os.path.realpath(folder / "exe") == os.path.realpath(f"/proc/{pid}/exe")
    group = healthy.root / "sys/fs/cgroup/system.slice" / healthy.unit / "cgroup.procs"
    assert str(pid) in group.read_text("ascii").split()


def test_its_proc_follows_a_process_that_becomes_another_program(tmp_path: Path) -> None:
    script = ["sh", "-c", "echo; read word; exec cat"]
    with subprocess.Popen(script, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin
        assert process.stdout
        process.stdout.readline()
        proc, program = tmp_path / "proc", Path(f"/proc/{process.pid}/exe")
        proc.mkdir()
        groups = {"/system.slice/x.service": [process.pid]}
        proc_tree.refresh(proc, groups)
        shell = os.path.realpath(proc / str(process.pid) / "exe")
        process.stdin.write(b"on\n")
        process.stdin.flush()
        assert wait_until(lambda: os.path.realpath(program) != shell)
        proc_tree.refresh(proc, groups)
        assert os.path.realpath(proc / str(process.pid) / "exe") == os.path.realpath(program)


def test_its_workers_hide_the_arguments_behind_their_titles(healthy: StandInHost) -> None:
    group = healthy.root / "sys/fs/cgroup/system.slice" / healthy.unit / "cgroup.procs"
    pids = [int(pid) for pid in group.read_text("ascii").split()]
    expected = [b"sglang::scheduler_TP%d" % rank for rank in range(8)] + [b"sglang::detokenizer"]

    def titles() -> list[bytes]:
        return [(healthy.root / f"proc/{pid}/cmdline").read_bytes().rstrip(b"\0") for pid in pids[1:]]

    assert wait_until(lambda: titles() == expected), titles()  # each names itself once it is scheduled
    assert pids[0] == main_pid(healthy)


def test_its_commands_are_found_first_on_path(healthy: StandInHost) -> None:
    path = f"{healthy.bin}:{os.environ['PATH']}"
    answer = subprocess.run(
        ["sh", "-c", 'systemctl is-active "$1" && nvidia-smi -L | wc -l', "sh", healthy.unit],
        env={"PATH": path}, capture_output=True, text=True, check=True,
    )  # fmt: skip

    assert answer.stdout.split() == ["active", "8"]


def test_a_reader_that_has_enough_is_no_error(healthy: StandInHost) -> None:
    command = f"journalctl -a -o json _SYSTEMD_UNIT={healthy.unit} | head -n 1 | wc -l"
    answer = subprocess.run(
        ["bash", "-c", command],
        env={"PATH": f"{healthy.bin}:/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=True,
    )

    assert (answer.stdout.strip(), answer.stderr) == ("1", "")


def test_close_leaves_no_process_and_no_folder(start_host: Callable[..., StandInHost]) -> None:
    host = start_host()
    group = host.root / "sys/fs/cgroup/system.slice" / host.unit / "cgroup.procs"
    pids = [int(pid) for pid in group.read_text("ascii").split()]
    assert len(pids) == 10
    assert all(is_alive(pid) for pid in pids)

    host.close()
    host.close()

    assert wait_until(lambda: not any(is_alive(pid) for pid in pids))
    assert not host.folder.exists()


def test_a_host_that_does_not_come_up_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_module, "PATIENCE_S", 0.3)
    monkeypatch.setattr(host_module, "SERVING", "a line that is never logged")
    host = StandInHost(tmp_path / "host")

    with pytest.raises(
        host_module.RehearsalError, match=r"did not log 'a line that is never logged' in 0 s; last:"
    ):
        host.start()

    assert not host.folder.exists()


def test_killing_the_test_run_ends_manager_and_engine(tmp_path: Path) -> None:
    program = (
        "import sys, time\nfrom pathlib import Path\nfrom pytest_dflash.rehearsal.host import StandInHost\n"
        "host = StandInHost(Path(sys.argv[1]))\nhost.start()\n"
        "pid = host.tool('systemctl', 'show', '-p', 'MainPID', '--value', host.unit).strip()\n"
        "print(pid, host._manager.pid, flush=True)\ntime.sleep(60)\n"
    )
    run = subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path / "host")], stdout=subprocess.PIPE, text=True
    )
    assert run.stdout is not None
    pids = [int(word) for word in run.stdout.readline().split()]
    assert len(pids) == 2
    assert all(is_alive(pid) for pid in pids)

    run.kill()
    run.wait()
    run.stdout.close()

    assert wait_until(lambda: not any(is_alive(pid) for pid in pids))


def test_killing_the_manager_ends_the_engine(start_host: Callable[..., StandInHost]) -> None:
    host = start_host()
    pid = main_pid(host)
    assert host._manager is not None

    host._manager.send_signal(signal.SIGKILL)

    assert wait_until(lambda: not is_alive(pid))
    status, _, complaint = run_tool(host, "systemctl", "is-active", host.unit)
    assert status == client.REFUSED
    assert complaint.startswith("stand-in systemctl: its manager does not answer: ")


def run_tool(host: StandInHost, name: str, *argv: str) -> tuple[int, str, str]:
    done = subprocess.run([str(host.bin / name), *argv], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


def test_two_hosts_do_not_know_each_other(start_host: Callable[..., StandInHost]) -> None:
    one, other = start_host(), start_host()

    assert one.port != other.port
    assert f":{other.port} " not in one.tool("ss", "-ltnpH")
    assert main_pid(one) != main_pid(other)


def test_the_journal_keeps_a_healthy_earlier_invocation(healthy: StandInHost) -> None:
    lines = healthy.tool("journalctl", "-a", "-o", "cat", "-u", healthy.unit)

    assert lines.count("draft_window_size=2048, compact_cache=True") == 2
    assert f"{healthy.unit}: Deactivated successfully." in lines
    mine = healthy.tool("systemctl", "show", "-p", "InvocationID", "--value", healthy.unit).strip()
    assert (
        healthy.tool("journalctl", "-o", "cat", f"_SYSTEMD_INVOCATION_ID={mine}").count("draft runner. ") == 1
    )


def test_its_profile_expects_what_its_unit_says(healthy: StandInHost) -> None:
    profile = tomllib.loads(PROFILE.read_text("utf-8"))
    unit = healthy.unit_file.read_text("utf-8")

    assert profile["reviewed"] is True
    assert profile["service"]["unit"] == healthy.unit
    for flag, value in profile["flags"].items():
        spelled = f"--{flag}" if value is True else f"--{flag} {value}"
        assert (spelled in unit) is (value is not False)
    assert f"--speculative-draft-window-size {profile['window']['tokens']}\n" in unit


def test_an_unknown_fault_is_told_the_close_names(tmp_path: Path) -> None:
    with pytest.raises(
        UsageError, match=r"--dflash-fault=stale-jurnal: there is no such fault; did you mean stale-journal"
    ):
        StandInHost(tmp_path / "host", ["stale-jurnal"])


def test_a_folder_that_cannot_be_on_path_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RehearsalError, match="no folder with a colon in its name can; set TMPDIR to another"):
        StandInHost(tmp_path / "a:b").start()
