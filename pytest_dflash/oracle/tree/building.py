"""The draft tree: the likeliest prefixes, taken one by one from a heap.

Law: probabilities in, nodes out. Nothing of the target, nothing of verification.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Node:
    """One guess.

    Attributes:
        token: Its id; of the root None here, since the root is decided and no guess.
        parent: The number of the node before it; the root's is None.
        depth: How many tokens after the root.
        logprob: Of the prefix that ends here, under the product of the marginals; the root's is 0.
    """

    token: int | None
    parent: int | None
    depth: int
    logprob: float


ROOT = Node(None, None, 0, 0.0)


@dataclass(frozen=True, slots=True)
class Tree:
    """Node 0 is the root; every other comes after its parent."""

    nodes: tuple[Node, ...]

    @property
    def budget(self) -> int:
        """How many guesses it holds; the root is none."""
        return len(self.nodes) - 1

    @property
    def depth(self) -> int:
        """How deep the deepest guess is."""
        return max(node.depth for node in self.nodes)

    def ancestors(self, node: int) -> tuple[int, ...]:
        """From the root down to the node itself."""
        parent = self.nodes[node].parent
        return (*self.ancestors(parent), node) if parent is not None else (node,)

    def prefix(self, node: int) -> tuple[int, ...]:
        """The tokens from below the root down to the node."""
        return tuple(token for at in self.ancestors(node) if (token := self.nodes[at].token) is not None)

    def children(self, node: int) -> dict[int, int]:
        """From token to node number."""
        return {
            each.token: number
            for number, each in enumerate(self.nodes)
            if each.parent == node and each.token is not None
        }

    def mask(self) -> tuple[tuple[bool, ...], ...]:
        """Which node (row) may see which (column): itself and those above it, no sibling and nothing below.

        Before these columns come those of the committed text, which every row sees in full.
        """
        numbers = range(len(self.nodes))
        return tuple(tuple(column in self.ancestors(row) for column in numbers) for row in numbers)

    def positions(self, start: int) -> tuple[int, ...]:
        """The place of each node in the text whose root is at `start`: siblings share one."""
        return tuple(start + node.depth for node in self.nodes)


def build(marginals: Sequence[Sequence[float]], budget: int, top_k: int | None = None) -> Tree:
    """The tree of the `budget` likeliest prefixes.

    Args:
        marginals: One row for each depth from 1 on: the log probability of each token there, whatever comes before.
        budget: How many guesses at most, the root not counted.
        top_k: How many of the likeliest tokens of a row are considered; None for all. Of equals, the lower id.
    """
    ranked = [
        sorted(((value, token) for token, value in enumerate(row)), key=lambda each: (-each[0], each[1]))[
            :top_k
        ]
        for row in marginals
    ]
    nodes = [ROOT]
    # An entry is a prefix as the ranks of its tokens, with the number of its parent. Ranks decide between equals.
    heap: list[tuple[float, tuple[int, ...], int]] = []

    def offer(ranks: tuple[int, ...], parent: int) -> None:
        depth = len(ranks)
        if depth <= len(ranked) and ranks[-1] < len(ranked[depth - 1]):
            logprob = nodes[parent].logprob + ranked[depth - 1][ranks[-1]][0]
            heapq.heappush(heap, (-logprob, ranks, parent))

    offer((0,), 0)
    while heap and len(nodes) <= budget:
        negative, ranks, parent = heapq.heappop(heap)
        depth = len(ranks)
        nodes.append(Node(ranked[depth - 1][ranks[-1]][1], parent, depth, -negative))
        offer((*ranks[:-1], ranks[-1] + 1), parent)
        offer((*ranks, 0), len(nodes) - 1)
    return Tree(tuple(nodes))
