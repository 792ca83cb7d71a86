"""`--dflash-triage` against a real systemd over real ssh: in time, in few lines, with the cause first."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.realhost.services import Service

pytestmark = pytest.mark.realhost
ROOT = Path(__file__).parents[2]
UNIT = "sglang-k26-ddtree.service"


def triage(service: Service, folder: Path) -> tuple[int, str, float]:
    """Exit code, what was printed, and seconds, as a person at a keyboard has them; no profile is there."""
    begun = time.monotonic()
    ran = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--dflash-triage"),
            f"--host=root@{service.machine.name}",
            f"--ssh-config={service.machine.ssh_config}",
        ],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
        cwd=folder,
    )
    return ran.returncode, ran.stdout + ran.stderr, time.monotonic() - begun


@pytest.fixture
def spoiled(mini_host: Service) -> Iterator[Service]:
    """A host that is mended afterwards."""
    yield mini_host
    mini_host.machine.sh(f"systemctl reset-failed {UNIT} 2>/dev/null; systemctl start {UNIT}")
    mini_host.wait()


def test_a_healthy_host_is_told_in_ten_seconds(mini_host: Service, tmp_path: Path) -> None:
    code, out, seconds = triage(mini_host, tmp_path)
    assert code == 0, out
    assert f"{UNIT}: ready" in out
    assert "nothing is wrong that can be seen without a profile" in out
    assert re.search(r"--dflash-write-profile=[\w.-]+\.toml ", out.splitlines()[-1])
    assert seconds < 60  # ten where both sides do not share two busy cores
    assert list(tmp_path.iterdir()) == []


def test_a_unit_that_does_not_run_is_found_by_its_command(spoiled: Service, tmp_path: Path) -> None:
    spoiled.machine.sh(f"systemctl stop {UNIT}")
    code, out, _ = triage(spoiled, tmp_path)
    assert code == 1, out
    assert f"1. not serving: {UNIT} does not serve" in out
    assert out.strip().splitlines()[-1].startswith("next: ssh ")
    assert len(out.strip().splitlines()) <= 15


def test_a_process_that_was_killed_is_told_as_a_crash(spoiled: Service, tmp_path: Path) -> None:
    spoiled.machine.sh(f"systemctl kill -s SEGV {UNIT}; sleep 2")
    code, out, _ = triage(spoiled, tmp_path)
    assert code == 1, out
    assert "crash: " in out or "not serving: " in out


SECOND = """[Service]
ExecStart=/usr/bin/env python3 -m sglang.launch_server --model-path /srv/none --port 30999
"""


@pytest.fixture
def beside(mini_host: Service) -> Iterator[Service]:
    """A host with a second unit of an engine, which somebody started and which died."""
    sh = mini_host.machine.sh
    sh(f"cat >/etc/systemd/system/second.service <<'E'\n{SECOND}E")
    sh("systemctl daemon-reload; systemctl start second || true; sleep 1")
    yield mini_host
    sh("systemctl reset-failed second; rm /etc/systemd/system/second.service; systemctl daemon-reload")


def test_of_two_units_each_is_told_and_the_dead_one_first(beside: Service, tmp_path: Path) -> None:
    code, out, _ = triage(beside, tmp_path)
    lines = out.strip().splitlines()
    assert code == 1, out
    # On two busy cores the time may be over after the first: then systemd's word is told.
    assert any(line.startswith((f"{UNIT}: ready", f"{UNIT}: active by systemd")) for line in lines), out
    assert any(line.startswith("second.service: ") for line in lines), out
    assert "second.service" in next(line for line in lines if line.startswith("1. "))
    assert "second" in lines[-1]
    assert len(lines) <= 15
