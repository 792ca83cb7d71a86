"""Verification: how far down the tree the target agrees, what it says next, and what stays in the cache.

Law: the target is what is handed in, one answer for each node; arithmetic, no drawing of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from pytest_dflash.oracle.tree.building import Tree

Entry = TypeVar("Entry")


@dataclass(frozen=True, slots=True)
class Walk:
    """What came of one verification.

    Attributes:
        path: Node numbers from the root on: these entries stay in the cache, in this order.
        accepted: The guesses that the target agrees with.
        bonus: What the target says after them; the next root.
    """

    path: tuple[int, ...]
    accepted: tuple[int, ...]
    bonus: int

    @property
    def emitted(self) -> tuple[int, ...]:
        """The tokens by which the text grows."""
        return (*self.accepted, self.bonus)

    @property
    def accept_length(self) -> int:
        """Tokens of this verification, the bonus token included; 1 when no guess was right."""
        return len(self.accepted) + 1


def walk(tree: Tree, says: Callable[[int], int]) -> Walk:
    """From the root to the child that holds what the target says, as long as there is one.

    Args:
        tree: The guesses.
        says: The target's token after a node, asked once for each node of the path.
    """
    path, accepted = [0], list[int]()
    while True:
        token = says(path[-1])
        child = tree.children(path[-1]).get(token)
        if child is None:
            return Walk(tuple(path), tuple(accepted), token)
        path.append(child)
        accepted.append(token)


def greedy(tree: Tree, scores: Sequence[Sequence[float]]) -> Walk:
    """At temperature 0.

    Args:
        tree: The guesses.
        scores: For each node the target's score of each token to follow; of equals, the lower id.
    """
    return walk(tree, lambda node: max(range(len(scores[node])), key=scores[node].__getitem__))


def sampling(tree: Tree, chances: Sequence[Sequence[float]], draws: Callable[[int], float]) -> Walk:
    """At a temperature: the target draws its token at each node of the path, so its distribution is kept.

    Args:
        tree: The guesses.
        chances: For each node the target's probability of each token to follow.
        draws: A number in [0, 1) for the draw after so many accepted guesses.
    """
    depth_of = [node.depth for node in tree.nodes]

    def says(node: int) -> int:
        left = draws(depth_of[node]) * sum(chances[node])
        for token, chance in enumerate(chances[node]):
            left -= chance
            if left < 0:
                return token
        return max(token for token, chance in enumerate(chances[node]) if chance > 0)

    return walk(tree, says)


def compacted(cache: Sequence[Entry], past: int, path: Sequence[int]) -> list[Entry]:
    """The cache after a verification.

    Args:
        cache: The entries of the committed text, then those of all nodes by their numbers.
        past: How many entries are the committed text's.
        path: The walk's path; all other nodes' entries are dropped.
    """
    return [*cache[:past], *(cache[past + node] for node in path)]
