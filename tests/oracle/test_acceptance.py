from __future__ import annotations

import random

import pytest

from pytest_dflash.oracle import acceptance
from pytest_dflash.oracle.acceptance import Drafted


def drafted(per_step: list[int], context: int = 100) -> Drafted:
    """An answer of which each step accepted so many drafts."""
    histogram = {each: per_step.count(each) for each in sorted(set(per_step))}
    return Drafted(context, 1 + sum(per_step) + len(per_step), len(per_step), histogram)


def real(seed: int, context: int = 100, rate: float = 0.7, depth: int = 7) -> Drafted:
    """Drafts accepted one after the other at this rate."""
    draw, steps = random.Random(seed), []
    for _ in range(25):
        accepted = 0
        while accepted < depth and draw.random() < rate:
            accepted += 1
        steps.append(accepted)
    return drafted(steps, context)


def test_the_accept_length_includes_the_bonus_token() -> None:
    one = drafted([3, 1, 0])
    assert one.length == pytest.approx(8 / 3)
    assert one.per_step == pytest.approx(7 / 3)


def test_answers_are_counted_together_by_their_steps() -> None:
    whole = acceptance.together([drafted([3, 1]), drafted([0, 0, 0, 3])])
    assert whole is not None
    assert (whole.tokens, whole.steps, whole.answers) == (15, 6, 2)
    assert whole.histogram == {0: 3, 1: 1, 3: 2}
    assert acceptance.together([]) is None


def test_real_drafters_are_not_called_constant_nor_shallow() -> None:
    for seed in range(100):
        answers = [real(seed * 20 + n) for n in range(12)]
        assert acceptance.constant(answers) is None
        assert not acceptance.only_first(answers, 7)


def test_the_same_at_every_step_is_constant() -> None:
    assert acceptance.constant([drafted([3] * 24 + [1]) for _ in range(4)]) == 4.0


def test_the_same_average_of_every_answer_is_constant_where_no_histogram_tells() -> None:
    assert acceptance.constant([Drafted(100, 101, 25) for _ in range(6)]) == pytest.approx(4.0)
    assert acceptance.constant([Drafted(100, 90 + 3 * n, 25) for n in range(6)]) is None


def test_a_tree_that_is_verified_to_one_level_only_is_shallow() -> None:
    answers = [drafted([1, 0, 1, 1, 0] * 6) for _ in range(4)]
    assert acceptance.only_first(answers, 7)
    assert acceptance.only_first([*answers, drafted([2, 1, 0])], 7)
    assert not acceptance.only_first(answers, 1)


def test_acceptance_that_is_lost_behind_long_prompts_is_told() -> None:
    short = [real(n) for n in range(12)]
    lost = acceptance.decay_by_prompt([*short, *(drafted([0] * 20, context=2048) for _ in range(3))])
    assert lost is not None
    assert lost.lost


def test_acceptance_that_stays_is_not_accused() -> None:
    for seed in range(100):
        answers = [real(seed * 40 + n) for n in range(12)] + [
            real(seed * 40 + 20 + n, 2048) for n in range(3)
        ]
        found = acceptance.decay_by_prompt(answers)
        assert found is not None
        assert not found.lost
    assert acceptance.decay_by_prompt([real(1)]) is None


def test_a_larger_tree_that_accepts_less_is_told() -> None:
    smaller = acceptance.together([real(n, rate=0.75) for n in range(12)])
    larger = acceptance.together([real(n, rate=0.4) for n in range(12)])
    assert smaller is not None
    assert larger is not None
    assert acceptance.falls(smaller, larger)
    assert not acceptance.falls(larger, smaller)


def test_acceptance_that_is_lost_within_a_long_answer_is_told() -> None:
    brief = [drafted([3, 1, 4, 2, 0, 5, 2]) for _ in range(6)]
    lost = acceptance.decay_by_answer([*brief, drafted([3, 2, 1] * 4 + [0] * 260)])
    assert lost is not None
    assert lost.lost
    kept = acceptance.decay_by_answer([*brief, drafted([3, 1, 4, 2, 0, 5, 2] * 11)])
    assert kept is not None
    assert not kept.lost
