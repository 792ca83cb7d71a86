"""`--dflash-triage` as it is typed in the night: no profile, no test, the cause first, the next command last."""

from __future__ import annotations

import getpass

import pytest

from pytest_dflash.engines.dialect import Load
from pytest_dflash.facts.reading import Value
from pytest_dflash.host_run import HostRun
from tests.plugin.conftest import Project

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    "fault, code, words",
    [
        (
            None,
            0,
            [
                "nothing is wrong that can be seen without a profile",
                "-m pytest --host=rehearsal --dflash-write-profile",
            ],
        ),
        (
            "window-dropped",
            1,
            ["1. drift: speculative-draft-window-size drifted between", "next: systemctl cat"],
        ),
        ("edited-not-reloaded", 1, ["1. drift: the manager does not hold what is on disk", "daemon-reload"]),
        ("active-not-serving", 1, ["1. not serving: ", "CUDA error", "next: journalctl -u"]),
        (
            "without-ss",
            10,
            ["1. not seen: whether ", "`ss` is not there: install iproute2", "next: id; command -v"],
        ),
        (
            "user-unit",
            10,
            [
                "sglang-k26-ddtree.service: a unit of a user's own manager; not looked at",
                "nothing is wrong with the machine itself",
                "--dflash-expect service.unit=sglang-k26-ddtree.service --dflash-expect service.user_manager=USER",
            ],
        ),
        ("nothing-logged-yet", 1, [": loading: ", "1. not serving: "]),
    ],
)
def test_the_cause_of_a_staged_fault_comes_first(
    project: Project, fault: str | None, code: int, words: list[str]
) -> None:
    (project.path / "dflash.toml").unlink()
    staged = [f"--dflash-fault={fault}"] if fault else []
    run = project.run("--dflash-triage", *staged, host="rehearsal")
    lines = run.out.strip().splitlines()
    assert run.code == code, run.out
    assert len(lines) <= 15
    assert lines[-1].startswith("next: ")
    for word in words:
        assert word in run.out
    assert not (project.path / "reports").exists()


def test_a_host_that_cannot_be_reached_is_said_with_what_to_do(project: Project) -> None:
    run = project.run("--dflash-triage", host="docker://there-is-no-such-container")
    assert run.code == 11
    assert "did not answer" in run.out
    assert run.out.strip().splitlines()[-1].startswith("next: ")


def test_without_a_host_the_usage_error_names_one(project: Project) -> None:
    run = project.run("--dflash-triage", host=None)
    assert run.code == 4
    assert "--dflash-triage: no host is named: add --host=ADDRESS" in run.err


def test_a_unit_of_a_users_own_manager_is_looked_at_once_its_user_is_named(project: Project) -> None:
    (project.path / "dflash.toml").unlink()
    user = getpass.getuser()
    named = [f"--dflash-expect=service.user_manager={user}", "--dflash-fault=user-unit"]
    run = project.run("--dflash-triage", *named, host="rehearsal")
    assert run.code == 0, run.out
    assert "sglang-k26-ddtree.service: ready: " in run.out
    assert run.out.strip().splitlines()[-1].endswith(f"--dflash-expect service.user_manager={user}")


def test_an_engine_that_sleeps_does_not_serve(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    load = Value(Load(0, 0, asleep=True), "GET /metrics")
    monkeypatch.setattr(HostRun, "load_now", lambda _run: load)
    run = project.run("--dflash-triage", host="rehearsal")
    assert run.code == 1
    assert "1. not serving: the engine sleeps: it lists its models, and answers nothing" in run.out
    assert "do: wake it by its route, or restart the unit" in run.out


def test_a_name_that_no_user_can_have_is_a_usage_error(project: Project) -> None:
    run = project.run("--dflash-triage", "--dflash-expect=service.user_manager=a b", host="rehearsal")
    assert run.code == 4
    assert "--dflash-triage: --dflash-expect service.user_manager=a b: " in run.err
