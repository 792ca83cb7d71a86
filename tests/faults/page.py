"""docs/faults.md, made from the tables and from how long each run of the matrix took.

Law: text only. `render(read(text)) == text` holds for a page that is current.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from pytest_dflash.rehearsal.faults import FAULTS, Fault
from pytest_dflash.rehearsal.oddities import ODDITIES, Oddity
from tests.faults.elsewhere import ELSEWHERE

PAGE = Path(__file__).parents[2] / "docs" / "faults.md"
REAL_HOST = Path(__file__).parents[1] / "realhost"
STAGED_FOR_REAL: Mapping[str, str] = {
    "edited-not-reloaded": "test_a_confusion_made_for_real_is_named_with_its_witnesses",
    "reloaded-not-restarted": "test_a_confusion_made_for_real_is_named_with_its_witnesses",
    "nothing-logged-yet": "test_a_confusion_made_for_real_is_named_with_its_witnesses",
    "restarts-by-itself": "test_a_confusion_made_for_real_is_named_with_its_witnesses",
    "key-in-open-file": "test_routes_that_serve_without_the_key_are_found_and_those_that_tell_are_noted",
    "active-not-serving": "test_a_confusion_made_for_real_is_named_with_its_witnesses",
}
"""Faults that a test also makes on a real host with a real systemd, to that test."""
HEAD = """\
# Faults, and who notices them

Each line was staged and run: `pytest --host=rehearsal --dflash-fault=NAME suites/` does it again, and
`--dflash-fault=list` prints the names. Exactly the named checks turn red (`fail` or `unproven`), and no other one
does; what a summary must say is tested too. *staged*: on the rehearsal's stand-in host, or also on a real host with
a real systemd. *s*: seconds from typing the command to the report, the start of the stand-in host included.

This page is made by `make matrix-full`, from the tables under `pytest_dflash/rehearsal/` and from the run.

| fault | what happened | layer | severity | noticed by | level | staged | s |
|---|---|---|---|---|---|---|--:|
"""
OWN = """
## Staged by a test of its own

| fault | what happened | layer | severity | noticed by | level | staged | s |
|---|---|---|---|---|---|---|--:|
"""
ODD = """
## Odd, and healthy

None of these may be accused: each is staged in the same way, and the run must accept the host. Where something cannot
be seen of one, exactly the named checks are `unproven` and say why.

| host | what is unusual |
|---|---|
"""
ROW = re.compile(r"^\| `([a-z0-9-]+)` \|.*\| ([\d.]+|-) \|$", re.MULTILINE)


def seconds(text: str) -> dict[str, str]:
    """How long the runs took, by a page."""
    return dict(ROW.findall(text))


def render(took: Mapping[str, str]) -> str:
    """The page."""
    real = "rehearsal, real host"
    rows = [(fault, real if fault.name in STAGED_FOR_REAL else "rehearsal") for fault in FAULTS.values()]
    own = [(each.fault, f"{each.staged}, as {each.why}") for each in ELSEWHERE]
    odd = (f"| `{oddity.name}` | {oddity.title}{_unseen(oddity)} |\n" for oddity in ODDITIES.values())
    return "".join((HEAD, *_table(rows, took), OWN, *_table(own, took), ODD, *odd))


def _unseen(oddity: Oddity) -> str:
    return f"; unproven: {', '.join(f'`{check}`' for check in oddity.unseen)}" if oddity.unseen else ""


def _table(rows: Iterable[tuple[Fault, str]], took: Mapping[str, str]) -> Iterator[str]:
    for fault, staged in rows:
        checks = ", ".join(f"`{check}`" for check in fault.checks)
        seconds = took.get(fault.name, "-")
        cells = (
            f"`{fault.name}`",
            fault.title,
            fault.layer,
            fault.severity,
            checks,
            fault.level,
            staged,
            seconds,
        )
        yield f"| {' | '.join(cells)} |\n"


def tests_of_the_real_host() -> Iterator[str]:
    """The names of all tests that need one."""
    for path in REAL_HOST.glob("test_*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                yield node.name
