from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARK = Path(__file__).parents[2] / "benchmarks/floor_power.py"


@pytest.mark.slow
def test_a_floor_is_judged_as_rightly_as_promised_within_its_time() -> None:
    ran = subprocess.run(
        [sys.executable, str(BENCHMARK), "--quick"], capture_output=True, text=True, timeout=120, check=False
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert ran.stdout.endswith("the promise at a spread of 5 % holds\n")
