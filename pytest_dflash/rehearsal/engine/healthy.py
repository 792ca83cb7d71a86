"""The places in drafting, verifying and committing at which an engine can be wrong, and what is right there.

Law: identity; each fault overrides what it spoils. A fault may look at the moment that it is in.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence as Many
from dataclasses import dataclass

import numpy as np

from .draft_tree import DraftTree
from .masking import Mask
from .sequence import Sequence
from .weights import Floats, Whole

NOISE_NATS = 0.025


@dataclass(frozen=True, slots=True)
class Moment:
    """One request in one step.

    Attributes:
        index, size: Its place in the batch, and how many there are.
        block: Tokens of a draft block.
        window: How far the draft looks back.
    """

    sequence: Sequence
    index: int
    size: int
    block: int
    window: int | None


class Healthy:
    """An engine without a fault."""

    def __init__(self, noise_nats: float = NOISE_NATS) -> None:
        self.noise_nats = noise_nats
        self.random = np.random.default_rng()

    def guesses(self, guesses: Floats, _moment: Moment) -> Floats:
        """What the draft says."""
        return guesses

    def ancestry(self, tree: DraftTree) -> Mask:
        """Which nodes each node is said to see."""
        return tree.ancestry

    def believed(self, tree: DraftTree, _moment: Moment) -> int:
        """How many nodes the attention kernel believes the tree to have."""
        return len(tree.tokens)

    def assigned(self, masks: list[Mask], _pasts: Many[int]) -> list[Mask]:
        """Which mask each request gets."""
        return masks

    def visible(self, mask: Mask, _moment: Moment) -> Mask:
        """What the rows of a request see, its cache included."""
        return mask

    def offsets(self, tree: DraftTree) -> Whole:
        """The places of the nodes, counted from the root."""
        return tree.depths

    def loaded(self, entries: Floats) -> Floats:
        """What is taken from the prefix cache."""
        return entries

    def logits(self, logits: Floats) -> Floats:
        """What the target says."""
        return logits

    def temperature(self, asked: float) -> float:
        """The temperature of a draw."""
        return asked

    def choice(self, token: int, _place: int, _moment: Moment) -> int:
        """The token that the target is taken to have chosen."""
        return token

    def obeys(self, _moment: Moment) -> bool:
        """Whether the grammar is applied."""
        return True

    def accepts(
        self, children: Mapping[int, int], _row: Floats, token: int, _depth: int, _moment: Moment
    ) -> int | None:
        """The child that is accepted after a node whose successor is to be `token`; None ends the walk."""
        return children.get(token)

    def kept(self, path: Whole) -> Whole:
        """Which of the fresh entries are written behind the cache, in which order."""
        return path

    def committed(self, sequence: Sequence, *, rejected: bool) -> None:
        """After the commit."""

    def ends(self, _tree: DraftTree, _path: Many[int], _moment: Moment) -> bool:
        """Whether the answer is taken to end with this step, whatever was said."""
        return False

    def told(self, said: list[int], _moment: Moment) -> list[int]:
        """What the client gets of a step's tokens."""
        return said
