"""What a project pays that has this plugin installed and names no host: one option group and one marker line."""

from __future__ import annotations

import pytest

from tests.plugin.conftest import Project

DUMP = """
import sys
def pytest_unconfigure():
    print("LOADED", *sorted(sys.modules))
"""


def loaded(project: Project, *arguments: str) -> set[str]:
    run = project.run("-q", *arguments, host=None, apart=True)
    assert run.code == 0, run.out + run.err
    (line,) = [each for each in run.out.splitlines() if each.startswith("LOADED ")]
    return set(line.split()[1:])


def test_nothing_but_the_options_is_imported(project: Project) -> None:
    project.pytester.makeconftest(DUMP)
    project.pytester.makepyfile(test_mine="def test_mine():\n    pass\n")
    added = loaded(project) - loaded(project, "-p", "no:dflash")
    assert {name for name in added if name.startswith("pytest_dflash")} == {
        "pytest_dflash",
        "pytest_dflash.plugin",
    }
    assert not {name.partition(".")[0] for name in added} & {
        "testinfra",
        "openai",
        "pydantic",
        "httpx",
        "tenacity",
    }


def test_no_fixture_is_there_and_one_marker(project: Project) -> None:
    ours = project.run("--fixtures", host=None).out
    assert "fixtures defined from pytest_dflash" not in ours
    assert "host_run" not in ours
    markers = project.run("--markers", host=None).out
    assert [line for line in markers.splitlines() if "dflash" in line] == [
        "@pytest.mark.check(name, level): a check of pytest-dflash; it returns its judgement"
    ]


def test_a_users_own_host_fixture_and_marker_stay(project: Project) -> None:
    project.pytester.makeconftest("import pytest\n@pytest.fixture\ndef host():\n    return 'mine'\n")
    project.pytester.makepyfile(test_mine="def test_mine(host):\n    assert host == 'mine'\n")
    assert project.run(host=None).words == {"passed": 1}
    assert not (project.path / "reports").exists()


@pytest.mark.parametrize(
    "option", ["--host", "--dflash-profile", "--dflash-allow", "--dflash-plan", "--dflash-fault"]
)
def test_the_help_names_the_options(project: Project, option: str) -> None:
    assert option in project.run("--help", host=None).out
