"""Exit code, verdict and pytest's own words, for every mixture of outcomes and every way to run them."""

from __future__ import annotations

import pytest

from tests.plugin.conftest import Project

MIXTURES = {
    # what the checks say: exit code, verdict of a whole run, pytest's own count
    ("pass",): (0, "accept", {"passed": 1}),
    ("fail",): (1, "reject", {"failed": 1}),
    ("unproven",): (10, "undecided", {"failed": 1}),
    ("not_applicable",): (10, "undecided", {"skipped": 1}),
    ("not_run",): (10, "undecided", {"skipped": 1}),
    ("waived",): (0, "accept", {"xfailed": 1}),
    ("pass", "not_applicable", "not_run"): (0, "accept", {"passed": 1, "skipped": 2}),
    ("not_applicable", "not_run"): (10, "undecided", {"skipped": 2}),
    ("pass", "waived"): (0, "accept", {"passed": 1, "xfailed": 1}),
    ("pass", "unproven"): (10, "undecided", {"passed": 1, "failed": 1}),
    ("waived", "unproven"): (10, "undecided", {"xfailed": 1, "failed": 1}),
    ("unproven", "fail", "pass"): (1, "reject", {"failed": 2, "passed": 1}),
    ("waived", "fail"): (1, "reject", {"xfailed": 1, "failed": 1}),
    ("unreachable",): (11, "reject", {"failed": 1}),
    ("unreachable", "unreachable"): (11, "reject", {"failed": 1, "skipped": 1}),
    ("pass", "unreachable", "unproven", "waived"): (11, "reject", {"passed": 1, "failed": 2, "xfailed": 1}),
}
WAYS = {
    "plain": (),
    "keyword": ("-k", "it"),
    "marker": ("-m", "systemd"),
    "runxfail": ("--runxfail",),
    "file": ("test_checks.py",),
    "maxfail": ("--maxfail=9",),
    "workers": ("-n2",),
}
NARROWING = {"keyword", "marker", "file"}
WAIVER = """
[[waivers]]
check = "systemd.loaded"
reason = "ticket 4711"
expires = 2999-01-31
"""


def stage(project: Project, mixture: tuple[str, ...]) -> None:
    project.profile(WAIVER)
    project.checks(
        "".join(
            project.finding(
                outcome,
                name="systemd.loaded" if outcome == "waived" else "systemd.active",
                function=f"test_it_{number}",
            )
            for number, outcome in enumerate(mixture)
        )
    )


@pytest.mark.parametrize("way", [way for way in WAYS if way != "workers"])
@pytest.mark.parametrize("mixture", MIXTURES, ids="+".join)
def test_the_exit_code_and_the_verdict_follow_the_outcomes(
    project: Project, mixture: tuple[str, ...], way: str
) -> None:
    code, verdict, words = MIXTURES[mixture]
    stage(project, mixture)
    run = project.run(*WAYS[way])
    assert (run.code, run.verdict) == (code, "partial" if code == 0 and way in NARROWING else verdict)
    assert {word: number for word, number in run.words.items() if word in PYTEST_WORDS} == words
    assert run.document["run"]["exit_code"] == code
    assert run.document["run"]["complete"] is True
    said = ["fail" if outcome == "unreachable" else outcome for outcome in mixture]
    if mixture == ("unreachable", "unreachable"):
        said = ["fail", "blocked"]
    assert run.outcomes == said


PYTEST_WORDS = {"passed", "failed", "skipped", "xfailed", "xpassed", "errors"}


@pytest.mark.slow
@pytest.mark.parametrize("mixture", MIXTURES, ids="+".join)
def test_workers_come_to_the_same_exit_code(project: Project, mixture: tuple[str, ...]) -> None:
    code, verdict, words = MIXTURES[mixture]
    stage(project, mixture)
    run = project.run("-n2", apart=True)
    assert (run.code, run.verdict) == (code, verdict), run.out + run.err
    assert {word: number for word, number in run.words.items() if word in PYTEST_WORDS} == words


def test_a_node_id_is_partial(project: Project) -> None:
    stage(project, ("pass", "fail"))
    run = project.run("test_checks.py::test_it_0[10.1.2.200]")
    assert (run.code, run.verdict) == (0, "partial")
    assert "good so far, judged on the selected checks only; this does not accept the host" in run.out
    assert "next: run without -k, -m and node ids to judge the host" in run.out


def test_deselecting_by_a_plugin_is_partial(project: Project) -> None:
    stage(project, ("pass", "fail"))
    project.pytester.makeconftest(
        "def pytest_collection_modifyitems(config, items):\n"
        "    config.hook.pytest_deselected(items=[items.pop()])\n"
    )
    assert project.run().verdict == "partial"


@pytest.mark.slow
def test_what_a_worker_deselects_makes_the_run_partial(project: Project) -> None:
    stage(project, ("pass", "fail"))
    project.pytester.makeconftest(
        "def pytest_collection_modifyitems(config, items):\n"
        "    config.hook.pytest_deselected(items=[items.pop()])\n"
    )
    assert project.run("-n1", apart=True).verdict == "partial"


def test_the_first_failure_ends_the_run_with_x_and_the_verdict_is_of_what_ran(project: Project) -> None:
    stage(project, ("fail", "pass"))
    run = project.run("-x")
    assert (run.code, run.verdict, run.outcomes) == (1, "reject", ["fail"])
    assert run.document["run"]["complete"] is False


@pytest.mark.slow
def test_x_under_xdist_is_a_failure_and_no_interruption(project: Project) -> None:
    stage(project, ("fail", "pass"))
    run = project.run("-x", "-n1", apart=True)
    assert (run.code, run.verdict) == (1, "reject"), run.out
    assert run.document["run"]["complete"] is False


def test_a_failing_test_that_is_no_check_rejects(project: Project) -> None:
    stage(project, ("pass",))
    project.pytester.makepyfile(test_other="def test_other():\n    assert False\n")
    run = project.run()
    assert (run.code, run.verdict) == (1, "reject")
    assert "a test that is no check, or the collection of one; pytest tells which" in run.out


def test_a_failing_test_that_is_no_check_does_not_hide_that_a_host_is_unreachable(project: Project) -> None:
    stage(project, ("unreachable",))
    project.pytester.makepyfile(test_other="def test_other():\n    assert False\n")
    assert project.run().code == 11


@pytest.mark.parametrize("source, code", [("pass", 0), ("assert False", 1)])
def test_without_a_check_pytests_own_exit_code_stands(project: Project, source: str, code: int) -> None:
    project.pytester.makepyfile(test_other=f"def test_other():\n    {source}\n")
    run = project.run()
    assert run.code == code
    assert run.verdict == "undecided"
    assert "dflash:" not in run.out


def test_nothing_selected_is_five_and_says_so_in_the_findings(project: Project) -> None:
    stage(project, ("pass",))
    run = project.run("-k", "nothing_of_that_name")
    assert (run.code, run.verdict, run.outcomes) == (5, "undecided", [])
    assert run.document["run"]["exit_code"] == 5
    assert run.document["run"]["complete"] is False


def test_a_module_that_cannot_be_collected_interrupts(project: Project) -> None:
    stage(project, ("pass",))
    project.pytester.makepyfile(test_broken="import no_such_module\n")
    run = project.run()
    assert (run.code, run.verdict) == (2, "undecided")
    run = project.run("--continue-on-collection-errors")
    assert (run.code, run.verdict, run.outcomes) == (1, "reject", ["pass"])
    assert run.document["run"]["complete"] is False


@pytest.mark.parametrize(
    "stop", ["raise KeyboardInterrupt", 'pytest.exit("enough")', 'pytest.exit("enough", returncode=0)']
)
def test_an_interrupted_run_is_reported_and_never_accepts(project: Project, stop: str) -> None:
    project.checks(
        project.finding("pass", function="test_a")
        + f'@check("systemd.stable")\ndef test_b(host_run):\n    {stop}\n\n'
        + project.finding("pass", function="test_c")
    )
    run = project.run(apart=True)
    assert (run.code, run.verdict, run.outcomes) == (2, "undecided", ["pass"])
    assert run.document["run"]["complete"] is False
    assert {path.name for path in run.folder.iterdir()} == {
        "findings.json",
        "report.html",
        "junit.xml",
        "ctrf.json",
    }


def test_an_internal_error_is_three_and_is_reported(project: Project) -> None:
    stage(project, ("pass",))
    project.pytester.makeconftest("def pytest_runtest_logreport(report):\n    raise RuntimeError('broken')\n")
    run = project.run(apart=True)
    assert (run.code, run.verdict) == (3, "undecided")
    assert run.document["run"]["complete"] is False


def test_a_host_that_was_not_put_back_outranks_everything(project: Project) -> None:
    stage(project, ("unreachable", "pass"))
    project.pytester.makeconftest(
        "from pytest_dflash.host_run import HostRun\n"
        "def pytest_configure():\n"
        "    told = HostRun.document\n"
        "    HostRun.document = lambda self: {**told(self), 'changed': True, 'restored': False}\n"
    )
    run = project.run(apart=True)
    assert (run.code, run.verdict) == (12, "reject")
    assert run.document["hosts"][0]["restored"] is False


REQUIRED = '[gate]\nrequire = ["{}"]\n'


@pytest.mark.parametrize(
    "pattern, outcome, code",
    [
        ("systemd.*", "pass", 0),
        ("systemd.active", "not_run", 10),
        ("systemd.active", "not_applicable", 10),
        ("window.*", "pass", 10),
    ],
)
def test_what_the_gate_requires_must_pass(project: Project, pattern: str, outcome: str, code: int) -> None:
    project.profile(REQUIRED.format(pattern))
    project.checks(project.finding(outcome) + project.finding("pass", name="host.xid", function="test_x"))
    run = project.run()
    assert run.code == code
    assert (f"required  {pattern} on 10.1.2.200" in run.out) == (code == 10)
    assert ("[gate] requires it, and not everything of it ran and passed" in run.out) == (code == 10)


def test_the_gate_asks_a_narrowed_run_only_for_what_it_selected(project: Project) -> None:
    project.profile(REQUIRED.format("window.*"))
    project.checks(project.finding("pass"))
    assert project.run("-k", "test_it").code == 0


def test_a_session_that_a_plugin_ends_early_never_accepts(project: Project) -> None:
    project.checks(
        f"{project.finding('pass', function='test_a')}\n{project.finding('pass', function='test_b')}"
    )
    project.pytester.makeconftest(
        "def pytest_runtest_teardown(item):\n    item.session.shouldfail = 'session-timeout: 5 sec exceeded'\n"
    )
    run = project.run()
    assert (run.code, run.verdict, run.document["run"]["complete"]) == (2, "undecided", False)


def test_a_check_that_reaches_no_host_does_not_pass(project: Project) -> None:
    project.checks(
        f"{project.finding('pass')}\n"
        "@check('host.nowhere')\ndef test_nowhere():\n    return failed('broken')\n"
    )
    run = project.run()
    assert (run.code, run.verdict) == (1, "reject")
    run.result.stdout.fnmatch_lines(["*host.nowhere reaches no host*"])


def test_an_ignored_glob_is_partial(project: Project) -> None:
    project.checks(project.finding("pass"))
    assert project.run("--ignore-glob=*exposure*").verdict == "partial"


def test_folders_with_a_conftest_of_their_own_are_no_internal_error(project: Project) -> None:
    for name in ("one", "two"):
        folder = project.pytester.mkdir(name)
        (folder / "conftest.py").write_text("def pytest_collectreport(report):\n    pass\n")
        project.checks(project.finding("pass", function=f"test_{name}"), name=f"{name}/test_{name}.py")
    run = project.run("one", "two")
    assert (run.code, run.verdict) == (0, "accept")


def test_what_an_exception_quotes_moves_no_cursor(project: Project) -> None:
    project.checks(
        "@check('host.odd')\ndef test_it(host_run):\n    raise RuntimeError(chr(27) + '[2Jgone')\n"
    )
    run = project.run()
    assert run.code == 10
    assert "\x1b" not in run.out
