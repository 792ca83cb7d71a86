"""The options that bound a run, and the plan that touches nothing."""

from __future__ import annotations

import pytest

from pytest_dflash.engines.dialect import Load
from pytest_dflash.facts.reading import Value
from pytest_dflash.host_run import HostRun
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


LOADING_CHECK = """
@check("throughput.floors", level="load")
def test_load(host_run):
    open("sent", "w").close()
    return passed("fast enough", expected=1, observed=2)

@check("systemd.active")
def test_read(host_run):
    return passed("it is so", expected=1, observed=1)
"""


@pytest.mark.parametrize(
    "found, arguments, sent",
    [
        (Load(2, 1), (), False),
        (Load(0, 1), (), False),
        (Load(0, 0), (), True),
        (Load(2, 1), ("--dflash-allow=load",), True),
    ],
)
def test_foreign_requests_hold_back_what_loads_unless_load_was_typed(
    project: Project,
    monkeypatch: pytest.MonkeyPatch,
    found: Load,
    arguments: tuple[str, ...],
    sent: bool,  # noqa: FBT001 - a column of the table above
) -> None:
    monkeypatch.setattr(HostRun, "service", object())
    monkeypatch.setattr(HostRun, "load_now", lambda _run: Value(found, "GET /v1/loads"))
    project.checks(LOADING_CHECK)
    run = project.run(*arguments)
    assert (project.path / "sent").exists() is sent
    outcomes = {each["check"]: each for each in run.document["findings"]}
    assert outcomes["systemd.active"]["outcome"] == "pass"
    assert outcomes["throughput.floors"]["outcome"] == ("pass" if sent else "unproven")
    assert run.code == (0 if sent else 10)
    if not sent:
        assert outcomes["throughput.floors"]["summary"].startswith(
            f"foreign_traffic: requests that are not ours: {found} (GET /v1/loads); nothing was sent."
        )
