from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from pytest_dflash.facts.disks import DISKS, Disk
from pytest_dflash.facts.probe import Reply
from pytest_dflash.facts.reading import Value

Ask = Callable[[str], dict[str, Disk]]


@pytest.fixture
def ask(tmp_path: Path) -> Ask:
    """The disks by mount, on a host whose df first runs the given text of sh; `calls` lists its arguments."""

    def answer(df: str) -> dict[str, Disk]:
        tool = tmp_path / "df"
        tool.write_text(
            f'#!/bin/sh\necho "$*" >> {tmp_path}/calls\n{df}\nPATH={os.environ["PATH"]} exec df "$@"\n'
        )
        tool.chmod(0o755)
        script = DISKS.script.replace("timeout -k 1 5", "timeout -k 1 0.5")
        environment = {
            "PATH": f"{tmp_path}:{os.environ['PATH']}",
            "LC_ALL": "C.UTF-8",
            "R": "",
            "PIDS": "",
            "MAIN_PID": "0",
        }
        run = subprocess.run(
            ["/bin/sh", "-c", script], env=environment, capture_output=True, check=False, timeout=60
        )
        reading = DISKS.parse(Reply(run.stdout, run.stderr, run.returncode))
        assert isinstance(reading, Value), reading
        return {disk.mount: disk for disk in reading.value}

    return answer


def test_two_calls_ask_all(ask: Ask, tmp_path: Path) -> None:
    disks = ask("")
    purposes = {purpose for disk in disks.values() for purpose in disk.used_for}
    assert {"root", "tmp"} <= purposes
    calls = (tmp_path / "calls").read_text().splitlines()
    assert len([call for call in calls if "/tmp" in call.split()]) == 2


def test_a_file_system_that_hangs_does_not_hide_the_others(ask: Ask) -> None:
    disks = ask('case " $* " in *" /tmp "*) exec sleep 3 ;; esac')
    assert disks["/tmp"].unread == "`df -P -k /tmp` told no size: df ended with 124"
    assert disks["/"].size_bytes > 0
    assert disks["/"].unread == ""


def test_a_stale_mount_is_named(ask: Ask) -> None:
    disks = ask('case " $* " in *" /tmp "*) echo "df: /tmp: Stale file handle" >&2; exit 1 ;; esac')
    assert (
        disks["/tmp"].unread == "`df -P -k /tmp` told no size: df: /tmp: Stale file handle; df ended with 1"
    )


def test_a_read_only_mount_is_told_by_the_last_mount_on_its_point() -> None:
    said = (
        b"readable=yes\nread-only /srv/my\\040models\nread-only /data\nwritable /data\n\n"
        b"path --model-path=/srv/my models/k26\npath HOME=/data\n"
        b"Filesystem 1024-blocks Used Available Capacity Mounted on\n"
        b"/dev/loop0 1000 1000 0 100% /srv/my models\n/dev/sda1 1000 10 990 1% /data\n"
    )
    reading = DISKS.parse(Reply(said))
    assert isinstance(reading, Value)
    assert {disk.mount: disk.read_only for disk in reading.value} == {"/srv/my models": True, "/data": False}
