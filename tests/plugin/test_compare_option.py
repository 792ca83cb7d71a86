"""An earlier run that cannot be compared with is refused before anything is asked or written."""

from __future__ import annotations

import json

import pytest

from tests.plugin.conftest import Project


@pytest.mark.parametrize(
    "text, said",
    [
        (None, "cannot be read: No such file or directory"),
        ("<html>", "is no JSON; name the findings.json of an earlier run"),
        ("[1]", "is no findings.json of schema 1"),
        ('{"schema": 2, "findings": []}', "is no findings.json of schema 1"),
    ],
)
def test_what_is_no_earlier_run_is_a_usage_error(project: Project, text: str | None, said: str) -> None:
    project.checks(project.finding("pass"))
    if text is not None:
        (project.path / "old.json").write_text(text)
    run = project.run("--dflash-compare=old.json")
    assert run.code == 4, run.out + run.err
    assert f"--dflash-compare=old.json: {said}" in run.out + run.err
    assert not (project.path / "reports").exists()


def test_the_header_names_the_earlier_run(project: Project) -> None:
    project.checks(project.finding("pass"))
    (project.path / "old.json").write_text(json.dumps({"schema": 1, "hosts": [], "findings": []}))
    run = project.run("--dflash-compare=old.json")
    assert run.code == 0, run.out + run.err
    assert "dflash compare: old.json (--dflash-compare)" in run.out
