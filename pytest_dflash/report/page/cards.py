"""What is wrong, once each: findings that have the same remedy are one card.

Law: findings as in findings.json in, cards out; pure. A loss that three checks notice is one fault to mend.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_dflash.findings import AREAS
from pytest_dflash.report import table
from pytest_dflash.report.document import from_json
from pytest_dflash.report.terminal import TELLS_MORE

Findings = Sequence[Mapping[str, Any]]
TOLD = ("fail", "unproven", "waived")
"""Outcomes that a reader must see, in this order."""


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
        rows: What its sources said.
    """

    number: int
    outcome: str
    title: str
    told: Mapping[str, Any]
    others: tuple[str, ...]
    rows: tuple[Row, ...]


def cards(findings: Findings) -> list[Card]:
    """All that failed, then what is unproven, then what is waived; within each the most telling first."""
    groups: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
    for outcome in TOLD:
        for each in sorted((f for f in findings if f["outcome"] == outcome), key=_weight):
            groups.setdefault(_subject(each), []).append(each)
    return [_card(number, group) for number, group in enumerate(groups.values(), 1)]


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
        Row(table.label(e.source), table.shown(e), table.place(e), e.differs, e.reading) for e in evidence
    )
