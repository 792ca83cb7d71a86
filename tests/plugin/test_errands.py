"""What the command line answers without a host: a check explained, the rules for sudo."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from pytest_dflash.errands import SUDOERS
from tests.plugin.conftest import Project


def test_a_check_is_explained_without_a_host_or_a_profile(project: Project) -> None:
    (project.path / "dflash.toml").unlink()
    run = project.run("--dflash-explain=gpu.ecc", host=None)
    assert run.code == 0
    assert "gpu.ecc: no gpu has lost memory" in run.out
    assert "mend    Drain, reset the GPU" in run.out


def test_a_parameter_in_brackets_may_stay_there(project: Project) -> None:
    assert "flags.in_force: " in project.run("--dflash-explain=flags.in_force[tp-size]", host=None).out


def test_an_area_lists_its_checks(project: Project) -> None:
    lines = project.run("--dflash-explain=gpu", host=None).out.splitlines()
    assert len(lines) >= 9
    assert all(line.startswith("gpu.") for line in lines)


def test_an_unknown_check_names_close_ones(project: Project) -> None:
    run = project.run("--dflash-explain=gpu.counts", host=None)
    assert run.code == 4
    assert "there is no such check; did you mean gpu.count" in run.err
    assert "--dflash-explain=list" in run.err


def test_the_rules_for_sudo_are_printed(project: Project) -> None:
    run = project.run("--dflash-print-sudoers", host=None)
    assert (run.code, run.out) == (0, SUDOERS.rstrip("\n"))


@pytest.mark.skipif(not shutil.which("visudo"), reason="sudo is not installed")
def test_sudo_itself_takes_the_rules(tmp_path: Path) -> None:
    path = tmp_path / "rules"
    path.write_text(SUDOERS)
    path.chmod(0o440)
    assert subprocess.run(["visudo", "-cf", path], check=False).returncode == 0
