"""The one result shape of all checks.

Law: values only. A check returns a `Judgement`; the plugin completes it to a `Finding` (who, where, how
long); every report is a writer of findings and knows nothing else. The JSON form is CONTRACT schema 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import Literal, TypeAlias

Json: TypeAlias = "None | bool | int | float | str | list[Json] | dict[str, Json]"


class Outcome(StrEnum):
    """What a check found. `waived` is given by the plugin; `blocked` also by a check that another one makes pointless."""

    PASS = "pass"  # noqa: S105 - not a password
    FAIL = "fail"
    UNPROVEN = "unproven"
    NOT_APPLICABLE = "not_applicable"
    NOT_RUN = "not_run"
    BLOCKED = "blocked"
    WAIVED = "waived"


AREAS = {
    "host": "the machine below the service: kernel, Xid, disk, memory, clock",
    "gpu": "the GPUs: how many, which, links, power, ECC, persistence",
    "stack": "driver, CUDA toolkit and the Python packages of the serving interpreter",
    "systemd": "the unit: loaded, enabled, in force, restarting",
    "flags": "every expected flag and variable, followed from the unit file to the engine",
    "window": "the draft window, followed to the draft runner of the fresh process",
    "endpoint": "the service answers, correctly, from the process that the unit started",
    "tree": "speculative output is what the target alone would have said",
    "throughput": "rates, latencies and acceptance against their floors",
    "exposure": "who can reach the port, and where keys can be read",
    "lifecycle": "restart, readiness, and staying up",
}
"""Area to what it is about: the pytest markers of the suites. Source: CONTRACT section 4."""

ReadingKind: TypeAlias = Literal["value", "absent", "silent"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What one source said.

    Attributes:
        why: Set when it was silent. where: a place a person can look at.
        differs: Whether this is where the loss shows first: reports mark that row.
    """

    source: str
    reading: ReadingKind
    value: Json = None
    why: str | None = None
    where: str | None = None
    differs: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """What a check returns: the outcome and everything a person needs to believe it.

    Attributes:
        outcome: pass, fail, unproven, not_applicable or not_run.
        summary: One line that a person understands.
        param: Which flag, package, GPU (by UUID), budget or load; None where the check has one subject.
        between: The two witnesses between which a setting was lost.
        cause: The usual cause. remedy: what to do.
        measures: Numbers by name, the unit in the name.
        series: What a picture is drawn from, by name: lists of numbers, one a repeat, a sample or a request.
    """

    outcome: Outcome
    summary: str
    param: str | None = None
    expected: Json = None
    observed: Json = None
    between: tuple[str, str] | None = None
    cause: str | None = None
    remedy: str | None = None
    evidence: tuple[Evidence, ...] = ()
    measures: Mapping[str, float] = field(default_factory=dict)
    series: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A judgement with its identity: which check, which host, which process, how long it took."""

    check: str
    param: str | None
    nodeid: str
    host: str
    service: str
    invocation_id: str | None
    level: str
    judgement: Judgement
    duration_s: float

    @property
    def outcome(self) -> Outcome:
        """The judgement's outcome."""
        return self.judgement.outcome


def is_meant(pattern: str, check: str, param: str | None) -> bool:
    """Whether a waiver's or a gate's words mean this finding: a pattern of names, or `check[param]`."""
    return fnmatchcase(check, pattern) or pattern == f"{check}[{param}]"


def passed(summary: str, **rest: object) -> Judgement:
    """A judgement that the expectation was compared with a reading and holds."""
    return Judgement(outcome=Outcome.PASS, summary=summary, **rest)  # type: ignore[arg-type]  # Judgement checks


def failed(summary: str, **rest: object) -> Judgement:
    """A judgement that the expectation was compared with a reading and does not hold."""
    return Judgement(outcome=Outcome.FAIL, summary=summary, **rest)  # type: ignore[arg-type]  # as above


def unproven(summary: str, **rest: object) -> Judgement:
    """A judgement that the source could not be heard, or that the measurement could not decide."""
    return Judgement(outcome=Outcome.UNPROVEN, summary=summary, **rest)  # type: ignore[arg-type]  # as above


def not_applicable(summary: str, **rest: object) -> Judgement:
    """A judgement that nothing was expected, or that the host has no such thing."""
    return Judgement(outcome=Outcome.NOT_APPLICABLE, summary=summary, **rest)  # type: ignore[arg-type]  # as above
