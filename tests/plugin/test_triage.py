"""`--dflash-triage` as it is typed in the night: no profile, no test, the cause first, the next command last."""

from __future__ import annotations

import pytest

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
