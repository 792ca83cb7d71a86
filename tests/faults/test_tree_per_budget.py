"""The worst fault of the story: a mask that is right for one budget and silently wrong for all others."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults import matrix

pytestmark = pytest.mark.matrix


def test_a_mask_as_wide_as_the_block_is_red_at_every_budget_but_the_one_it_fits(tmp_path: Path) -> None:
    document = matrix.run(
        tmp_path,
        "--dflash-fault=mask-stride-from-block",
        "--dflash-allow=load,reconfigure",
        "--dflash-drained",
        "-k",
        "lossless_per_budget or same_tokens or without_speculation",
    )
    outcomes = {
        (each["check"], each["param"]): each["outcome"]
        for each in document["findings"]
        if each["outcome"] != "not_run"
    }
    assert outcomes == {
        ("tree.reference", None): "fail",  # the running budget is 15
        ("tree.lossless_per_budget", "3"): "fail",
        ("tree.lossless_per_budget", "7"): "pass",
        ("tree.same_tokens_per_budget", "3"): "fail",
        ("tree.same_tokens_per_budget", "7"): "pass",
    }
    assert document["hosts"][0]["restored"] is True
