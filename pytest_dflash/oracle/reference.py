"""Two answers to one prompt: where they part, and whether the target was undecided there.

Law: arithmetic on tokens and scores. After the place where two answers part, nothing can be compared any more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pytest_dflash.engines.scoring import Scored


@dataclass(frozen=True, slots=True)
class Parting:
    """The first place at which two answers differ.

    Attributes:
        index: 0 is the first token of the answer.
        left: The first answer's token there; None where it ended. right: the second's.
        apart: How much likelier the one is than the other to the target, in nats; None where it does not tell.
    """

    label: str
    index: int
    left: int | None
    right: int | None
    apart: float | None


def parting(
    label: str, left: Sequence[int], right: Sequence[int], scored: Sequence[Scored] = ()
) -> Parting | None:
    """Where they part; None where both are the same. An answer that ended earlier parts from the other at its end.

    Args:
        label: Which request it was.
        left: The answer that was scored.
        right: The other.
        scored: What the target thinks of the left one.
    """
    for index, (one, other) in enumerate(zip(left, right, strict=False)):
        if one != other:
            return Parting(
                label, index, one, other, _apart(scored[index], other) if index < len(scored) else None
            )
    at = min(len(left), len(right))
    if len(left) == len(right):
        return None
    return Parting(label, at, next(iter(left[at:]), None), next(iter(right[at:]), None), None)


def _apart(scored: Scored, other: int) -> float | None:
    """The other may be so unlikely that it is not among the alternatives; the last of them bounds it."""
    known = dict(scored.best)
    if other in known:
        return abs(known[other] - scored.logprob)
    return abs(scored.logprob - scored.best[-1][1]) if len(scored.best) > 1 else None
