"""The ends of answers, as part of a judgement over their tokens: what is said of them, and what weak oracles prove.

Law: pure; parts of a trial in, words and evidence out. An end is judged as one more token; where nobody can know, the
evidence says so, and the verdict is about tokens alone.
"""

from __future__ import annotations

from collections.abc import Sequence

from pytest_dflash.findings import Evidence
from pytest_dflash.oracle.answers import Grounds, Part
from pytest_dflash.oracle.ending import UNNAMED
from pytest_dflash.oracle.prefill import Agreement, Sample, agreement
from pytest_dflash.oracle.rescoring import Violation

SOURCE = "ends of answers"
CAUSE = (
    "the end of an answer is looked for among drafts that were refused, or the tokens of the step that ended it are "
    "dropped: answers are cut, and everything in them is right"
)


def evidence(parts: Sequence[Part]) -> tuple[Evidence, ...]:
    """How many ends were judged, and why others were not; nothing where no answer ended by itself."""
    judged, still_open = sum(each.ends for each in parts), [why for each in parts for why in each.open_ends]
    if still_open:
        why = f"{len(still_open)} of {judged + len(still_open)} ends were not judged, the first: {still_open[0]}"
        return (Evidence(source=SOURCE, reading="silent", why=why),)
    if not judged:
        return ()
    told = f"{judged} of {judged} judged as one more token"
    return (Evidence(source=SOURCE, reading="value", value=told),)


def measures(parts: Sequence[Part]) -> dict[str, float]:
    """The counts."""
    return {
        "ends": float(sum(each.ends for each in parts)),
        "open_ends": float(sum(len(each.open_ends) for each in parts)),
    }


def said(first: Violation) -> int | str:
    """What stands at a violation."""
    return UNNAMED if first.said is None else first.said


def place(first: Violation) -> str:
    """Where a violation is, in words."""
    if not first.ended:
        return f"token {first.index + 1} of {first.label}: it said {first.said} where the target says {first.wanted}"
    by = "" if first.said is None else f" by token {first.said}"
    return f"the end of {first.label}: it ended{by} behind {first.index} tokens, where the target says {first.wanted}"


def agreed(samples: Sequence[Sample], grounds: Grounds) -> Agreement | None:
    """What a prefill says at the ends; None where it was asked at none."""
    ends = [each for each in samples if each.ended]
    return agreement(ends, grounds.self_disagreements, grounds.repeats) if ends else None


def parted(found: Agreement) -> str:
    """Where answers end and a prefill goes on, in a sentence."""
    first = found.disagreements[0]
    return (
        f"{len(found.disagreements)} of {found.samples} answers end where a prefill goes on, the first is {first.label}, "
        f"behind {first.index} tokens: a prefill says {first.told!r:.40}"
    )
