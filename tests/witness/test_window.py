"""The draft window: by flag, by the drafter's own config, or by either."""

from __future__ import annotations

import pytest

from pytest_dflash.facts.reading import Absent, Reading, Silent, Value
from pytest_dflash.findings import Json, Judgement, Outcome
from pytest_dflash.witness.window import window
from tests.witness.small_engine import WINDOW, chain_of, healthy

OWN: Reading[Json] = Value({"sliding_window": 2048})
NONE: Reading[Json] = Value({})


def judged(flag: int | None, config: Reading[Json], via: str, **changes: object) -> Judgement:
    return window(chain_of(healthy(flag), drafter_config=config, **changes), 2048, via)


@pytest.mark.parametrize(
    "flag, config, via, outcome",
    [
        (2048, NONE, "flag", Outcome.PASS),
        (None, OWN, "flag", Outcome.FAIL),
        (16, OWN, "flag", Outcome.FAIL),
        (None, OWN, "native", Outcome.PASS),
        (None, NONE, "native", Outcome.FAIL),
        (None, Value({"sliding_window": 512}), "native", Outcome.FAIL),
        (None, Silent("no permission"), "native", Outcome.UNPROVEN),
        (None, Absent(), "native", Outcome.UNPROVEN),
        (2048, OWN, "native", Outcome.PASS),
        (16, OWN, "native", Outcome.FAIL),
        (2048, Silent("no permission"), "either", Outcome.PASS),
        (None, OWN, "either", Outcome.PASS),
        (None, NONE, "either", Outcome.FAIL),
        (16, OWN, "either", Outcome.FAIL),
        (None, Silent("no permission"), "either", Outcome.UNPROVEN),
    ],
)
def test_the_window_reaches_the_draft_runner_on_the_way_that_is_expected(
    flag: int | None, config: Reading[Json], via: str, outcome: Outcome
) -> None:
    judgement = judged(flag, config, via)
    assert (judgement.outcome, judgement.param, judgement.expected) == (outcome, None, 2048)


def test_by_its_own_config_the_draft_runner_logs_none_and_that_is_right() -> None:
    judgement = judged(None, OWN, "native")
    logged = {each.source: each for each in judgement.evidence}
    assert (logged["draft_runner_log"].reading, logged["draft_runner_log"].value) == ("value", None)
    assert logged["drafter_config"].value == 2048
    assert judgement.summary == "the drafter's own config gives it a window of 2048 tokens"


def test_a_flag_that_asks_for_another_window_overrules_the_config() -> None:
    judgement = judged(16, OWN, "native")
    assert judgement.summary == (
        f"the drafter's own window is overruled: {WINDOW} is 16 in unit_file, expected 2048 by the drafter's config"
    )


def test_a_config_without_a_window_says_so() -> None:
    assert judged(None, NONE, "native").summary == (
        "the drafter's own config gives it none that this engine honours: expected a window of 2048 tokens"
    )


def test_either_shows_both_ways_when_both_fail() -> None:
    judgement = judged(None, NONE, "either")
    assert [each.source for each in judgement.evidence][-1] == "drafter_config"
    assert "was never asked for" in judgement.summary
    assert "the drafter's own config gives it none" in judgement.summary


def test_either_is_unproven_while_one_way_is_and_marks_nothing() -> None:
    judgement = judged(None, Silent("no permission"), "either")
    assert judgement.summary.startswith("neither flag nor drafter config is proven")
    assert judgement.between is None
    assert not any(each.differs for each in judgement.evidence)


def test_a_silent_draft_runner_does_not_matter_to_a_config_that_is_read() -> None:
    judgement = judged(None, OWN, "native", journal=Silent("rotated away"))
    assert judgement.outcome is Outcome.PASS
