"""The terminal on a desk, in a log, in a narrow window: the last block is whole, and colours come only where wanted."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import pytest

from tests.plugin.conftest import Project


@pytest.fixture
def red(project: Project) -> Project:
    project.checks(
        project.finding("fail")
        + project.finding("unproven", name="gpu.ecc", function="test_other")
        + project.finding("pass", name="host.xid", function="test_third")
    )
    return project


def block(out: str) -> list[str]:
    """The last block, without pytest's own last line."""
    lines = out.rstrip().splitlines()
    begin = next(n for n, line in enumerate(lines) if "dflash: reject" in line)
    return [line for line in lines[begin + 1 :] if "1 passed" not in line]


@pytest.mark.parametrize(
    "option", ["", "-q", "-qq", "-v", "-vv", "--tb=no", "--tb=short", "-rN", "--color=yes"]
)
def test_the_last_block_is_whole_however_pytest_is_asked(red: Project, option: str) -> None:
    lines = block(red.run(*filter(None, [option])).out)
    assert lines[:2] == ["the host must not take traffic (exit code 1)", "1 pass, 1 fail, 1 unproven"]
    assert lines[2] == "  1. fail      systemd.active on 10.1.2.200: it is not so"
    assert lines[3] == "     do: mend it."
    assert lines[4] == "  2. unproven  gpu.ecc on 10.1.2.200: nobody says"
    assert lines[-2].startswith("report: ")
    assert lines[-1] == "next: mend it"


def test_no_colour_is_written_where_none_is_wanted(red: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    assert "\x1b[" not in red.run().out


def test_colours_are_written_where_they_are_asked_for(red: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert "\x1b[31m" in red.run("--color=yes").out


def test_a_narrow_window_loses_no_word(red: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    assert block(red.run().out)[-1] == "next: mend it"


def test_each_file_is_one_line_while_it_runs(red: Project) -> None:
    lines = [line for line in red.run().out.splitlines() if line.startswith("test_checks.py ")]
    assert len(lines) == 1
    assert sorted(lines[0].split()[1]) == [".", "F", "U"]


def test_a_log_has_a_word_for_each_outcome(red: Project) -> None:
    out = red.run("-v").out
    assert "test_checks.py::test_other[10.1.2.200] UNPROVEN" in out
    assert "test_checks.py::test_it[10.1.2.200] FAILED" in out


def test_quiet_says_neither_header_nor_environment(red: Project) -> None:
    assert "dflash hosts:" not in red.run("-q").out


@pytest.mark.parametrize("workers", [(), ("-n1",)], ids=["alone", "with workers"])
def test_the_command_to_run_on_begins_as_this_one_did(project: Project, workers: Sequence[str]) -> None:
    project.checks(
        project.finding("pass") + project.finding("pass", name="tree.budget", function="test_held_back")
    )
    text = (project.path / "test_checks.py").read_text()
    (project.path / "test_checks.py").write_text(text.replace('"tree.budget"', '"tree.budget", level="load"'))
    run = project.run("--dflash-allow=probe", *workers, apart=True)
    begin = f"{sys.executable} -mpytest "
    (last,) = [line for line in run.out.splitlines() if line.startswith("next: ")]
    assert last.startswith(f"next: {begin}"), run.out
    assert "--dflash-allow" not in last
    assert run.document["run"]["command"].startswith(begin)
    assert begin in (run.folder / "report.html").read_text()
