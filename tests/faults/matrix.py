"""One cell of the matrix: a rehearsal with something staged, run as a user runs it, and what it found."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from pytest_dflash.rehearsal.faults import FAULTS, Fault
from pytest_dflash.rehearsal.oddities import ODDITIES, Oddity

SUITES = Path(__file__).parents[2] / "suites"
RED = {"fail", "unproven"}
ALLOWED = {
    "read": "probe",
    "probe": "probe",
    "load": "load",
    "restart": "probe,restart",
    "reconfigure": "probe,reconfigure",
}
"""How far a run goes that must notice a fault of a level: also those that can be read are met by requests."""
FULL = os.environ.get("DFLASH_MATRIX") == "full"
"""Whether each oddity is staged alone, and each fault is met at every level."""


def run(folder: Path, *options: str, environ: Iterable[tuple[str, str]] = ()) -> dict[str, Any]:
    """The findings.json of a rehearsal."""
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "--host=rehearsal",
        str(SUITES),
    ]
    ran = subprocess.run(
        [*command, f"--dflash-report-dir={folder}", "--dflash-ready-timeout=6", *options],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
        cwd=SUITES.parent,
        env={**os.environ, **dict(environ)},
    )
    path = folder / "findings.json"
    assert path.exists(), ran.stdout[-3000:] + ran.stderr[-3000:]
    return dict(json.loads(path.read_text("utf-8")))


def staged(
    folder: Path, *names: str, allow: str = "probe", environ: Iterable[tuple[str, str]] = ()
) -> dict[str, Any]:
    """The findings.json of a rehearsal with these faults or oddities."""
    options = [f"--dflash-fault={name}" for name in names]
    return run(folder, *options, f"--dflash-allow={allow}", environ=environ)


def red(document: dict[str, Any]) -> list[dict[str, Any]]:
    """The findings that are red."""
    return [each for each in document["findings"] if each["outcome"] in RED]


def spelled(finding: dict[str, Any]) -> str:
    """`check[param]`, or the check alone."""
    return f"{finding['check']}[{finding['param']}]" if finding["param"] else str(finding["check"])


def complaints(fault: Fault, document: dict[str, Any]) -> list[str]:
    """What is not as the fault says: a check that did not notice, one that had no reason to, a sentence that was not said."""
    found = red(document)
    noticed = {each["check"] for each in found} | {spelled(each) for each in found}
    named = {check.partition("[")[0] for check in fault.checks}
    with_param = {check.partition("[")[0] for check in fault.checks if "[" in check}
    said = "\n".join(each["summary"] for each in found)
    return [
        *(f"{check} did not notice" for check in fault.checks if check not in noticed),
        *(f"{spelled(each)} is red, and nothing is wrong there: {each['summary']}" for each in found
          if each["check"] not in named or (each["check"] in with_param and spelled(each) not in fault.checks)),
        *([] if fault.says in said else [f"no summary says {fault.says!r}: {said}"]),
    ]  # fmt: skip


def checks() -> frozenset[str]:
    """The names of all checks of the shipped suites."""
    texts = (path.read_text("utf-8") for path in SUITES.glob("test_*.py"))
    return frozenset(
        name for text in texts for name in re.findall(r'^@check\(\s*"([^"]+)"', text, re.MULTILINE)
    )


def stacks(size: int = 10) -> list[tuple[str, ...]]:
    """The oddities in groups that can be staged together; each alone in the full matrix."""
    groups: list[list[Oddity]] = []
    for oddity in (each for each in ODDITIES.values() if not each.load and not each.unseen):
        fitting = (group for group in groups if not FULL and len(group) < size and _fits(oddity, group))
        group = next(fitting, None)
        groups.append([oddity]) if group is None else group.append(oddity)
    return [tuple(oddity.name for oddity in group) for group in groups]


def unseen() -> list[str]:
    """The oddities of which something cannot be seen, each staged alone."""
    return [name for name, oddity in ODDITIES.items() if oddity.unseen]


def _fits(oddity: Oddity, group: Sequence[Oddity]) -> bool:
    taken = {place for each in group for place in each.places}
    return not oddity.alone and not any(each.alone for each in group) and taken.isdisjoint(oddity.places)


def environ_of(names: Sequence[str]) -> list[tuple[str, str]]:
    """The variables of this side that belong to these oddities."""
    found: list[Oddity] = [ODDITIES[name] for name in names]
    return [pair for oddity in found for pair in oddity.environ.items()]


def speculating(level: str) -> list[str]:
    """The faults of the draft tree: they show under load, and nothing of them is measured in time."""
    return [name for name, fault in FAULTS.items() if fault.level == level and of_tree(fault)]


def of_tree(fault: Fault) -> bool:
    """Whether only checks of the tree must notice."""
    return all(check.startswith("tree.") for check in fault.checks)


def quick() -> list[str]:
    """The faults that passive and short runs notice."""
    slow = {*timed(), *speculating("reconfigure")}
    return [name for name, fault in FAULTS.items() if fault.level != "load" and name not in slow]


def timed() -> list[str]:
    """The faults that only a measured load shows, of this process or of another."""
    return [
        name
        for name, fault in FAULTS.items()
        if (fault.level == "load" or fault.checks[0].startswith("throughput.")) and not of_tree(fault)
    ]


def far(fault: Fault) -> tuple[str, ...]:
    """How far a run under load goes."""
    if fault.level == "load":
        return ("--dflash-allow=load",)
    return (f"--dflash-allow=load,{fault.level}", "--dflash-ready-timeout=60")


def selection(fault: Fault) -> tuple[str, str]:
    """What a run under load is narrowed to: the checks that must notice; all of their areas in the full matrix."""
    names = sorted({check.partition("[")[0] for check in fault.checks})
    areas = sorted({name.partition(".")[0] for name in names})
    return ("-m", " or ".join(areas)) if FULL else ("-k", " or ".join(names))
