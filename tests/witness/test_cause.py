"""The usual causes."""

from __future__ import annotations

from itertools import pairwise

import pytest

from pytest_dflash.witness import cause
from pytest_dflash.witness.chain import WITNESSES


@pytest.mark.parametrize("pair", list(pairwise(WITNESSES)))
def test_every_step_of_the_chain_has_a_cause_and_a_remedy(pair: tuple[str, str]) -> None:
    usual = cause.LOST[pair]
    assert usual.cause
    assert usual.remedy


@pytest.mark.parametrize("witness", WITNESSES)
def test_every_silent_witness_can_be_made_to_speak(witness: str) -> None:
    assert cause.HEAR[witness]


def test_across_silent_witnesses_every_step_may_be_the_cause() -> None:
    usual = cause.between(WITNESSES, "unit_file", "process_argv")
    assert "the manager has not read it" in usual.cause
    assert "was not restarted" in usual.cause
    assert usual.remedy.count("systemctl restart {unit}") == 2
