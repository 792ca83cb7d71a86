from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable

from pytest_dflash.rehearsal import layout
from pytest_dflash.rehearsal.host import StandInHost

Start = Callable[..., StandInHost]


def prop(host: StandInHost, name: str) -> str:
    return host.tool("systemctl", "show", "-p", name, "--value", host.unit).strip()


def wait_for(host: StandInHost, name: str, value: str) -> None:
    deadline = time.monotonic() + 10
    while prop(host, name) != value:
        assert time.monotonic() < deadline, f"{name} stayed {prop(host, name)!r}"
        time.sleep(0.02)


def test_reload_and_restart_move_what_is_loaded_and_what_runs(start_host: Start) -> None:
    host = start_host()
    pid, invocation = prop(host, "MainPID"), prop(host, "InvocationID")

    host.unit_file.write_text(layout.unit_text(host.root, host.port, 1024), "utf-8")
    assert prop(host, "NeedDaemonReload") == "yes"
    assert "--speculative-draft-window-size 2048" in prop(host, "ExecStart")

    host.tool("systemctl", "daemon-reload")
    assert prop(host, "NeedDaemonReload") == "no"
    assert "--speculative-draft-window-size 1024" in prop(host, "ExecStart")
    assert b"\x002048\0" in (host.root / "proc" / pid / "cmdline").read_bytes()

    host.tool("systemctl", "restart", host.unit)
    assert prop(host, "InvocationID") != invocation
    assert not (host.root / "proc" / pid).exists()
    assert b"\x001024\0" in (host.root / "proc" / prop(host, "MainPID") / "cmdline").read_bytes()
    assert prop(host, "NRestarts") == "0"


def test_a_new_drop_in_folder_goes_unnoticed_until_the_reload(start_host: Start) -> None:
    host = start_host()
    folder = host.root / "run/systemd/system" / f"{host.unit}.d"
    folder.mkdir()
    (folder / "90-window.conf").write_text("[Service]\nEnvironment=NCCL_DEBUG=INFO\n", "utf-8")

    assert (prop(host, "NeedDaemonReload"), prop(host, "DropInPaths")) == ("no", "")

    host.tool("systemctl", "daemon-reload")
    assert prop(host, "DropInPaths") == str(folder / "90-window.conf")

    (folder / "95-more.conf").write_text("[Service]\n", "utf-8")
    assert prop(host, "NeedDaemonReload") == "yes"


def test_two_commands_are_a_bad_setting(start_host: Start) -> None:
    host = start_host()
    folder = host.root / "etc/systemd/system" / f"{host.unit}.d"
    folder.mkdir()
    (folder / "10-second.conf").write_text("[Service]\nExecStart=/bin/true\n", "utf-8")

    host.tool("systemctl", "daemon-reload")

    assert (prop(host, "LoadState"), prop(host, "ActiveState")) == ("bad-setting", "active")


def test_a_killed_engine_is_restarted_and_counted(start_host: Start) -> None:
    host = start_host()
    host.unit_file.write_text(
        host.unit_file.read_text("utf-8").replace("RestartSec=5", "RestartSec=0.2"), "utf-8"
    )
    host.tool("systemctl", "daemon-reload")
    invocation = prop(host, "InvocationID")

    os.kill(int(prop(host, "MainPID")), signal.SIGKILL)
    wait_for(host, "SubState", "auto-restart")
    assert (prop(host, "Result"), prop(host, "NRestarts"), prop(host, "MainPID")) == ("signal", "0", "0")
    wait_for(host, "NRestarts", "1")

    assert prop(host, "InvocationID") != invocation
    said = host.tool("journalctl", "-o", "cat", f"INVOCATION_ID={invocation}").splitlines()
    assert said[1:] == [
        f"{host.unit}: Main process exited, code=killed, status=9/KILL",
        f"{host.unit}: Failed with result 'signal'.",
        f"{host.unit}: Scheduled restart job, restart counter is at 1.",
    ]


def test_a_removed_flag_ends_in_the_start_limit(start_host: Start) -> None:
    host = start_host()
    text = host.unit_file.read_text("utf-8").replace("RestartSec=5", "RestartSec=0.05")
    host.unit_file.write_text(
        text.replace("--speculative-draft-window-size", "--speculative-dflash-draft-window-size"), "utf-8"
    )
    host.tool("systemctl", "daemon-reload")
    host.tool("systemctl", "stop", host.unit)
    host.tool("systemctl", "reset-failed", host.unit)

    host.tool("systemctl", "start", host.unit)
    wait_for(host, "ActiveState", "failed")

    assert (prop(host, "Result"), prop(host, "ExecMainStatus"), prop(host, "NRestarts")) == (
        "exit-code",
        "2",
        "4",
    )
    lines = host.tool("journalctl", "-o", "cat", "-u", host.unit)
    assert "sglang serve: error: unrecognized arguments: --speculative-dflash-draft-window-size 2048" in lines
    assert f"{host.unit}: Start request repeated too quickly." in lines


def test_a_missing_environment_file_fails_the_start(start_host: Start) -> None:
    host = start_host()
    host.tool("systemctl", "stop", host.unit)
    (host.root / "etc/sglang/k26.env").unlink()

    status, _, complaint = host.ask("systemctl", "start", host.unit)

    assert (status, prop(host, "Result")) == (1, "resources")
    assert complaint.startswith(f"Job for {host.unit} failed")


def test_a_missing_program_shows_as_203(start_host: Start) -> None:
    host = start_host()
    host.tool("systemctl", "stop", host.unit)
    (host.root / "opt/sglang/venv/bin/python").unlink()

    assert host.ask("systemctl", "start", host.unit)[0] == 0
    assert (prop(host, "ExecMainStatus"), prop(host, "SubState")) == ("203", "auto-restart")


def test_a_stop_is_clean_and_said(start_host: Start) -> None:
    host = start_host()
    invocation = prop(host, "InvocationID")

    host.tool("systemctl", "stop", host.unit)

    assert (prop(host, "ActiveState"), prop(host, "Result"), prop(host, "MainPID")) == (
        "inactive",
        "success",
        "0",
    )
    assert host.ask("systemctl", "is-active", host.unit)[:2] == (3, "inactive\n")
    said = host.tool("journalctl", "-o", "cat", f"INVOCATION_ID={invocation}")
    assert [line.split()[0] for line in said.splitlines()] == [
        "Started",
        "Stopping",
        f"{host.unit}:",
        "Stopped",
    ]
