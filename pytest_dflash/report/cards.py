"""What is wrong, once each: findings that have the same remedy are one card, and what follows from it stands within.

Law: findings as in findings.json in, cards out; pure. A loss that three checks notice is one fault to mend.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pytest_dflash.findings import AREAS
from pytest_dflash.report import table
from pytest_dflash.report.document import Findings, from_json

TELLS_MORE = ("endpoint.serves", "systemd.active", "window.", "flags.in_force", "flags.environment")
"""Checks whose advice knows what is expected: "reload" alone may put a wrong value into force."""
TOLD = ("fail", "unproven", "waived")
"""Outcomes that a reader must see, in this order."""
SEEN_AT_WORK = ("throughput.host_under_load", "gpu.")
"""A check that sees at work, and the area that sees at rest, what is wrong with the same card."""
NOT_TAKEN_OVER = (("unit_file", "loaded_unit"), ("loaded_unit", "process_argv"))
"""Steps at which all settings are lost together: by one reload or one restart that nobody did."""
QUOTED = 20
"""A line of at least as many letters, quoted in another finding's cause, is the same event and no chance."""


@dataclass(frozen=True, slots=True)
class Row:
    """What one source said."""

    source: str
    shown: str
    where: str
    differs: bool
    reading: str


@dataclass(frozen=True, slots=True)
class Card:
    """One thing that is wrong on one host.

    Attributes:
        told: The finding that tells most. others: Those that say the same, by their titles.
        rows: What its sources said. followers: What else was found of the same fault, with advice of its own.
    """

    number: int
    outcome: str
    title: str
    told: Mapping[str, Any]
    others: tuple[str, ...]
    rows: tuple[Row, ...]
    followers: tuple[Card, ...] = ()


def cards(findings: Findings) -> list[Card]:
    """All that failed, then what is unproven, then what is waived; within each the most telling first."""
    groups: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
    for outcome in TOLD:
        for each in sorted((f for f in findings if f["outcome"] == outcome), key=_weight):
            groups.setdefault(_subject(each), []).append(each)
    return list(_led([_card(number, group) for number, group in enumerate(groups.values(), 1)]))


def _led(known: Sequence[Card]) -> Iterator[Card]:
    """The same cards with new numbers, those that follow from another one within it."""
    roots = [each for each in known if not any(_follows(each, other) for other in known)]
    leaders = {each.number: next((root for root in roots if _follows(each, root)), None) for each in known}
    for number, each in enumerate((each for each in known if leaders[each.number] is None), 1):
        followers = tuple(other for other in known if leaders[other.number] is each)
        yield replace(each, number=number, followers=followers)


def _follows(later: Card, leader: Card) -> bool:
    """Whether one fault explains both: one reload or restart is missing, one quotes the other, or it is the same card."""
    this, that = later.told, leader.told
    if later is leader or (this["host"], this["outcome"]) != (that["host"], that["outcome"]):
        return False
    at_work, at_rest = SEEN_AT_WORK
    step = tuple(this["between"] or ())
    if step in NOT_TAKEN_OVER and step == tuple(that["between"] or ()) and leader.number < later.number:
        return True
    same_card = this["param"] is not None and this["param"] == that["param"]
    if this["check"] == at_work and that["check"].startswith(at_rest) and same_card:
        return True
    said = (each["value"] for each in this["evidence"] if each["differs"])
    return any(
        isinstance(line, str) and len(line) >= QUOTED and line in str(that["cause"] or "") for line in said
    )


def title(finding: Mapping[str, Any]) -> str:
    """The check, with its parameter."""
    return str(finding["check"]) + (f"[{finding['param']}]" if finding["param"] is not None else "")


def _subject(finding: Mapping[str, Any]) -> tuple[Any, ...]:
    """What makes two findings one: host, outcome and advice; a finding without advice stands for itself."""
    own = finding["remedy"] or (finding["check"], finding["param"], finding["nodeid"])
    return finding["host"], finding["outcome"], own


def _weight(finding: Mapping[str, Any]) -> tuple[int, int]:
    """Checks that know what is expected come first, then the areas in their order."""
    telling = next((n for n, tells in enumerate(TELLS_MORE) if finding["check"].startswith(tells)), 99)
    area = finding["check"].partition(".")[0]
    return telling, list(AREAS).index(area) if area in AREAS else len(AREAS)


def _card(number: int, group: list[Mapping[str, Any]]) -> Card:
    first, *rest = group
    return Card(
        number=number,
        outcome=first["outcome"],
        title=title(first),
        told=first,
        others=tuple(dict.fromkeys(title(each) for each in rest)),
        rows=rows(first),
    )


def rows(finding: Mapping[str, Any]) -> tuple[Row, ...]:
    """The sources of a finding, as the terminal's table shows them."""
    evidence = from_json(finding).judgement.evidence
    return tuple(
        Row(table.label(e.source), table.shown(e, table.LINE_WIDTH), table.place(e), e.differs, e.reading)
        for e in evidence
    )
