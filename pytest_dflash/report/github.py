"""What GitHub Actions shows: the summary of a step in Markdown, and annotations.

Law: findings.json in, text out. Text from the host is data: it starts no command, no link and no markup.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_dflash.report import scope, table, terminal
from pytest_dflash.report.cards import cards

MOST = 10
"""GitHub shows ten errors of a step and drops the rest."""
SUMMARY_ROWS = 50
MARKUP = {ord(letter): f"&#{ord(letter)};" for letter in "&\\`*_{}[]<>|#!~$@"}
LEVEL = {"fail": "error", "unproven": "error", "waived": "notice"}


def commands(document: Mapping[str, Any]) -> list[str]:
    """Workflow commands, one for each thing that is wrong."""
    lines = []
    for card in cards(document["findings"])[:MOST]:
        told = card.told
        message = " ".join(filter(None, (told["summary"], told["remedy"] and f"Do: {told['remedy']}")))
        head = _property(f"{card.title} on {told['host']}")
        lines.append(f"::{LEVEL[card.outcome]} title={head}::{_data(message)}")
    return lines


def summary(document: Mapping[str, Any]) -> str:
    """Markdown for the step: verdict, counts, and a table of what is wrong."""
    run, findings = document["run"], document["findings"]
    counts = scope.counted(findings) + terminal.counts(findings)
    lines = [
        f"## {run['verdict'].upper()}: {scope.headline(run, findings)}",
        "",
        f"{counts or 'no findings'} · exit code {run['exit_code']} · {run['duration_s']} s · "
        + ", ".join(_cell(host["name"]) for host in document["hosts"]),
        "",
    ]
    wrong = [each for card in cards(findings) for each in (card, *card.followers)]
    if wrong:
        lines += ["| outcome | check | host | what was found | do |", "|---|---|---|---|---|"]
    for card in wrong[:SUMMARY_ROWS]:
        told = card.told
        words = (card.outcome, card.title, told["host"], told["summary"], told["remedy"] or "")
        lines.append(f"| {' | '.join(_cell(word) for word in words)} |")
    if len(wrong) > SUMMARY_ROWS:
        lines.append(f"\nand {len(wrong) - SUMMARY_ROWS} more: see report.html")
    if run.get("next"):
        lines += ["", f"**Next:** {_cell(run['next'])}"]
    return "\n".join([*lines, ""])


def _cell(text: str) -> str:
    """Text that Markdown and HTML leave alone, on one line."""
    return table.visible(text).translate(MARKUP)


def _data(text: str) -> str:
    return table.visible(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
