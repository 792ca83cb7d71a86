"""What a judgement over text of a draft tree is about, what it cost, and what to do where the text is wrong.

Law: pure; words and numbers that both ways of judging share.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pytest_dflash.oracle.answers import Grounds, Part

ENOUGH = 40
"""Fewer positions than this are no verdict."""
CAUSE = (
    "verification does not see what the target would: mask or positions of the tree, the order in which accepted "
    "tokens are kept, or state that is lost when drafts are refused"
)
REMEDY = (
    "do not serve with this setting. Try the budget that makes the tree as wide as the drafter's block, then no "
    "speculation at all: where the text becomes right tells which of them is at fault"
)


@dataclass(frozen=True, slots=True)
class Situation:
    """What the tokens were said in, as a noun for the summary, and the usual cause of a violation there."""

    what: str = "tokens"
    cause: str = CAUSE


ANYWHERE = Situation()
"""Nothing special."""


def spent(parts: Sequence[Part], grounds: Grounds) -> dict[str, float]:
    """What it cost, seconds and tokens, and by which seed it can be asked again."""
    generating, judging = sum(p.generating_s for p in parts), sum(p.judging_s for p in parts)
    return {
        "seed": float(grounds.seed),
        "generated_tokens": float(sum(part.tokens for part in parts)),
        "generating_s": round(generating, 3),
        "judging_s": round(judging, 3),
        "judging_share": round(judging / generating, 3) if generating else 0.0,
    }
