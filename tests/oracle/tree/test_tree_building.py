"""DDTree against brute force: every tree that is small enough is compared with all prefixes there are."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_dflash.oracle.tree.building import Tree, build

Rows = list[list[float]]
SMALL = [(depth, tokens) for depth in range(1, 5) for tokens in range(1, 5) if tokens**depth <= 81]


def drawn(depth: int, tokens: int, seed: int) -> Rows:
    """Marginals of no special form."""
    numbers = random.Random(seed)
    rows = [[numbers.random() + 1e-3 for _ in range(tokens)] for _ in range(depth)]
    return [[math.log(value / sum(row)) for value in row] for row in rows]


def prefixes(rows: Rows, top_k: int) -> Iterator[tuple[float, tuple[int, ...]]]:
    """Every prefix over the likeliest tokens of each row, with its log probability."""
    allowed = [sorted(range(len(row)), key=lambda token: (-row[token], token))[:top_k] for row in rows]
    for depth in range(1, len(rows) + 1):
        for prefix in itertools.product(*allowed[:depth]):
            yield sum(row[token] for row, token in zip(rows, prefix, strict=False)), prefix


def told(tree: Tree) -> list[tuple[int, ...]]:
    return [tree.prefix(node) for node in range(1, len(tree.nodes))]


@pytest.mark.parametrize("depth, tokens", SMALL)
def test_the_tree_is_the_most_probable_prefixes_of_all(depth: int, tokens: int) -> None:
    for top_k, seed in itertools.product(range(1, tokens + 1), range(3)):
        rows = drawn(depth, tokens, seed)
        best = sorted(prefixes(rows, top_k), key=lambda each: (-each[0], len(each[1])))
        for budget in range(len(best) + 2):
            tree = build(rows, budget, top_k)
            assert sorted(told(tree)) == sorted(prefix for _, prefix in best[:budget])
            assert len(tree.nodes) - 1 == min(budget, sum(top_k**d for d in range(1, depth + 1)))


@pytest.mark.parametrize("tokens, depth, budget", [(2, 3, 5), (3, 2, 4), (2, 4, 9)])
def test_where_all_are_equal_the_tree_is_still_a_tree_of_that_size(
    tokens: int, depth: int, budget: int
) -> None:
    tree = build([[math.log(1 / tokens)] * tokens for _ in range(depth)], budget)

    holds(tree)
    assert tree.budget == budget


def holds(tree: Tree) -> None:
    """What must be true of every tree."""
    known: dict[tuple[int, ...], int] = {(): 0}
    for number, node in enumerate(tree.nodes[1:], 1):
        assert node.parent is not None
        assert node.parent < number
        assert node.depth == tree.nodes[node.parent].depth + 1
        assert node.logprob <= tree.nodes[node.parent].logprob
        prefix = tree.prefix(number)
        assert prefix not in known, "two siblings hold the same token"
        assert known[prefix[:-1]] == node.parent, "a prefix without its own prefix"
        known[prefix] = number
    likely = [node.logprob for node in tree.nodes]
    assert likely == sorted(likely, reverse=True)


LOGS = st.floats(min_value=-30, max_value=0)


@given(
    st.lists(st.lists(LOGS, min_size=1, max_size=6), min_size=1, max_size=5),
    st.integers(0, 40),
    st.integers(1, 6),
)
def test_every_tree_is_closed_ordered_and_within_its_budget(rows: Rows, budget: int, top_k: int) -> None:
    tree = build(rows, budget, top_k)

    holds(tree)
    assert tree.budget <= budget
    assert tree.depth <= len(rows)
    for number in range(len(tree.nodes)):
        children = tree.children(number)
        assert len(children) <= top_k
        assert tree.ancestors(number)[0] == 0


@given(st.lists(st.lists(LOGS, min_size=2, max_size=6), min_size=1, max_size=7), st.integers(1, 12))
def test_a_tree_of_top_k_one_is_a_chain_as_long_as_budget_and_block_allow(rows: Rows, budget: int) -> None:
    tree = build(rows, budget, 1)

    assert [node.depth for node in tree.nodes] == list(range(min(budget, len(rows)) + 1))
    assert [node.parent for node in tree.nodes[1:]] == list(range(tree.budget))


def test_a_sure_draft_gives_its_spine_before_any_branch() -> None:
    sure = [[math.log(0.9), math.log(0.1)]] * 4

    assert told(build(sure, 4)) == [(0,), (0, 0), (0, 0, 0), (0, 0, 0, 0)]
    assert told(build(sure, 5))[4] in {(1,), (0, 1), (0, 0, 1), (0, 0, 0, 1)}


def test_a_larger_budget_only_adds_nodes() -> None:
    rows = drawn(3, 4, 7)
    for budget in range(1, 30):
        assert told(build(rows, budget)) == told(build(rows, budget + 1))[:budget]


def test_a_node_sees_its_ancestors_and_itself_alone() -> None:
    tree = build([[math.log(0.6), math.log(0.4)]] * 2, 5, 2)
    for row, column in itertools.product(range(6), repeat=2):
        above = tree.prefix(row)[: len(tree.prefix(column))] == tree.prefix(column)
        assert tree.mask()[row][column] is above


def test_siblings_share_a_position_and_children_come_after() -> None:
    tree = build([[math.log(0.6), math.log(0.4)]] * 2, 6, 2)

    assert tree.positions(100) == tuple(100 + len(tree.prefix(node)) for node in range(7))


def test_no_budget_and_no_marginals_leave_the_root() -> None:
    assert build([[0.0]], 0).nodes == build([], 5).nodes
    assert build([], 5).mask() == ((True,),)
