"""What a first profile is written from: units found by their listeners, engines by their processes."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pytest

from pytest_dflash.facts.procfs import Process
from pytest_dflash.facts.reading import Absent, Silent, Value
from pytest_dflash.facts.sockets import Owner
from pytest_dflash.own_command import shipped
from pytest_dflash.recording import candidates, engine_of, unit_of, wanted_unit

SGLANG = ("/opt/venv/bin/python", "-m", "sglang.launch_server", "--port", "30000")


def process(argv: tuple[str, ...]) -> Process:
    return Process(1, 0, argv, Absent(), Silent("not asked"), 1, 0, "/system.slice/a.service", {})


def test_only_units_whose_listener_runs_a_known_engine_are_candidates() -> None:
    owners = {
        1: Owner(1, "/system.slice/sglang.service", SGLANG),
        2: Owner(2, "/system.slice/sshd.service", ("sshd",)),
        3: Owner(3, "/user.slice/session-3.scope", SGLANG),
    }
    assert candidates(Value(owners)) == {"sglang.service": "sglang"}
    assert candidates(Silent("no ss")) == {}


@pytest.mark.parametrize(
    "cgroup, unit",
    [
        ("/system.slice/system-sglang.slice/sglang@0.service", "sglang@0.service"),
        ("/system.slice/docker-1234.scope", None),
        ("/", None),
    ],
)
def test_the_unit_is_the_last_service_of_the_cgroup(cgroup: str, unit: str | None) -> None:
    assert unit_of(Owner(1, cgroup, ())) == unit


def test_a_loading_unit_is_known_by_its_process_though_nobody_listens_yet() -> None:
    assert engine_of(Value((process(("bash",)), process(SGLANG)))) == "sglang"
    assert engine_of(Value((process(("bash",)),))) is None
    assert engine_of(Silent("no permission")) is None


def test_the_last_unit_that_was_named_counts() -> None:
    assert (
        wanted_unit(["window.tokens=1", "service.unit=a.service", 'service.unit = "b.service"'])
        == "b.service"
    )
    assert wanted_unit(["window.tokens=1"]) is None


def test_the_next_command_keeps_what_leads_to_the_host(pytester: pytest.Pytester) -> None:
    path = Path("gpu1.toml")
    ran = pytester.runpytest_subprocess(
        "--host=rehearsal", f"--dflash-write-profile={path}", "-p", "no:hypothesispytest"
    )
    assert ran.ret == 0
    (line,) = [line for line in ran.outlines if line.startswith("next: ")]
    words = ["--host=rehearsal", f"--dflash-profile={pytester.path / path}", f"{shipped()}/"]
    assert shlex.split(line) == ["next:", sys.executable, "-mpytest", *words]
    assert "reviewed = false" in (pytester.path / path).read_text()
    again = pytester.runpytest_subprocess("--host=rehearsal", f"--dflash-write-profile={path}")
    assert again.ret == 4
    again.stderr.fnmatch_lines(["*exists and is not overwritten; name another file, or move it away"])
