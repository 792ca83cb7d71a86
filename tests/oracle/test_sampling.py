from __future__ import annotations

import math
import random

from pytest_dflash.engines.scoring import Scored
from pytest_dflash.oracle.prefill import Sample
from pytest_dflash.oracle.sampling import beside_prefills, boldness, compared, first_token

TARGET = {0: 0.4, 1: 0.3, 2: 0.1, 3: 0.05, 4: 0.03}


def drawn(weights: dict[int, float], many: int, seed: int) -> list[int]:
    rest = 1 - sum(weights.values())
    return random.Random(seed).choices([*weights, 9], [*weights.values(), rest], k=many)


def test_samples_of_the_target_are_rarely_accused() -> None:
    found = [first_token(drawn(TARGET, 176, seed), TARGET).probability for seed in range(400)]
    assert sum(each < 0.05 for each in found) < 40
    assert min(found) > 1e-4


def test_a_greedy_engine_is_accused() -> None:
    assert first_token([0] * 176, TARGET).probability < 1e-9


def test_a_temperature_that_is_too_low_is_accused() -> None:
    sharper = {token: p**2 for token, p in TARGET.items()}
    total = sum(sharper.values())
    found = first_token(drawn({t: p / total * 0.999 for t, p in sharper.items()}, 176, 1), TARGET)
    assert found.probability < 1e-4


def test_a_target_that_is_sure_tells_nothing() -> None:
    assert first_token([3] * 100, {3: 0.9999}).probability == 1.0
    assert first_token([], {}).probability == 1.0


def lines(rate: float, seed: int) -> list[list[Scored]]:
    """Positions at which the first choice has probability 0.6, and is said at this rate."""
    draw = random.Random(seed)
    best = ((1, math.log(0.6)), (2, math.log(0.3)))
    return [[Scored(1 if draw.random() < rate else 2, -1.0, best) for _ in range(640)]]


def test_first_choices_are_counted_against_their_probabilities() -> None:
    innocent = [boldness(lines(0.6, seed)).probability for seed in range(200)]
    assert min(innocent) > 1e-4
    assert boldness(lines(0.75, 1)).probability < 1e-9
    assert boldness(lines(0.45, 1)).probability < 1e-9


def test_positions_without_doubt_tell_nothing() -> None:
    sure = [Scored(1, 0.0, ((1, -1e-9), (2, -30.0)))] * 100
    assert boldness([sure]).probability == 1.0


def places(many: int, seed: int, *, greedy: bool = False) -> list[Sample]:
    """Places at which a prefill's likeliest token, 0, has a probability that differs from place to place."""
    draw = random.Random(seed)
    found = []
    for index in range(many):
        sure = draw.uniform(0.3, 1.0)
        said, again = (int(draw.random() >= sure) for _ in range(2))
        found.append(Sample("x", index, 0 if greedy else said, 0, drawn=again))
    return found


def test_draws_of_one_distribution_are_rarely_accused_however_long_they_are_asked() -> None:
    accused = 0
    for seed in range(1000):
        asked: list[Sample] = []
        while not (found := beside_prefills(asked)).tells:
            asked += places(32, seed * 1000 + len(asked))
        accused += found.probability < 0.05
    assert accused < 60


def test_answers_that_are_always_the_likeliest_are_accused_once_a_prefill_drew_others() -> None:
    few, many = beside_prefills(places(30, 1, greedy=True)), beside_prefills(places(128, 1, greedy=True))
    assert (few.tells, many.tells) == (False, True)
    assert many.probability < 1e-6
    assert (many.observed, many.expected, many.samples) == (128, 128 - many.doubt, 128)


def test_places_without_a_draw_and_ends_tell_nothing() -> None:
    assert beside_prefills([Sample("x", 1, 0, 0), Sample("x", 2, 0, 0, ended=True, drawn=1)]).samples == 0
    assert compared((), [Sample("x", 1, 0, 0)]) is None
    assert compared((), [Sample("x", 1, 0, 0, drawn=1)]) is not None
