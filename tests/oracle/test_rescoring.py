from __future__ import annotations

import pytest

from pytest_dflash.engines.scoring import Scored
from pytest_dflash.oracle.rescoring import Line, tally


def scored(token: int, *best: tuple[int, float]) -> Scored:
    return Scored(token, dict(best)[token], best)


LINE = Line(
    "alone, prompt of 3 tokens",
    (7, 8, 9),
    (1, 2, 3),
    (scored(1, (1, -0.1), (2, -3.0)), scored(2, (4, -0.7), (2, -0.75)), scored(3, (5, -0.1), (3, -4.1))),
)


def test_each_position_is_the_first_choice_a_tie_or_a_violation() -> None:
    found = tally([LINE], 0.1)
    assert (found.positions, found.argmax, found.near_ties, len(found.violations)) == (3, 1, 1, 1)
    assert found.widest_tie == pytest.approx(0.05)


def test_a_violation_is_shown_with_its_place_its_margin_and_what_was_before() -> None:
    (first,) = tally([LINE], 0.1).violations
    assert (first.index, first.position, first.said, first.wanted) == (2, 5, 3, 5)
    assert first.gap == pytest.approx(4.0)
    assert first.before == (7, 8, 9, 1, 2)


def test_what_follows_a_violation_is_judged_after_what_was_really_said() -> None:
    assert len(tally([LINE], 0.01).violations) == 2


def test_a_line_whose_scores_are_of_other_tokens_does_not_match() -> None:
    assert LINE.matches
    assert not Line("x", (), (1, 9, 3), LINE.scored).matches
    assert not Line("x", (), (1,), LINE.scored).matches


def test_no_violation_in_three_hundred_positions_leaves_one_percent_unseen() -> None:
    line = Line("x", (), (1,) * 300, (LINE.scored[0],) * 300)
    assert tally([line], 0.1).unseen_rate == pytest.approx(0.00994, abs=1e-4)
    assert tally([], 0.1).unseen_rate == 1.0
