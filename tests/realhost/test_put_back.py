"""Whatever happens between lock and unlock, the host comes back: each case compares it before and after."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pytest_dflash.lifecycle.controller import STEPS
from tests.realhost.services import FRAGMENT, SITE, UNIT, Service

ROOT = Path(__file__).parents[2]
LEASE_S = 6
CASES: list[str] = []
STATE = f"""
show() {{ systemctl show -p "$1" --value {UNIT}; }}
tr '\\0' ' ' </proc/$(show MainPID)/cmdline; echo
busctl --json=short get-property org.freedesktop.systemd1 \
    "$(busctl --json=short call org.freedesktop.systemd1 /org/freedesktop/systemd1 org.freedesktop.systemd1.Manager \
    GetUnit s {UNIT} | sed 's/.*\\["//; s/"\\].*//')" org.freedesktop.systemd1.Service ExecStart |
    sed 's/,[0-9][0-9,]*\\].*//'
show DropInPaths; show ActiveState; show UnitFileState; show NeedDaemonReload
find /etc/systemd /run/systemd/system -name '{UNIT}*' -exec ls -ld --time-style=+ {{}} +
cat {FRAGMENT}
"""
PROFILE = """
[service]
unit = "{unit}"
engine = "sglang"
served_model = "{served}"
ready_timeout_s = {ready}
[tree]
budgets = [{budget}]
{flag}
[lifecycle]
lease_s = {lease}
"""


@dataclass
class Host:
    """The real host, and runs that change it."""

    service: Service
    folder: Path
    runs: int = 0

    def state(self) -> str:
        return self.service.machine.sh(STATE, check=False)

    def command(self, *options: str, user: str = "root", ready: float = 30, budget: int = 3, flag: str = "",
                lease: float = LEASE_S) -> tuple[list[str], Path]:  # fmt: skip
        self.runs += 1
        folder = self.folder / str(self.runs)
        folder.mkdir()
        profile = folder / "dflash.toml"
        profile.write_text(PROFILE.format(
            unit=UNIT, served=self.service.served, ready=ready, budget=budget, flag=flag, lease=lease,
        ))  # fmt: skip
        return [
            *(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "tests.realhost.stepping"),
            *("suites/test_lifecycle.py", "-k", "budget", "--dflash-allow=reconfigure", "--dflash-drained"),
            f"--host={user}@{self.service.machine.name}", f"--ssh-config={self.service.machine.ssh_config}",
            f"--dflash-profile={profile}", f"--dflash-report-dir={folder}", *options,
        ], folder  # fmt: skip

    def run(self, at: dict[str, str], *options: str, **profile: Any) -> tuple[int, str, dict[str, Any]]:
        """Exit code, output and findings.json of a run that meets with something at its steps."""
        command, folder = self.command(*options, **profile)
        environment = os.environ | {"PYTHONPATH": str(ROOT), "DFLASH_AT_STEP": json.dumps(at)}
        ran = subprocess.run(
            command, capture_output=True, text=True, timeout=300, check=False, cwd=ROOT, env=environment
        )
        found = folder / "findings.json"
        return (
            ran.returncode,
            ran.stdout + ran.stderr,
            json.loads(found.read_text()) if found.exists() else {},
        )

    def ssh(self, script: str) -> str:
        """A shell command of this side that runs a script over there."""
        words = [
            "ssh",
            "-F",
            str(self.service.machine.ssh_config),
            "-l",
            "root",
            self.service.machine.name,
            script,
        ]
        return shlex.join(words)

    def comes_back(self, before: str, within_s: float) -> None:
        """The host is as it was within the time, and its process serves."""
        deadline = time.monotonic() + within_s
        while (now := self.state()) != before:
            assert time.monotonic() < deadline, f"still not as before:\n{now}\nbefore:\n{before}"
            time.sleep(0.2)
        self.service.wait()

    def free(self) -> None:
        """Until no lock is left that has not lapsed; the next run takes over what has."""
        script = f"""
cd /run/pytest-dflash/{UNIT} 2>/dev/null || exit 0
read -r up _ </proc/uptime; [ "${{up%%.*}}" -ge "$(cat until)" ] && ! systemctl is-active -q dflash-lease-{UNIT}"""
        deadline = time.monotonic() + 3 * LEASE_S
        while time.monotonic() < deadline:
            if "freed" in self.service.machine.sh(f"({script}) && echo freed", check=False):
                return
            time.sleep(0.3)


@pytest.fixture(scope="module")
def on_host(mini_host: Service, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    yield Host(mini_host, tmp_path_factory.mktemp("runs"))
    sys.stderr.write(f"\nput back after {len(CASES)} cases: {', '.join(CASES)}\n")


@pytest.fixture
def host(on_host: Host, request: pytest.FixtureRequest) -> Iterator[Host]:
    on_host.free()
    yield on_host
    CASES.append(request.node.name)


def restored(document: dict[str, Any]) -> Any:
    return document["hosts"][0]["restored"]


def outcome(document: dict[str, Any]) -> str:
    return str(document["findings"][0]["outcome"])


def test_a_budget_is_visited_and_the_host_is_as_before(host: Host) -> None:
    before = host.state()
    code, said, document = host.run({})
    assert (code, outcome(document), restored(document)) == (0, "pass", True), said
    assert document["hosts"][0]["changed"] is True
    assert host.state() == before
    assert "run" not in host.service.machine.sh("ls -d /run/pytest-dflash/* 2>/dev/null", check=False)


@pytest.mark.parametrize("step", STEPS)
def test_a_run_killed_at_any_step_is_put_back(host: Host, step: str) -> None:
    before = host.state()
    code, said, _ = host.run({step: "kill -KILL $RUN_PID"})
    assert code == -9, said
    host.comes_back(before, LEASE_S + host.service.start_s)


def test_after_all_that_a_run_is_as_good_as_the_first(host: Host) -> None:
    before = host.state()
    code, said, document = host.run({})
    assert (code, restored(document)) == (0, True), said
    assert host.state() == before


def test_a_connection_that_is_cut_in_the_wait_is_opened_again(host: Host) -> None:
    before = host.state()
    code, said, document = host.run({"wait": host.ssh("pkill -KILL -f 'sshd: root'")})
    assert restored(document) is True, said
    assert code in {0, 1, 10, 11}
    assert host.state() == before


def test_an_sshd_that_is_restarted_does_no_harm(host: Host) -> None:
    before = host.state()
    _, said, document = host.run({"wait": host.ssh("systemctl restart ssh")})
    assert restored(document) is True, said
    assert host.state() == before


def test_a_crash_in_the_changed_configuration_is_a_failure_and_put_back(host: Host) -> None:
    before = host.state()
    code, said, document = host.run({}, flag='budget_flag = "no-such-flag"')
    assert (code, outcome(document), restored(document)) == (1, "fail", True), said
    assert "does not get ready with budget 3" in document["findings"][0]["summary"]
    host.comes_back(before, 5)


def test_an_engine_that_never_gets_ready_is_a_failure_and_put_back(host: Host) -> None:
    mischief = f"{SITE}/sglang/miniature/mischief.json"
    before = host.state()
    at = {
        "restart": host.ssh(f"echo '{{\"load_hangs\": true}}' >{mischief}"),
        "put back": host.ssh(f"rm {mischief}"),
    }
    code, said, document = host.run(at, ready=5)
    assert (code, outcome(document), restored(document)) == (1, "fail", True), said
    host.comes_back(before, 5)


def test_a_full_run_folder_is_met_before_anything_is_touched(host: Host) -> None:
    before, invocation = host.state(), host.service.show("InvocationID")
    fill = "mount -o remount,size=$(df -k --output=used /run | tail -n 1 | tr -d ' ')k /run; cat /dev/zero >/run/full"
    try:
        _, said, document = host.run({"lock": host.ssh(fill)})
    finally:
        host.service.machine.sh("mount -o remount,size=50% /run; rm -f /run/full")
    assert outcome(document) == "unproven", said
    assert host.state() == before
    assert host.service.show("InvocationID") == invocation


def test_without_systemd_run_nothing_is_touched(host: Host) -> None:
    before, invocation = host.state(), host.service.show("InvocationID")
    try:
        _, said, document = host.run({"lock": host.ssh("mv /usr/bin/systemd-run /usr/bin/away")})
    finally:
        host.service.machine.sh("mv /usr/bin/away /usr/bin/systemd-run")
    assert outcome(document) == "unproven", said
    assert "was not changed, as `lease` failed" in document["findings"][0]["summary"]
    assert (host.state(), host.service.show("InvocationID")) == (before, invocation)


@pytest.mark.parametrize("user,options,code", [("visitor", ["--sudo"], 11), ("visitor", [], 10)])
def test_somebody_who_may_not_touches_nothing(host: Host, user: str, options: list[str], code: int) -> None:
    before, invocation = host.state(), host.service.show("InvocationID")
    found, said, _ = host.run({}, *options, user=user, ready=5)
    assert found == code, said
    assert (host.state(), host.service.show("InvocationID")) == (before, invocation)


def test_a_persons_edit_stays(host: Host) -> None:
    try:
        edit = f"sed -i 's/--tp-size 8/--tp-size 4/' {FRAGMENT}"
        _, said, document = host.run({"wait": host.ssh(edit)})
        assert restored(document) is True, said
        assert f"{FRAGMENT} was edited meanwhile" in said
        assert "--tp-size 4" in host.state()
        assert "zzz-dflash" not in host.state()
    finally:
        host.service.heal()


def test_of_two_runs_at_once_the_second_is_refused_by_name(host: Host) -> None:
    before = host.state()
    first, folder = host.command(lease=60)
    at = {"PYTHONPATH": str(ROOT), "DFLASH_AT_STEP": json.dumps({"wait": f"touch {folder}/waiting; sleep 8"})}
    with subprocess.Popen(first, cwd=ROOT, env=os.environ | at, stdout=subprocess.DEVNULL) as running:
        while not (folder / "waiting").exists():
            assert running.poll() is None
            time.sleep(0.1)
        _, said, document = host.run({})
        assert "another run works on" in document["findings"][0]["summary"], said
        assert f"pid {running.pid}" in document["findings"][0]["summary"]
        assert running.wait(60) == 0
    assert host.state() == before


def test_ctrl_c_once_puts_back(host: Host) -> None:
    before = host.state()
    code, said, document = host.run({"wait": "kill -INT $RUN_PID"})
    assert (code, restored(document)) == (2, True), said
    assert host.state() == before


def test_ctrl_c_again_and_again_leaves_it_to_the_lease(host: Host) -> None:
    before = host.state()
    at = {"wait": "kill -INT $RUN_PID", "wait again": "kill -INT $RUN_PID; sleep 0.3; kill -INT $RUN_PID"}
    at["put back"] = "kill -INT $RUN_PID"
    code, said, document = host.run(at)
    assert (code, restored(document)) == (12, False), said
    assert "Ctrl-C once more leaves that to the host's lease" in said
    assert f"by hand: `rm -f /run/systemd/system/{UNIT}.d/zzz-dflash-" in said
    host.comes_back(before, LEASE_S + host.service.start_s)
