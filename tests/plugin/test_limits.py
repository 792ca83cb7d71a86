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


GENERATING_CHECKS = """
@check("systemd.active")
def test_read(host_run):
    return passed("it is so", expected=1, observed=1)

@check("endpoint.awake")
def test_awake(host_run):
    return endpoint.awake(host_run.load)

@check("endpoint.completion", level="probe", requests=1, tokens=8)
def test_answer(host_run):
    open("sent", "w").close()
    return passed("it answered", expected=1, observed=1)

@check("endpoint.same_process", level="probe")
def test_same(host_run):
    return passed("the same", expected=1, observed=1)

@check("throughput.floors", level="load")
def test_load(host_run):
    return passed("fast enough", expected=1, observed=2)
"""
SLEEPS = "the engine sleeps: it lists its models, and answers nothing until it is woken"


def told_of(project: Project, *arguments: str) -> dict[str, tuple[str, str]]:
    found = project.run("--dflash-allow=probe,load", *arguments).document["findings"]
    return {each["check"]: (each["outcome"], each["summary"]) for each in found}


@pytest.mark.parametrize("asleep", [True, False, None])
def test_an_engine_that_sleeps_is_one_failure_and_nothing_is_asked_of_it(
    project: Project,
    monkeypatch: pytest.MonkeyPatch,
    asleep: bool | None,  # noqa: FBT001 - a column of the table above
) -> None:
    load = Value(Load(0, 0, asleep), "GET /metrics")
    monkeypatch.setattr(HostRun, "service", object())
    monkeypatch.setattr(HostRun, "load_now", lambda _run: load)
    project.checks("from pytest_dflash.rules import endpoint\n" + GENERATING_CHECKS)
    told = told_of(project)
    assert (project.path / "sent").exists() is not asleep
    if not asleep:
        assert {outcome for outcome, _ in told.values()} <= {"pass", "not_applicable"}
        return
    assert told["endpoint.awake"] == ("fail", SLEEPS)
    assert told["systemd.active"][0] == told["endpoint.same_process"][0] == "pass"
    outcome, summary = told["endpoint.completion"]
    assert outcome == told["throughput.floors"][0] == "blocked"
    assert summary.startswith(f"{SLEEPS} (told by ")
    assert "test_awake" in summary
    # Where the check that asks was left out, the first that meets it carries it.
    alone = told_of(project, "-k", "answer or load")
    assert alone["endpoint.completion"] == ("fail", SLEEPS)
    assert alone["throughput.floors"][0] == "blocked"
