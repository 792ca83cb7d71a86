"""Runs that change a real host, what they meet at their steps, and the host compared before and after.

Law: starts runs as a user does and looks at the host by itself, not by the code under test.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.realhost.services import FRAGMENT, UNIT, Service

ROOT = Path(__file__).parents[2]
LEASE_S = 6
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

    def run(
        self, at: dict[str, str], *options: str, timeout_s: float = 300, **profile: Any
    ) -> tuple[int, str, dict[str, Any]]:
        """Exit code, output and findings.json of a run that meets with something at its steps."""
        command, folder = self.command(*options, **profile)
        environment = os.environ | {"PYTHONPATH": str(ROOT), "DFLASH_AT_STEP": json.dumps(at)}
        ran = subprocess.run(
            command, capture_output=True, text=True, timeout=timeout_s, check=False, cwd=ROOT, env=environment
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

    def leftovers(self) -> str:
        """What runs of ours have under /run."""
        return self.service.machine.sh("ls -d /run/pytest-dflash/* 2>/dev/null", check=False)

    def free(self, within_s: float = 3 * LEASE_S) -> None:
        """Until no lock is left that has not lapsed; the next run takes over what has."""
        script = f"""
cd /run/pytest-dflash/{UNIT} 2>/dev/null || exit 0
read -r up _ </proc/uptime; [ "${{up%%.*}}" -ge "$(cat until)" ] && ! systemctl is-active -q dflash-lease-{UNIT}"""
        deadline = time.monotonic() + within_s
        while time.monotonic() < deadline:
            if "freed" in self.service.machine.sh(f"({script}) && echo freed", check=False):
                return
            time.sleep(0.3)


def restored(document: dict[str, Any]) -> Any:
    return document["hosts"][0]["restored"]


def outcome(document: dict[str, Any]) -> str:
    return str(document["findings"][0]["outcome"])
