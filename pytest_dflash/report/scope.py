"""How far a verdict reaches: at which level, and which areas were not judged there.

Law: findings and run as in findings.json in, words out; pure. A run that may not send a load never says that the
host may take traffic.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pytest_dflash.findings import AREAS, Outcome
from pytest_dflash.levels import CHANGING, Allowed
from pytest_dflash.report.document import Findings
from pytest_dflash.verdict import Verdict

JUDGED = frozenset({Outcome.PASS, Outcome.FAIL, Outcome.UNPROVEN, Outcome.WAIVED})
MEANING = {
    Verdict.ACCEPT: "the host may take traffic",
    Verdict.REJECT: "the host must not take traffic",
    Verdict.UNDECIDED: "nothing is known to be wrong, but not everything could be proven",
    Verdict.PARTIAL: "good so far, judged on the selected checks only; this does not accept the host",
}
CAPPED = "good as far as this run went, which does not say that the host may take traffic"
"""An acceptance without a load: neither the text nor the speed of answers was looked at."""
BY_THE_PROFILE, UNREVIEWED = {Verdict.ACCEPT, Verdict.REJECT}, ", by expectations that nobody has reviewed"
OPTION = "--dflash-allow"
BROKEN_OFF = {
    2: ("broken off before all checks were judged", "run the same command again"),
    3: (
        "an error of this tool stopped the run",
        "report the traceback above, and run again without the check that it names",
    ),
    12: (
        "a host could not be put back as it was found",
        "type what is told above on that host, then run again",
    ),
}
"""What weighs more than the verdict, and the next step on the terminal, by exit code."""


def headline(run: Mapping[str, Any], findings: Findings) -> str:
    """What the run says of its hosts, in one sentence; of an acceptance also at which level, and of what it says nothing."""
    if run["exit_code"] in BROKEN_OFF:
        return BROKEN_OFF[run["exit_code"]][0]
    verdict = Verdict(run["verdict"])
    missing = held_back(findings) if verdict is Verdict.ACCEPT else []
    said = CAPPED if missing and not loaded(run) else MEANING[verdict]
    if verdict in BY_THE_PROFILE and not all(each["reviewed"] for each in run.get("profiles", ())):
        said += UNREVIEWED
    if not missing:
        return said
    return f"{said}; accept at level {'+'.join(run['allow'])}: {', '.join(missing)} not judged"


def loaded(run: Mapping[str, Any]) -> bool:
    """Whether the run was allowed to send a load."""
    return Allowed(tuple(run["allow"])).permits("load")


def held_back(findings: Findings) -> list[str]:
    """The areas that the level did not reach, in their order; "part of" where something else of them was judged."""
    kept = {_area(each) for each in findings if each["outcome"] == Outcome.NOT_RUN}
    judged = {_area(each) for each in findings if each["outcome"] in JUDGED}
    known = [*AREAS, *sorted(kept - set(AREAS))]
    return [("part of " if area in judged else "") + area for area in known if area in kept]


def counted(findings: Findings) -> str:
    """How many tests gave how many findings, where these differ: one check of eight GPUs is one test."""
    tests = len({each["nodeid"] for each in findings})
    return f"{tests} tests gave {len(findings)} findings: " if tests != len(findings) else ""


def further(run: Mapping[str, Any]) -> str | None:
    """How to judge the rest, of a run that may not send a load; None where it may."""
    if loaded(run):
        return None
    words = shlex.split(run["command"])
    kept = list(_without(words))
    if kept == words:
        return f"take {OPTION} out of addopts or PYTEST_ADDOPTS: what was not run stays unknown until then"
    changing = [word for word in run["allow"] if word in CHANGING]
    return shlex.join([*kept, *([f"{OPTION}=load,{','.join(changing)}"] if changing else [])])


def _without(words: Sequence[str]) -> Iterator[str]:
    """The command line without the option and its value."""
    value = False
    for word in words:
        if value or word.startswith(f"{OPTION}="):
            value = False
        elif word == OPTION:
            value = True
        else:
            yield word


def _area(finding: Mapping[str, Any]) -> str:
    return str(finding["check"]).partition(".")[0]
