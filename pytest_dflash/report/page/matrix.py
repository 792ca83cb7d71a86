"""Two tables to be seen at a glance: settings by witnesses, and checks by hosts.

Law: findings as in findings.json in, rows of cells out; pure. The order of witnesses is that of propagation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_dflash.findings import Evidence
from pytest_dflash.report import table
from pytest_dflash.report.cards import title
from pytest_dflash.report.document import Findings

WITNESSES = (
    "unit_file",
    "loaded_unit",
    "process_argv",
    "server_args_log",
    "server_info",
    "draft_runner_log",
)
SETTINGS = ("flags.in_force", "flags.environment", "window.")
"""Checks that follow one expected setting."""

TONE = {"value": "same", "absent": "absent", "silent": "silent"}
ALIKE = ("stack.", "flags.", "window.", "gpu.count", "gpu.name")
"""Checks whose reading is the same on hosts of one kind, not only as good: a newer driver on one of them is told."""
WORST = ("fail", "unproven", "blocked", "waived", "pass", "not_run", "not_applicable")


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell: what it shows, and how: same, lost (where the loss shows first), absent, silent or none."""

    shown: str
    tone: str
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting and what each witness says of it."""

    host: str
    name: str
    expected: str
    outcome: str
    cells: tuple[Cell, ...]


def settings(findings: Findings) -> list[Setting]:
    """Each expected setting, one row a host; those that were lost on their way come first."""
    found = [_setting(each) for each in findings if each["check"].startswith(SETTINGS) and each["evidence"]]
    return sorted(found, key=lambda row: (row.host, WORST.index(row.outcome)))


def _setting(finding: Mapping[str, Any]) -> Setting:
    said = {each["source"]: each for each in finding["evidence"]}
    return Setting(
        host=finding["host"],
        name=finding["param"]
        or ("draft window" if finding["check"].startswith("window.") else finding["check"]),
        expected=expected(finding["expected"]),
        outcome=finding["outcome"],
        cells=tuple(_cell(said.get(witness)) for witness in WITNESSES),
    )


def expected(value: Any) -> str:
    """An expectation as the profile's reader thinks of it: false asks for absence."""
    return "absent" if value is False else table.spelled(value)


def _cell(evidence: Mapping[str, Any] | None) -> Cell:
    if evidence is None:
        return Cell("", "none", "this witness does not carry the setting")
    known = Evidence(**evidence)
    tone = "lost" if known.differs else TONE[known.reading]
    shown = "silent" if known.reading == "silent" else table.shown(known, table.VALUE_WIDTH)
    return Cell(shown, tone, table.visible(known.why or known.where or ""))


@dataclass(frozen=True, slots=True)
class Beside:
    """A check on every host: the worst of its findings there, None where it has none.

    Attributes:
        differs: Whether the hosts come out apart, or have other values where a fleet should have the same.
    """

    check: str
    cells: tuple[Mapping[str, Any] | None, ...]
    differs: bool


def hosts(findings: Findings, names: Sequence[str]) -> list[Beside]:
    """Every check with its outcome on each host, in the order in which they ran.

    Cards have names of their own on each host, so that they are compared together, by the worst.
    """
    found: dict[str, dict[str, list[Mapping[str, Any]]]] = {}
    cards = {each["param"] for each in findings if each["check"].startswith("gpu.")}
    for each in findings:
        name = each["check"] if each["param"] in cards else title(each)
        found.setdefault(name, {}).setdefault(each["host"], []).append(each)
    return [_beside(check, [by.get(name, []) for name in names]) for check, by in found.items()]


def _beside(check: str, each: Sequence[Sequence[Mapping[str, Any]]]) -> Beside:
    worst = tuple(min(mine, key=lambda f: WORST.index(f["outcome"]), default=None) for mine in each)
    differs = len({cell and cell["outcome"] for cell in worst}) > 1
    if check.startswith(ALIKE):
        said = {repr(sorted({table.spelled(f["observed"]) for f in mine})) for mine in each if mine}
        differs = differs or len(said) > 1
    return Beside(check, worst, differs)
