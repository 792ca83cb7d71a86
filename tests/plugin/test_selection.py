"""Which tests there are, in which order, and what runs that touch nothing leave behind."""

from __future__ import annotations

import re
import textwrap

import pytest

from tests.plugin.conftest import Project

SHUFFLE = """
import pytest
@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    items.reverse()
"""
FLAGS = """
[flags]
tp-size = 8
speculative-dflash-draft-window-size = 2048
"""
CHECKS = """
@check("endpoint.completion", level="probe", requests=1, tokens=64)
def test_asks(host_run): return passed("a")

@check("flags.in_force", per="flag")
def test_flag(host_run, flag): return passed(f"{flag}")

@check("window.reaches_draft_runner")
def test_window(host_run): return passed("w")

@check("stack.driver")
def test_driver(profile): return passed("d")

@check("host.xid")
def test_machine(host_run): return passed("h")

def test_mine(): pass
"""
WAIVER = '[[waivers]]\ncheck = "systemd.active"\nreason = "ticket 4711"\nexpires = {}\n'


def ids(out: str) -> list[str]:
    return re.findall(r"^test_checks\.py::(\S+)", out, re.MULTILINE)


def collected(project: Project, *arguments: str, host: str = "10.1.2.200") -> list[str]:
    return ids(project.run("--collect-only", "-q", *arguments, host=host).out)


def test_the_host_stands_first_in_every_id_and_order_is_by_intrusiveness(project: Project) -> None:
    project.profile(FLAGS)
    project.checks(CHECKS)
    expected = [
        "test_machine[10.1.2.200]",
        "test_driver[10.1.2.200]",
        "test_flag[10.1.2.200-tp-size]",
        "test_flag[10.1.2.200-speculative-dflash-draft-window-size]",
        "test_window[10.1.2.200]",
        "test_asks[10.1.2.200]",
        "test_mine",
    ]
    assert collected(project) == expected
    project.pytester.makeconftest(SHUFFLE)
    assert sorted(collected(project)[:5]) == sorted(expected[:5])
    assert collected(project)[-2:] == expected[-2:]


def test_all_of_one_host_comes_before_the_next(project: Project) -> None:
    project.checks(CHECKS)
    hosts = [re.findall(r"\[(gpu\d)", each) for each in collected(project, host="root@gpu2,gpu1:22")]
    named = [each[0] for each in hosts if each]
    assert named == sorted(named, reverse=True)
    assert set(named) == {"gpu1", "gpu2"}


def test_several_profiles_name_their_units(project: Project) -> None:
    project.profile(name="two.toml", text='[service]\nunit = "other.service"\nengine = "sglang"\n')
    project.checks(project.finding("pass"))
    found = collected(project, "--dflash-profile=dflash.toml", "--dflash-profile=two.toml")
    assert found == ["test_it[10.1.2.200/engine.service]", "test_it[10.1.2.200/other.service]"]


def test_k_window_selects_what_a_person_means(project: Project) -> None:
    project.profile(FLAGS)
    project.checks(CHECKS)
    assert collected(project, "-k", "window") == [
        "test_flag[10.1.2.200-speculative-dflash-draft-window-size]",
        "test_window[10.1.2.200]",
    ]
    assert collected(project, "-k", "window.reaches_draft_runner") == ["test_window[10.1.2.200]"]


def test_m_selects_areas(project: Project) -> None:
    project.checks(CHECKS)
    selected = collected(project, "-m", "stack or window", "--strict-markers")
    assert selected == ["test_driver[10.1.2.200]", "test_window[10.1.2.200]"]


@pytest.mark.parametrize("option", ["--collect-only", "--dflash-plan", "--markers", "--fixtures"])
def test_what_touches_nothing_leaves_nothing(guarded: Project, option: str) -> None:
    guarded.checks(CHECKS)
    run = guarded.run("-p", "guard", option, apart=True)
    assert run.code == 0, run.out + run.err
    assert not (guarded.path / "reports").exists()
    assert " passed" not in run.out


def test_the_plan_counts_what_would_be_done(project: Project) -> None:
    project.checks(CHECKS + project.finding("not_run"))
    out = project.run("--dflash-plan").out
    assert "plan for 10.1.2.200 (allowed: load)" in out
    assert "requests" in out
    assert "1 need restart and are not run" in out


def test_a_waived_failure_is_xfailed_also_with_runxfail(project: Project) -> None:
    project.profile(WAIVER.format("2999-01-31"))
    project.checks(project.finding("fail"))
    for arguments in ((), ("--runxfail",)):
        run = project.run(*arguments)
        assert (run.code, run.words, run.outcomes) == (0, {"xfailed": 1}, ["waived"])
        assert run.document["findings"][0]["summary"] == "it is not so (waived until 2999-01-31: ticket 4711)"


def test_an_expired_waiver_waives_nothing_and_says_so(project: Project) -> None:
    project.profile(WAIVER.format("2020-01-31"))
    project.checks(project.finding("fail"))
    run = project.run()
    assert (run.code, run.outcomes) == (1, ["fail"])
    assert "it is not so (its waiver expired on 2020-01-31: ticket 4711)" in run.out


def test_a_waiver_that_is_no_longer_needed_is_mentioned(project: Project) -> None:
    project.profile(WAIVER.format("2999-01-31"))
    project.checks(project.finding("pass"))
    run = project.run()
    assert run.code == 0
    assert "waiver: systemd.active passes, so its waiver is no longer needed (ticket 4711)" in run.out


@pytest.mark.parametrize("failure", ["HostUnreachable('no route', 'ask')", "NotServing('dead', 'start it')"])
def test_a_waived_check_that_carries_the_hosts_failure_is_not_waived(project: Project, failure: str) -> None:
    project.profile(WAIVER.format("2999-01-31"))
    project.checks(f'@check("systemd.active")\ndef test_it(host_run):\n    raise {failure}\n')
    run = project.run()
    assert run.outcomes == ["fail"]
    assert run.code == (11 if "Unreachable" in failure else 1)


def test_nothing_is_opened_by_checks_that_ask_for_nothing(guarded: Project) -> None:
    guarded.checks(guarded.finding("pass"))
    run = guarded.run("-p", "guard", apart=True)
    assert run.code == 0, run.out + run.err
    assert run.document["hosts"] == []


def test_a_closed_port_is_carried_by_the_first_and_blocks_the_others(project: Project) -> None:
    project.checks(
        '@check("host.xid")\ndef test_a(facts): return passed("a")\n'
        '@check("systemd.active")\ndef test_b(facts): return passed("b")\n'
    )
    run = project.run("-k", "test_b or test_a", host="127.0.0.1:1")
    assert (run.code, run.outcomes) == (11, ["fail", "blocked"])
    assert "test_a" in run.document["findings"][1]["summary"]
    assert run.document["hosts"][0]["unreachable"] is True
    assert project.run("-k", "test_b", host="127.0.0.1:1").outcomes == ["fail"]


def test_hosts_own_fixture_is_this_connection(project: Project) -> None:
    project.pytester.makepyfile(
        test_mine="def test_mine(host):\n    assert host.run('echo here').stdout.strip() == 'here'\n"
    )
    run = project.run(host="local://")
    assert (run.code, run.words) == (0, {"passed": 1})
    (known,) = run.document["hosts"]
    assert known["name"] == "local"
    assert run.document["findings"] == []


@pytest.mark.parametrize(
    "arguments, verdict",
    [
        ((), "accept"),
        (("-o", "python_files=test_one*.py"), "partial"),
        (("-o", "python_files=test_one*.py", "-n", "2"), "partial"),
    ],
)
def test_a_run_that_collects_less_than_its_folder_declares_is_partial(
    project: Project, arguments: tuple[str, ...], verdict: str
) -> None:
    for name, check in (("test_one.py", "host.xid"), ("test_other.py", "host.memory")):
        project.checks(f'@check("{check}")\ndef test_it(host_run): return passed("x")\n', name=name)
    assert project.run(*arguments).verdict == verdict


def test_under_xdist_all_checks_of_one_host_run_in_one_worker(project: Project) -> None:
    project.checks(
        "import os\n"
        + "".join(
            f'@check("{name}")\ndef test_{at}(host_run): return passed(os.environ["PYTEST_XDIST_WORKER"])\n'
            for at, name in enumerate(("host.xid", "host.memory", "gpu.count", "window.reaches_draft_runner"))
        )
    )
    run = project.run("-n", "2", host="10.1.2.200,10.1.2.201")
    workers: dict[str, set[str]] = {}
    for finding in run.document["findings"]:
        workers.setdefault(finding["host"], set()).add(finding["summary"])
    assert {host: len(used) for host, used in workers.items()} == {"10.1.2.200": 1, "10.1.2.201": 1}
    assert len(run.document["findings"]) == 8


LEFT_OUT = {
    "a marker": (
        """
        def pytest_collection_modifyitems(items):
            for item in items:
                if "two" in item.nodeid:
                    item.add_marker(pytest.mark.skip(reason="needs --runslow"))
        """,
        (10, "undecided"),
    ),
    "a plugin that takes items out last": (
        """
        @pytest.hookimpl(trylast=True)
        def pytest_collection_modifyitems(items):
            items[:] = [item for item in items if "two" not in item.nodeid]
        """,
        (0, "partial"),
    ),
    "a plugin that sets up and calls nothing": (
        """
        from _pytest.runner import call_and_report

        @pytest.hookimpl(tryfirst=True)
        def pytest_runtest_protocol(item, nextitem):
            if "two" not in item.nodeid:
                return None
            call_and_report(item, "setup")
            call_and_report(item, "teardown", nextitem=nextitem)
            return True
        """,
        (0, "partial"),
    ),
    "a plugin that runs nothing": (
        """
        @pytest.hookimpl(tryfirst=True)
        def pytest_runtest_protocol(item):
            return True
        """,
        (10, "undecided"),
    ),
    "a plugin that says it has run them": (
        """
        @pytest.hookimpl(tryfirst=True)
        def pytest_runtest_protocol(item):
            return True if "two" in item.nodeid else None
        """,
        (0, "partial"),
    ),
}


@pytest.mark.parametrize("how", LEFT_OUT)
def test_a_check_that_somebody_left_out_is_no_acceptance(project: Project, how: str) -> None:
    conftest, found = LEFT_OUT[how]
    project.checks(
        project.finding("pass", function="test_one")
        + project.finding("fail", name="systemd.stable", function="test_two")
    )
    project.pytester.makeconftest("import pytest\n" + textwrap.dedent(conftest))
    run = project.run()
    assert (run.code, run.verdict) == found, run.out
    if how == "a marker":
        assert "it was skipped by a marker: needs --runslow" in run.out
        assert (
            "what shall be left out is named on the command line (-k), and the run is partial then" in run.out
        )
    if "says it has run" in how:
        assert (
            "left out: checks that were collected and never run: 1, the first is test_checks.py::test_two"
            in run.out
        )


def test_an_end_that_was_asked_for_leaves_nothing_out(project: Project) -> None:
    project.checks(
        project.finding("fail", function="test_one")
        + project.finding("pass", name="systemd.stable", function="test_two")
    )
    run = project.run("-x")
    assert run.verdict == "reject"
    assert "left out" not in run.out
    assert not run.document["run"]["narrowed"]


def test_one_parameter_that_a_plugin_took_out_makes_the_run_partial(project: Project) -> None:
    project.profile(FLAGS)
    project.checks(
        '@check("flags.in_force", per="flag")\ndef test_flag(host_run, flag): return passed(f"{flag}")\n'
    )
    assert project.run().verdict == "accept"
    project.pytester.makeconftest(
        """
        def pytest_collection_modifyitems(items):
            items[:] = [item for item in items if "tp-size" not in item.nodeid]
        """
    )
    assert project.run().verdict == "partial"


def test_a_check_that_a_plugin_tries_again_counts_once(project: Project) -> None:
    """As pytest-rerunfailures does: a report of outcome `rerun` for each try but the last."""
    project.checks(project.finding("fail"))
    project.pytester.makeconftest(
        """
        import copy, pytest

        @pytest.hookimpl(wrapper=True, tryfirst=True)
        def pytest_runtest_makereport(item, call):
            report = yield
            if report.when == "call":
                again = copy.copy(report)
                again.outcome = "rerun"
                item.ihook.pytest_runtest_logreport(report=again)
            return report
        """
    )
    assert project.run().outcomes == ["fail"]


def test_without_assertions_nothing_is_judged(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    project.checks(project.finding("pass"))
    monkeypatch.setenv("PYTHONOPTIMIZE", "1")
    run = project.run(apart=True)
    assert run.code == 4
    assert "switches assertions off, and a check that asserts could not fail; run without it" in run.err


def test_a_check_that_skips_itself_has_nothing_to_say_of_this_host(project: Project) -> None:
    project.checks(
        project.finding("pass")
        + '@check("systemd.stable")\ndef test_two(host_run):\n    pytest.skip("no such thing here")\n'
    )
    assert project.run().outcomes == ["pass", "not_applicable"]
