"""The page itself: findings.json and Jinja's templates make HTML.

Law: one document in, one text out. Jinja escapes every value; nothing is marked safe but what `charts` draws.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from html import escape
from importlib import resources
from math import isfinite
from typing import Any

import jinja2

from pytest_dflash.findings import Outcome
from pytest_dflash.report import cards, scope, table, terminal
from pytest_dflash.report.page import matrix, pictures, untested

NODE_ID = ('<td class="col-testId">', "</td>")
"""What pytest-html puts around a node id, which it does not escape."""


def page(document: Mapping[str, Any]) -> str:
    """Everything that the report says itself, as one block of HTML with its style and script."""
    shown = visible(document)
    findings, run = shown["findings"], shown["run"]
    names = [host["name"] for host in shown["hosts"]]
    known = cards.cards(findings)
    return _template().render(
        css=_asset("page.css"),
        js=_asset("page.js"),
        run=run,
        hosts=shown["hosts"],
        meaning=scope.headline(run, findings),
        tests=scope.counted(findings),
        counts=[(o.value, sum(f["outcome"] == o for f in findings)) for o in terminal.ORDER],
        cards=known,
        witnesses=[each.replace("_", " ") for each in matrix.WITNESSES],
        settings=matrix.settings(findings),
        apart=matrix.hosts(findings, names) if len(names) > 1 else [],
        names=names,
        pictures=pictures.pictures(findings, names),
        compared=[
            each
            for each in findings
            if each["check"] == "throughput.compared" and each["outcome"] not in untested.UNTESTED
        ],
        untested=untested.reasons(findings),
        by_hand=untested.BY_HAND,
        findings=[(each, cards.title(each), cards.rows(each)) for each in findings],
        areas=list(dict.fromkeys(each["check"].partition(".")[0] for each in findings)),
        outcomes=[outcome.value for outcome in Outcome],
    )


def visible(value: Any) -> Any:
    """A document in which no text hides anything; its keys are ours, but for those of packages and measures."""
    if isinstance(value, str):
        return table.visible(value)
    if isinstance(value, Mapping):
        return {table.visible(key): visible(each) for key, each in value.items()}
    return [visible(each) for each in value] if isinstance(value, (list, tuple)) else value


def words(outcome: str) -> str:
    """An outcome as people write it."""
    return outcome.replace("_", " ")


def number(value: float | str) -> str:
    """A measure with as many digits as a reader needs; what JSON cannot say stands there as text already."""
    if isinstance(value, str) or not isfinite(value):
        return str(value)
    if value == int(value) and abs(value) < 1e15:
        return f"{int(value):,}".replace(",", "\u202f")
    return f"{value:.4g}"


def captured(sections: Sequence[tuple[str, str]]) -> str:
    """What was captured around a test, as HTML; empty where nothing was."""
    text = "\n".join(f"--- {title}\n{said}" for title, said in sections if said.strip())
    lines = (table.visible(line) for line in text.expandtabs().split("\n"))
    return f"<pre>{escape(chr(10).join(lines))}</pre>" if text else ""


def escaped(cell: str) -> str:
    """A cell of pytest-html's table: the node id in it as text, any other as it is."""
    before, after = NODE_ID
    if not (cell.startswith(before) and cell.endswith(after)):
        return cell
    return f"{before}{escape(cell[len(before) : -len(after)])}{after}"


def _asset(name: str) -> str:
    return (resources.files(__package__) / name).read_text("utf-8")


@cache
def _template() -> jinja2.Template:
    environment = jinja2.Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    environment.filters.update(words=words, number=number, spelled=table.spelled)
    return environment.from_string(_asset("page.html.jinja"))
