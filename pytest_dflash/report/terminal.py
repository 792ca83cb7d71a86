"""The last block on the terminal: verdict, counts, what decided it, and the next step.

Law: findings.json in, lines out; no colour codes of its own, no pytest. What is wrong has the numbers that it has in
report.html.
"""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pytest_dflash.findings import Outcome
from pytest_dflash.report import scope
from pytest_dflash.report.cards import Card, cards
from pytest_dflash.report.document import Findings
from pytest_dflash.report.table import ended, visible
from pytest_dflash.verdict import Verdict

ORDER = (
    Outcome.PASS,
    Outcome.FAIL,
    Outcome.UNPROVEN,
    Outcome.WAIVED,
    Outcome.BLOCKED,
    Outcome.NOT_RUN,
    Outcome.NOT_APPLICABLE,
)
NAMED = 3
"""So many checks are named that say the same; of eight GPUs a number is enough."""
NOTHING = "nothing    was compared: no selected check had both an expectation and a reading"


def counts(findings: Findings) -> str:
    """How many findings of each outcome, for example "12 pass, 1 fail"."""
    number = Counter(finding["outcome"] for finding in findings)
    return ", ".join(f"{number[outcome]} {outcome.replace('_', ' ')}" for outcome in ORDER if number[outcome])


def block(document: Mapping[str, Any], place: str) -> list[str]:
    """The last block of a findings.json; `place` is the folder of the reports."""
    run, findings = document["run"], document["findings"]
    lines = [
        f"{scope.headline(run, findings)} (exit code {run['exit_code']})",
        *([scope.counted(findings) + counts(findings)] if findings else []),
        *reasons(findings, run["unmet"]),
    ]
    lines += [visible(note) for note in run["notes"]]
    lines.append(f"report: {place}")
    _, after = scope.BROKEN_OFF.get(run["exit_code"], ("", run["next"]))
    return [*lines, f"next: {after}"] if after else lines


def reasons(findings: Findings, unmet: Sequence[str]) -> list[str]:
    """Which findings and which gate patterns decided the verdict, as the cards of report.html: one thing to mend each.

    What is to be done stands below each where there are several; of a single one, `next:` says it.
    """
    known = cards(findings)
    alike = Counter(_cause(card) for card in known)
    first: dict[tuple[str, str] | int, Card] = {}
    for card in known:
        first.setdefault(_cause(card), card)
    wide, several = len(str(len(known))), len(first) > 1
    lines: list[str] = []
    for cause, card in first.items():
        more = f" (and {alike[cause] - 1} more of this check)" if alike[cause] > 1 else ""
        lines += _told(card, wide, more, several=several)
    lines += [
        f"  required  {visible(pattern)}: [gate] requires it, and not everything of it ran and passed"
        for pattern in unmet
    ]
    if not any(each["outcome"] in {"pass", "fail", "waived"} for each in findings):
        lines.append(f"  {NOTHING}")
    return lines


def _cause(card: Card) -> tuple[str, str] | int:
    """What stands for itself is told for itself; unproven without advice, a check has one cause on a host."""
    lonely = card.outcome == Outcome.UNPROVEN and not card.told["remedy"]
    return (card.told["host"], card.told["check"]) if lonely else card.number


def _told(card: Card, wide: int, more: str, *, several: bool) -> Iterator[str]:
    """A card in two lines: what was found and who saw it as well, and what is to be done."""
    others = [*card.others, *(name for each in card.followers for name in (each.title, *each.others))]
    number = f"{card.number:>{wide}}. " if several else ""
    seen = f" (seen as well by {_named(others)})" if others else ""
    said = visible(card.told["summary"])
    yield f"  {number}{card.outcome:<9} {visible(card.title)} on {card.told['host']}: {said}{seen}{more}"
    if several and card.told["remedy"] and card.outcome != Outcome.WAIVED:
        yield f"  {' ' * len(number)}do: {ended(visible(card.told['remedy']))}"


def _named(others: Sequence[str]) -> str:
    return visible(", ".join(others)) if len(others) <= NAMED else f"{len(others)} more"


def rehearsed(run: Mapping[str, Any]) -> str | None:
    """What to try after a green rehearsal: a fault."""
    words = shlex.split(run["command"])
    staged = any(word.startswith("--dflash-fault") for word in words)
    return (
        f"{run['command']} --dflash-fault=window-dropped"
        if "--host=rehearsal" in words and not staged
        else None
    )


def next_step(findings: Findings, run: Mapping[str, Any]) -> str | None:
    """The remedy of the first thing that is wrong, or how to get further.

    Args:
        findings: As in findings.json.
        run: Of it the verdict, the level and the command.
    """
    verdict = Verdict(run["verdict"])
    wrong = [each for each in cards(findings) if each.outcome != Outcome.WAIVED and each.told["remedy"]]
    if wrong:
        return visible(wrong[0].told["remedy"])
    if verdict is Verdict.ACCEPT:
        return (scope.further(run) if scope.held_back(findings) else None) or rehearsed(run)
    if verdict is Verdict.PARTIAL:
        return "run without -k, -m and node ids to judge the host"
    outcomes = {each["outcome"] for each in findings}
    if verdict is Verdict.UNDECIDED and Outcome.UNPROVEN in outcomes:
        return "run again; what is unproven says above what kept it from being heard or measured"
    if verdict is Verdict.UNDECIDED and Outcome.NOT_RUN in outcomes:
        return "allow more with --dflash-allow (see --help), as far as the host may be touched"
    return None
