"""The draft window, in the draft runner of the process that runs now."""

from __future__ import annotations

from pytest_dflash.checks import check
from pytest_dflash.findings import Judgement
from pytest_dflash.profile.schema import Profile
from pytest_dflash.witness import drift
from pytest_dflash.witness.chain import Chain


@check("window.reaches_draft_runner")
def test_window_reaches_the_draft_runner(chain: Chain, profile: Profile) -> Judgement:
    return drift.draft_window(chain, profile)
