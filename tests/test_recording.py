"""What a first profile is written from: units found by their listeners, engines by their processes."""

from __future__ import annotations

import getpass
import shlex
import sys
from pathlib import Path

import pytest

from pytest_dflash.own_command import shipped
from pytest_dflash.profile.recorder import NOT_WELL
from pytest_dflash.recording import UNIT_KEY, expected


def test_the_last_unit_that_was_named_counts() -> None:
    assert (
        expected(["window.tokens=1", "service.unit=a.service", 'service.unit = "b.service"'], UNIT_KEY)
        == "b.service"
    )
    assert expected(["window.tokens=1"], UNIT_KEY) is None


@pytest.mark.slow
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


HERE = "sglang-k26-ddtree.service (sglang, active); name it with --dflash-expect service.unit=NAME.service"


@pytest.mark.slow
@pytest.mark.parametrize(
    "fault, unit, told",
    [
        (
            (),
            "other.service",
            "*no process of other.service runs an engine that is known here (*); units of this host that run or name *: "
            + HERE,
        ),
        (
            ("--dflash-fault=stopped",),
            "sglang-k26-ddtree.service",
            "*it is inactive by systemd: start it first, or read as root (--sudo) if its processes cannot be seen",
        ),
        (
            ("--dflash-fault=no-such-unit",),
            "",
            "*which unit? None listen and run a known engine; no unit of this host runs or names one: start it first*",
        ),
    ],
)
def test_where_no_engine_runs_in_the_unit_those_of_this_host_are_named(
    pytester: pytest.Pytester, fault: tuple[str, ...], unit: str, told: str
) -> None:
    named = [f"--dflash-expect=service.unit={unit}"] if unit else []
    ran = pytester.runpytest_inprocess("--host=rehearsal", "--dflash-write-profile=p.toml", *fault, *named)
    assert ran.ret == 4
    ran.stderr.fnmatch_lines([told.replace("[", "[[]")])
    assert not (pytester.path / "p.toml").exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    "fault, lines, written",
    [
        (
            "window-dropped",
            (
                "  1. drift: speculative-draft-window-size drifted between server_info and draft_runner_log: 2048 became None",
                "window.tokens: the engine's answer says 2048, the draft runner says None: which is meant?",
            ),
            "tokens = 2048  # the engine's answer says 2048, the draft runner says None: which is meant?",
        ),
        (
            "edited-not-reloaded",
            ("window.tokens: the unit file says 2048, the manager says nothing: which is meant?",),
            "#   1. drift: the manager does not hold what is on disk: ",
        ),
        (
            "environment-file-edited",
            ("  1. drift: the process runs with an older environment: OMP_NUM_THREADS: ",),
            'OMP_NUM_THREADS = "8"  # ',
        ),
        (
            "companion-left-behind",
            ("  1. stack: packages that belong together are of different releases: ",),
            "#   1. ",
        ),
    ],
)
def test_a_host_that_contradicts_itself_is_told_to_do_so_before_it_is_expected(
    pytester: pytest.Pytester, fault: str, lines: tuple[str, ...], written: str
) -> None:
    ran = pytester.runpytest_inprocess(
        "--host=rehearsal", f"--dflash-fault={fault}", "--dflash-write-profile=p.toml"
    )
    assert ran.ret == 0
    assert NOT_WELL in ran.outlines
    for line in lines:
        assert any(each.startswith(line) for each in ran.outlines), ran.outlines
    assert f"\n{written}" in (pytester.path / "p.toml").read_text()
    look = f"--host=rehearsal --dflash-fault={fault} --dflash-triage --dflash-expect"
    assert ran.outlines[-1].endswith(f"{look} service.unit=sglang-k26-ddtree.service")


@pytest.mark.slow
def test_a_package_that_is_there_twice_is_asked_about_at_its_version(pytester: pytest.Pytester) -> None:
    ran = pytester.runpytest_inprocess(
        "--host=rehearsal", "--dflash-fault=package-twice", "--dflash-write-profile=p.toml"
    )
    assert "stack.packages.sglang: one folder has it 2 times, 0.5.19, 0.5.23: which is meant?" in ran.outlines
    assert 'sglang = ">=0.5.19"  # one folder has it 2 times' in (pytester.path / "p.toml").read_text()


@pytest.mark.slow
def test_a_unit_of_a_user_s_own_manager_is_recorded_once_the_user_is_named(pytester: pytest.Pytester) -> None:
    ask = ("--host=rehearsal", "--dflash-fault=user-unit", "--dflash-write-profile=p.toml")
    unnamed = pytester.runpytest_inprocess(*ask)
    assert unnamed.ret == 4
    unnamed.stderr.fnmatch_lines(
        ["*is a unit of a user's own manager (systemctl --user); name that user with --dflash-expect *"]
    )
    user = getpass.getuser()
    assert pytester.runpytest_inprocess(*ask, f"--dflash-expect=service.user_manager={user}").ret == 0
    assert f'user_manager = "{user}"' in (pytester.path / "p.toml").read_text()


@pytest.mark.parametrize("name", ["service.unit=a b", "service.unit=x", "service.user_manager=a b"])
def test_a_name_that_cannot_be_is_refused_before_the_host_is_asked(
    name: str, pytester: pytest.Pytester
) -> None:
    ran = pytester.runpytest_inprocess(
        "--host=docker://none", "--dflash-write-profile=p.toml", f"--dflash-expect={name}"
    )
    assert ran.ret == 4
    ran.stderr.fnmatch_lines([f"*--dflash-write-profile: --dflash-expect {name}: *"])


@pytest.mark.slow
def test_the_only_unit_that_runs_an_engine_is_found_while_it_loads(pytester: pytest.Pytester) -> None:
    ran = pytester.runpytest_inprocess(
        "--host=rehearsal", "--dflash-fault=slow-start", "--dflash-write-profile=p.toml"
    )
    assert ran.ret == 0
    assert 'unit = "sglang-k26-ddtree.service"' in (pytester.path / "p.toml").read_text()
