"""What a unit that does not serve makes moot."""

from __future__ import annotations

import pytest

from pytest_dflash.checks import Check
from pytest_dflash.findings import Outcome
from pytest_dflash.gate import moot
from pytest_dflash.lifecycle.phase import Phase


@pytest.mark.parametrize(
    "check, outcome, phase, expected",
    [
        (Check("flags.in_force", per="flag"), Outcome.UNPROVEN, Phase.LOADING, True),
        (Check("flags.in_force", per="flag"), Outcome.FAIL, Phase.LOADING, False),
        (Check("flags.in_force", per="flag"), Outcome.FAIL, Phase.FAILED, True),
        (Check("flags.no_drift"), Outcome.FAIL, Phase.FAILED, False),
        (Check("stack.package", per="package"), Outcome.UNPROVEN, Phase.NOT_RUNNING, True),
        (Check("stack.package", per="package"), Outcome.FAIL, Phase.NOT_RUNNING, False),
        (Check("stack.package", per="package"), Outcome.UNPROVEN, Phase.LOADING, False),
        (Check("window.reaches_draft_runner"), Outcome.UNPROVEN, Phase.FAILED, False),
        (Check("gpu.count"), Outcome.UNPROVEN, Phase.FAILED, False),
        (Check("flags.in_force", per="flag"), Outcome.UNPROVEN, Phase.READY, False),
        (Check("flags.in_force", per="flag"), Outcome.UNPROVEN, Phase.UNKNOWN, False),
    ],
)
def test_only_what_the_process_would_have_answered_is_moot(
    check: Check, outcome: Outcome, phase: Phase, expected: object
) -> None:
    assert moot(check, outcome, phase) is expected
