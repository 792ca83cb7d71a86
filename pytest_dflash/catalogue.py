"""The checks of the shipped suites, as a person asks about them: what, why, which faults, how to mend.

Law: reads the suites' source, `checks.toml` and the rehearsal's faults; imports no suite and asks no host.
"""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from pytest_dflash.findings import AREAS
from pytest_dflash.levels import MEANING
from pytest_dflash.own_command import shipped
from pytest_dflash.rehearsal.faults import FAULTS, Fault


@dataclass(frozen=True, slots=True)
class Entry:
    """One check.

    Attributes:
        sentence: The requirement, by the name of its function.
        per: What it is run for, once each: flag, variable, package, budget, load; "" where it is run once.
        faults: Those of the rehearsal that it must notice.
    """

    name: str
    sentence: str
    level: str
    per: str
    why: str
    mend: str
    faults: tuple[Fault, ...]


@cache
def entries() -> Mapping[str, Entry]:
    """All checks, in the order of their areas."""
    told = tomllib.loads((resources.files("pytest_dflash") / "checks.toml").read_text("utf-8"))
    found = {
        entry.name: entry for path in sorted(shipped().glob("test_*.py")) for entry in _declared(path, told)
    }
    areas = list(AREAS)
    return dict(sorted(found.items(), key=lambda each: areas.index(each[0].partition(".")[0])))


def _declared(path: Path, told: Mapping[str, Any]) -> Iterator[Entry]:
    for node in ast.parse(path.read_text("utf-8")).body:
        if not isinstance(node, ast.FunctionDef):
            continue
        for mark in node.decorator_list:
            if isinstance(mark, ast.Call) and isinstance(mark.func, ast.Name) and mark.func.id == "check":
                name = str(ast.literal_eval(mark.args[0]))
                words = {k.arg: k.value.value for k in mark.keywords if isinstance(k.value, ast.Constant)}
                known = told.get(name, {})
                yield Entry(
                    name=name,
                    sentence=node.name.removeprefix("test_").replace("_", " "),
                    level=str(words.get("level", "read")),
                    per=str(words.get("per") or ""),
                    why=known.get("why", ""),
                    mend=known.get("mend", ""),
                    faults=tuple(
                        f for f in FAULTS.values() if name in {c.partition("[")[0] for c in f.checks}
                    ),
                )


def explained(entry: Entry, begin: str, suites: str) -> str:
    """What a person should know of a check, on one screen; `begin` and `suites` of the command to type, for a shell."""
    area = entry.name.partition(".")[0]
    lines = [
        f"{entry.name}: {entry.sentence}",
        "",
        f"area    {area}: {AREAS[area]}",
        f"level   {entry.level} ({MEANING[entry.level]})",
    ]
    if entry.per:
        lines.append(f"once    for each {entry.per} of the profile")
    lines += [f"{word:<7} {text}" for word, text in (("why", entry.why), ("mend", entry.mend)) if text]
    if entry.faults:
        lines += ["faults  that it must notice; each can be staged:"]
        lines += [f"        --dflash-fault={fault.name}: {fault.title}" for fault in entry.faults]
    needs = f" --dflash-allow={entry.level}" if entry.level in ("restart", "reconfigure") else ""
    if (area, entry.level) == ("tree", "reconfigure"):  # each budget is asked sustained requests
        needs = " --dflash-allow=load,reconfigure"
    staged = f" --dflash-fault={entry.faults[0].name}" if entry.faults else ""
    lines += ["", f"next: {begin} --host=rehearsal {suites} -k {entry.name}{needs}{staged}"]
    return "\n".join(lines)
