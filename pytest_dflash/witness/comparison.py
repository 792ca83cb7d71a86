"""Where a setting changed on its way: arithmetic over the readings of a chain.

Law: readings and a rule in, positions out; no words, no judgement. Silent witnesses are stepped over, and
absent reads as None: whether None is agreement is the rule's business.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

from pytest_dflash.facts.reading import Absent, Silent, Value
from pytest_dflash.findings import Json
from pytest_dflash.witness.chain import ASKED, Witnessed


@dataclass(frozen=True, slots=True)
class Rule:
    """How values of one setting are compared.

    Attributes:
        same: Whether two readings say the same.
        meets: Whether a reading is what was expected.
        rewritten: Whether the engine legally turns the first value into the second.
    """

    same: Callable[[Json, Json], bool]
    meets: Callable[[Json, Json], bool]
    rewritten: Callable[[Json, Json], bool]


class How(StrEnum):
    """In which way a chain fails its expectation."""

    LOST = "lost"  # held by one witness, and not by the next one heard
    CAME_BACK = "came back"  # only early witnesses differ, for example only the disk
    ELSEWHERE = "elsewhere"  # nobody holds it, and the witnesses contradict each other
    NEVER = "never"  # nobody holds it, and they agree


@dataclass(frozen=True, slots=True)
class Lost:
    """Where an expected value was lost, as positions in the chain.

    Attributes:
        early: The last heard before the change. late: the first heard after it. Both None for NEVER.
        shown: The first that differs from the expectation, as a report marks it.
        observed: The reading that speaks for what was found instead.
    """

    how: How
    early: int | None
    late: int | None
    shown: int
    observed: int


def plain(witnessed: Witnessed) -> Json:
    """The value, or None where the setting is absent. Only for witnesses that were heard."""
    return witnessed.reading.value if isinstance(witnessed.reading, Value) else None


def heard(chain: Sequence[Witnessed]) -> list[int]:
    """The positions of the witnesses that were heard."""
    return [at for at, each in enumerate(chain) if not isinstance(each.reading, Silent)]


def agreement(chain: Sequence[Witnessed], expected: Json, rule: Rule) -> tuple[bool | None, ...]:
    """For each witness whether it agrees with the expectation; None where it was not heard.

    What was asked for may be another spelling of the expectation, or nothing at all, when the engine turns it
    into the expected value; but only when disk, manager and process ask for the same, because none of them
    rewrites, and only when an engine's own witness belongs to the chain.
    """
    asked = [plain(each) for at, each in enumerate(chain) if each.witness in ASKED and at in heard(chain)]
    lenient = all(rule.same(left, right) for left, right in pairwise(asked)) and any(
        each.witness not in ASKED for each in chain
    )

    def agrees(each: Witnessed) -> bool | None:
        if isinstance(each.reading, Silent):
            return None
        value = plain(each)
        if rule.meets(value, expected):
            return True
        if each.witness in ASKED:
            return lenient and rule.rewritten(value, expected)
        return expected is not False and rule.rewritten(
            expected, value
        )  # what must be off, no engine may turn on

    return tuple(agrees(each) for each in chain)


def lost(chain: Sequence[Witnessed], agrees: Sequence[bool | None], rule: Rule) -> Lost | None:
    """Where an expected value was lost; None when nobody who was heard disagrees.

    The loss on the way to the engine comes first; else the place where it came back (only the disk differs);
    else, when everybody differs from the expectation, the first place where they differ from each other.
    """
    positions = heard(chain)
    steps = list(pairwise(positions))
    wrong = [at for at in positions if not agrees[at]]
    if not wrong:
        return None
    for early, late in steps:
        if agrees[early] and not agrees[late]:
            return Lost(How.LOST, early, late, late, late)
    for early, late in steps:
        if agrees[late] and not agrees[early]:
            return Lost(How.CAME_BACK, early, late, wrong[0], early)
    moved = drift(chain, rule)
    if moved is not None:
        return Lost(How.ELSEWHERE, *moved, moved[1], moved[1])
    return Lost(How.NEVER, None, None, wrong[0], wrong[-1])


def drift(chain: Sequence[Witnessed], rule: Rule) -> tuple[int, int] | None:
    """The first two neighbours that contradict each other, expectations apart.

    A setting that the process was not asked for may have any value in the engine's own words, may be filled in
    late, and may be another one for the draft; but what the engine printed it must still answer.
    """
    asked: Witnessed | None = None
    for early, late in pairwise([None, *heard(chain)]):
        assert late is not None
        if early is not None and not follows(chain[early], chain[late], asked, rule):
            return early, late
        if chain[late].witness in ASKED:
            asked = chain[late]
    return None


def follows(before: Witnessed, after: Witnessed, asked: Witnessed | None, rule: Rule) -> bool:
    """Whether one reading may follow another; `asked` is the last heard one of what was asked for."""
    left, right = plain(before), plain(after)
    if rule.same(left, right):
        return True
    if after.witness in ASKED:
        return False
    if rule.rewritten(left, right):
        return True
    if asked is not None and isinstance(asked.reading, Value):
        return rule.rewritten(plain(asked), right)
    if asked is not None and after.witness == "draft_runner_log":
        return True
    return left is None or isinstance(after.reading, Absent)
