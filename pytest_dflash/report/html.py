"""What report.html says above the table of tests: verdict, hosts, and every failure with its witnesses.

Law: findings in, escaped HTML out; every text is data. pytest-html makes the page, this module its summary.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from pytest_dflash.findings import Finding, Outcome
from pytest_dflash.report import table, terminal
from pytest_dflash.verdict import Verdict

TONE = {
    Verdict.ACCEPT: "#1a7f37",
    Verdict.PARTIAL: "#9a6700",
    Verdict.UNDECIDED: "#9a6700",
    Verdict.REJECT: "#cf222e",
}
NODE_ID = ('<td class="col-testId">', "</td>")
"""What pytest-html puts around a node id, which it does not escape."""

IDENTITY = ("name", "unit", "engine", "engine_version", "main_pid", "invocation_id", "boot_id")


STYLE = """<style>
body { color: #1f2328; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; }
th, td { padding: 2px 10px 2px 0; text-align: left; }
#environment-header, #environment { display: none; }
</style>"""
"""The verdict comes first; what Python and plugins ran stands in findings.json and the terminal."""


def summary(
    verdict: Verdict,
    findings: Sequence[Finding],
    hosts: Sequence[Mapping[str, Any]],
    lines: Sequence[str] = (),
) -> list[str]:
    """The blocks of the summary, top to bottom; `lines` is the terminal's last block."""
    blocks = [
        STYLE,
        f'<h2 style="color:{TONE[verdict]}">{escape(verdict.upper())}: {escape(terminal.MEANING[verdict])}</h2>',
        f"<p>{escape(terminal.counts(findings))}</p>",
        identities(hosts),
        f"<pre>{escape(chr(10).join(lines[2:]))}</pre>",
    ]
    for outcome in (Outcome.FAIL, Outcome.UNPROVEN, Outcome.WAIVED):
        blocks += [account(finding) for finding in findings if finding.outcome is outcome]
    return blocks


def identities(hosts: Sequence[Mapping[str, Any]]) -> str:
    """Who was judged: one row a host."""
    head = "".join(f"<th>{escape(key.replace('_', ' '))}</th>" for key in IDENTITY)
    rows = "".join(
        "<tr>" + "".join(f"<td>{escape(str(host.get(key) or '-'))}</td>" for key in IDENTITY) + "</tr>"
        for host in hosts
    )
    return f"<table><tr>{head}</tr>{rows}</table>"


def account(finding: Finding) -> str:
    """One finding that did not pass: its title, and the sentence, witnesses, cause and remedy below."""
    text = "\n".join(table.told(finding.judgement))
    return f"<h3>{escape(finding.outcome.upper())} {escape(terminal.title(finding))}</h3><pre>{escape(text)}</pre>"


def escaped(cell: str) -> str:
    """A cell of pytest-html's table: the node id in it as text, any other as it is."""
    before, after = NODE_ID
    if not (cell.startswith(before) and cell.endswith(after)):
        return cell
    return f"{before}{escape(cell[len(before) : -len(after)])}{after}"
