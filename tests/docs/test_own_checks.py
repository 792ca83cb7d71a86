"""The tutorial's files, run as they stand on the page: green on the rehearsal, red on the fault that it makes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.plugin.conftest import Project, project  # noqa: F401 - the fixture

PAGE = Path(__file__).parents[2] / "docs" / "own-checks.md"
BLOCK = re.compile(r"```python\n# (\w+\.py)\n(.*?)```", re.DOTALL)
FILES = dict(BLOCK.findall(PAGE.read_text("utf-8")))


@pytest.fixture
def site(project: Project, monkeypatch: pytest.MonkeyPatch) -> Project:  # noqa: F811 - as above
    for name, source in FILES.items():
        (project.path / name).write_text(source)
    project.pytester.makeini("[pytest]\npythonpath = .\n")
    return project


def test_the_page_has_the_files_that_it_speaks_of() -> None:
    assert list(FILES) == ["test_site.py", "site_probe.py", "test_release.py", "conftest.py"]


@pytest.mark.slow
def test_the_checks_pass_on_the_rehearsal(site: Project) -> None:
    run = site.run(".", host="rehearsal", apart=True)
    assert run.code == 0, run.out + run.err
    assert {(f["check"], f["outcome"]) for f in run.document["findings"]} == {
        ("flags.site_prefill", "pass"),
        ("host.release", "pass"),
    }


@pytest.mark.slow
def test_the_fault_turns_its_check_red_and_no_other(site: Project) -> None:
    run = site.run(".", "--dflash-fault=other-release", host="rehearsal", apart=True)
    assert run.code == 1, run.out + run.err
    red = [f for f in run.document["findings"] if f["outcome"] != "pass"]
    assert [(f["check"], f["observed"]) for f in red] == [("host.release", "12")]
    assert "install it from the image of release 13" in run.out


def test_own_faults_are_listed(site: Project) -> None:
    run = site.run("--dflash-fault=list", host=None, apart=True)
    assert "other-release\tread\thost.release\tthe host was installed from an older image" in run.out
