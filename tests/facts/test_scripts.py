"""The script of each probe is portable sh."""

from __future__ import annotations

import shutil
import subprocess
from typing import Any

import pytest

from pytest_dflash.facts.probe import Probe
from tests.facts.probes import PROBES

EXCLUDED = "SC2034,SC2154,SC2043,SC1007,SC2086,SC2046,SC3013"
"""Set for the next probe or set before; word splitting of $PIDS is meant; `-ef` is in every sh of a Linux."""

each_probe = pytest.mark.parametrize("probe", PROBES.values(), ids=lambda probe: probe.name)


@each_probe
def test_dash_accepts_the_script(probe: Probe[Any]) -> None:
    if not shutil.which("dash"):
        pytest.skip("needs dash: apt-get install dash")
    run = subprocess.run(["dash", "-n", "-c", probe.script], capture_output=True, text=True, check=False)
    assert (run.returncode, run.stderr) == (0, "")


@pytest.mark.slow
@each_probe
def test_shellcheck_finds_nothing_in_the_script(probe: Probe[Any]) -> None:
    if not shutil.which("shellcheck"):
        pytest.skip("needs shellcheck: apt-get install shellcheck")
    run = subprocess.run(
        ["shellcheck", "-s", "dash", "-e", EXCLUDED, "-"],
        input=probe.script,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.stdout == ""
