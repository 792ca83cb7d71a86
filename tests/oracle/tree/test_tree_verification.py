from __future__ import annotations

import itertools
import math
import random
from collections import Counter
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_dflash.oracle.tree.building import Tree, build
from pytest_dflash.oracle.tree.verification import Walk, compacted, greedy, sampling, walk

TOKENS = 3
Target = Callable[[tuple[int, ...]], list[float]]


def target(seed: int) -> Target:
    """A model that says something else after every text."""

    def chances(text: tuple[int, ...]) -> list[float]:
        numbers = random.Random(f"{seed}:{text}")
        row = [numbers.random() + 0.01 for _ in range(TOKENS)]
        return [value / sum(row) for value in row]

    return chances


def trees(seed: int) -> list[Tree]:
    rows = [[math.log(value) for value in target(seed)(())] for _ in range(3)]
    return [build(rows, budget, top_k) for budget in (0, 1, 2, 4, 8, 39) for top_k in (1, 2, 3)]


def at_nodes(tree: Tree, said: Target, text: tuple[int, ...] = ()) -> list[list[float]]:
    return [said((*text, *tree.prefix(node))) for node in range(len(tree.nodes))]


@pytest.mark.parametrize("seed", range(20))
def test_greedy_verification_says_what_the_target_says_alone(seed: int) -> None:
    said = target(seed)
    for tree in trees(seed + 1000):
        text: tuple[int, ...] = ()
        while len(text) < 20:
            done = greedy(tree, at_nodes(tree, said, text))
            for token in done.emitted:
                assert token == max(range(TOKENS), key=said(text).__getitem__)
                text = (*text, token)


@pytest.mark.parametrize("seed", range(10))
def test_the_walk_ends_only_where_the_tree_does_not_hold_the_next_token(seed: int) -> None:
    said = target(seed)
    for tree in trees(seed):
        done = greedy(tree, at_nodes(tree, said))
        assert tree.prefix(done.path[-1]) == done.accepted
        assert done.bonus not in tree.children(done.path[-1])
        assert done.accept_length == len(done.path) <= tree.depth + 1


@pytest.mark.parametrize("seed", range(10))
def test_a_tree_that_holds_the_chain_accepts_at_least_as_much(seed: int) -> None:
    rows = [[math.log(value) for value in target(seed)((depth,))] for depth in range(3)]
    said, chain, whole = target(seed + 1), build(rows, 3, 1), build(rows, 39, 3)

    assert (
        greedy(whole, at_nodes(whole, said)).accept_length
        >= greedy(chain, at_nodes(chain, said)).accept_length
    )


@pytest.mark.parametrize("seed", range(5))
def test_sampling_keeps_the_targets_distribution_exactly(seed: int) -> None:
    """Every way in which the draws can fall is played: what comes out has the target's own probability."""
    said = target(seed)
    for tree in trees(seed + 50):
        seen: dict[tuple[int, ...], float] = {}
        for script in itertools.product(range(TOKENS), repeat=tree.depth + 1):
            falls = iter(script)
            done = walk(tree, lambda _node, falls=falls: next(falls))  # type: ignore[misc]  # mypy has no word for it
            chance = math.prod(said(done.emitted[:at])[token] for at, token in enumerate(done.emitted))
            seen[done.emitted] = chance
        assert math.isclose(sum(seen.values()), 1.0)
        for prefix, chance in seen.items():
            assert math.isclose(
                chance, math.prod(said(prefix[:at])[token] for at, token in enumerate(prefix))
            )


def test_draws_fall_as_often_as_their_chances_say() -> None:
    said, numbers = target(3), random.Random(1)
    tree = build([[math.log(value) for value in said(())]] * 2, 6)
    rows = at_nodes(tree, said)
    firsts = Counter(sampling(tree, rows, lambda _: numbers.random()).emitted[0] for _ in range(20_000))

    for token, chance in enumerate(said(())):
        assert abs(firsts[token] / 20_000 - chance) < 5 * math.sqrt(chance * (1 - chance) / 20_000)


def test_each_place_has_its_own_draw() -> None:
    tree = build([[0.0, -9.0]] * 3, 3, 1)
    asked: list[int] = []

    def draw(place: int) -> float:
        asked.append(place)
        return 0.0

    assert sampling(tree, [[0.5, 0.5]] * 4, draw).emitted == (0, 0, 0, 0)
    assert asked == [0, 1, 2, 3]


def test_a_draw_at_the_very_end_takes_a_token_that_is_possible() -> None:
    tree = build([[0.0]], 0)

    assert sampling(tree, [[0.3, 0.7 - 1e-17, 0.0]], lambda _: 1 - 1e-17).bonus == 1


@given(st.integers(0, 5), st.lists(st.booleans(), min_size=1, max_size=8))
def test_compaction_keeps_the_text_and_the_path_in_order(past: int, taken: list[bool]) -> None:
    path = [0, *(number for number, kept in enumerate(taken, 1) if kept)]
    cache = [f"text{at}" for at in range(past)] + [f"node{at}" for at in range(len(taken) + 1)]

    assert compacted(cache, past, path) == cache[:past] + [f"node{at}" for at in path]


def test_only_what_was_accepted_counts_as_accepted() -> None:
    done = Walk((0, 2, 5), (7, 9), 4)

    assert (done.emitted, done.accept_length) == ((7, 9, 4), 3)
