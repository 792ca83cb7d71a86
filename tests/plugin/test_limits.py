"""The options that bound a run, and the plan that touches nothing."""

from __future__ import annotations

import pytest

from tests.plugin.conftest import Project


@pytest.mark.parametrize(
    "argument, said",
    [
        ("--dflash-max-restarts=-1", "--dflash-max-restarts: must be 0 or more, found -1"),
        ("--dflash-deadline=0", "--dflash-deadline: must be a positive number of seconds, found 0"),
        ("--dflash-deadline=inf", "--dflash-deadline: must be a positive number of seconds, found inf"),
        ("--dflash-deadline=nan", "--dflash-deadline: must be a positive number of seconds, found nan"),
    ],
)
def test_a_limit_that_is_none_is_refused(project: Project, argument: str, said: str) -> None:
    project.checks(project.finding("pass"))
    run = project.run(argument)
    assert run.code == 4
    assert said in run.out + run.err


def test_nobody_vouches_for_a_drained_host_from_an_ini_file(project: Project) -> None:
    project.pytester.makeini("[pytest]\naddopts = --dflash-drained\n")
    project.checks(project.finding("pass"))
    run = project.run()
    assert run.code == 4
    assert (
        "--dflash-drained: vouches for the host at this moment, so it counts only when typed"
        in run.out + run.err
    )


def test_the_header_shows_limits_with_their_origin(project: Project) -> None:
    project.checks(project.finding("pass"))
    run = project.run("--dflash-max-restarts=3", "--dflash-deadline", "3600", "--dflash-drained")
    assert run.code == 0
    for line in ("max-restarts: 3", "deadline: 3600", "drained"):
        assert f"dflash {line} (--dflash-{line.partition(':')[0]})" in run.out


def test_a_plan_touches_nothing_and_writes_nothing(guarded: Project) -> None:
    guarded.checks(
        guarded.finding("pass")
        + '@check("lifecycle.restarts", level="restart", restarts=1)\n'
        + "def test_again(host_run):\n    raise AssertionError\n"
    )
    before = sorted(guarded.path.rglob("*.*"))
    run = guarded.run(
        "-p", "guard", "--dflash-plan", "--dflash-allow=restart", "--dflash-max-restarts=0", apart=True
    )
    assert run.code == 0, run.out + run.err
    assert "  restarts  1\n" in run.out
    assert "  limit     1 restarts are more than --dflash-max-restarts=0" in run.out
    assert "  time      about 15 min, each start 900 s (the ready timeout)" in run.out
    assert [
        path for path in sorted(guarded.path.rglob("*.*")) if path not in before and "cache" not in str(path)
    ] == []
