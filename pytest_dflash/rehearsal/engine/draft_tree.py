"""The draft tree: which guesses are put to the target in one pass.

Law: arithmetic on arrays. Level by level, the best prefixes of a level are widened by the likeliest tokens of the
next, and the best of all levels stay: a prefix is never less likely than what continues it, so what stays is a tree.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from .weights import Floats, Whole


@dataclass(frozen=True)
class DraftTree:
    """Nodes after their parents; node 0 is the root, which is decided and no guess.

    Attributes:
        tokens: (n,) ids.
        parents: (n,) node numbers; the root's is -1.
        depths: (n,) how far below the root.
    """

    tokens: Whole
    parents: Whole
    depths: Whole

    @cached_property
    def ancestry(self) -> NDArray[np.bool_]:
        """(n, n): whether a node may see another, which is itself or above it."""
        seen = np.eye(len(self.tokens), dtype=np.bool_)
        for node in range(1, len(self.tokens)):
            seen[node] |= seen[self.parents[node]]
        return seen

    def children(self, node: int) -> dict[int, int]:
        """From token to node."""
        return {int(self.tokens[at]): int(at) for at in np.flatnonzero(self.parents == node)}


def build(root: int, guesses: Floats, budget: int, top_k: int) -> DraftTree:
    """The tree of the `budget` likeliest prefixes, in the order of their likelihood.

    Args:
        root: Its token.
        guesses: (depth, ids) log probabilities of each place.
        budget: How many nodes below the root, at most.
        top_k: How many tokens of each place are considered.
    """
    ranked = np.argsort(-guesses, axis=1, kind="stable")[:, :top_k]
    logs = np.take_along_axis(guesses, ranked, axis=1)
    scores, ids, above, depths = [np.zeros(1)], [np.array([root])], [np.array([-1])], [np.array([0])]
    begin = 0  # of the last level
    for depth, (row, likely) in enumerate(zip(logs, ranked, strict=True), 1):
        wide = (scores[-1][:, None] + row).ravel()
        keep = np.sort(np.argsort(-wide, kind="stable")[:budget])
        above.append(begin + keep // len(row))
        begin += len(scores[-1])
        scores.append(wide[keep])
        ids.append(likely[keep % len(row)])
        depths.append(np.full(len(keep), depth))
    all_scores, all_depths = np.concatenate(scores), np.concatenate(depths)
    # The root is the likeliest; among equals the shallower first, so that parents come before their children.
    order = np.lexsort((np.arange(len(all_scores)), all_depths, -all_scores))[: budget + 1]
    renumbered = np.full(len(all_scores), -1)
    renumbered[order] = np.arange(len(order))
    parents = np.concatenate(above)[order]
    return DraftTree(
        np.concatenate(ids)[order], np.where(parents < 0, -1, renumbered[parents]), all_depths[order]
    )
