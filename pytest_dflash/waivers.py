"""Known failures that somebody answers for, until a date.

Law: pure; today's date is an argument. A waiver turns `fail` into `waived`, nothing else: `unproven` is
never waived, an expired waiver waives nothing and says so.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import date
from fnmatch import fnmatchcase
from typing import Protocol

from pytest_dflash.findings import Finding, Judgement, Outcome, is_meant


class Waiver(Protocol):
    """The `[[waivers]]` table of the profile."""

    @property
    def check(self) -> str: ...  # noqa: D102 - as in CONTRACT section 2
    @property
    def host(self) -> str | None: ...  # noqa: D102 - as above
    @property
    def param(self) -> str | None: ...  # noqa: D102 - as above
    @property
    def reason(self) -> str: ...  # noqa: D102 - as above
    @property
    def expires(self) -> date: ...  # noqa: D102 - as above


@dataclass(frozen=True, slots=True)
class Subject:
    """What a waiver is compared with."""

    check: str
    host: str
    param: str | None


def covers(waiver: Waiver, subject: Subject) -> bool:
    """Whether the waiver names this check (as a pattern, or as `check[param]`), on this host, for this parameter."""
    return (
        is_meant(waiver.check, subject.check, subject.param)
        and (waiver.host is None or fnmatchcase(subject.host, waiver.host))
        and (waiver.param is None or waiver.param == subject.param)
    )


def apply(judgement: Judgement, subject: Subject, waivers: Iterable[Waiver], today: date) -> Judgement:
    """The judgement after the waivers: a covered failure is waived until and on the day it expires."""
    if judgement.outcome is not Outcome.FAIL:
        return judgement
    matching = [waiver for waiver in waivers if covers(waiver, subject)]
    for waiver in matching:
        if today <= waiver.expires:
            note = f"{judgement.summary} (waived until {waiver.expires}: {waiver.reason})"
            return replace(judgement, outcome=Outcome.WAIVED, summary=note)
    if matching:
        latest = max(matching, key=lambda waiver: waiver.expires)
        note = f"{judgement.summary} (its waiver expired on {latest.expires}: {latest.reason})"
        return replace(judgement, summary=note)
    return judgement


def advisory(judgement: Judgement, since: str, as_of: str | None) -> Judgement:
    """The judgement of a check that is younger than what the profile's gate has taken up: told, and deciding nothing.

    Args:
        judgement: After the waivers.
        since: The version that brought the check, such as "0.2".
        as_of: `[gate] checks_as_of`; None takes every check up.
    """
    if as_of is None or _version(since) <= _version(as_of):
        return judgement
    outcome = {Outcome.FAIL: Outcome.WAIVED, Outcome.UNPROVEN: Outcome.NOT_RUN}.get(judgement.outcome)
    if outcome is None:
        return judgement
    note = f'advisory, new in {since}, [gate] checks_as_of = "{as_of}": {judgement.summary}'
    return replace(judgement, outcome=outcome, summary=note)


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split("."))


def notes(
    waivers: Iterable[Waiver], host: str, findings: Iterable[Finding], today: date, *, narrowed: bool = False
) -> list[str]:
    """Which waivers waived nothing: no longer needed, expired, or naming no check of a run that ran them all."""
    findings = list(findings)
    lines = []
    for waiver in waivers:
        met = [each for each in findings if covers(waiver, Subject(each.check, host, each.param))]
        if not met and not narrowed and fnmatchcase(host, waiver.host or "*"):
            lines.append(
                f"waiver: {waiver.check} names no check of this run, so it waives nothing ({waiver.reason})"
            )
        elif any(each.outcome is Outcome.PASS for each in met) and not any(
            each.outcome in {Outcome.WAIVED, Outcome.FAIL} for each in met
        ):
            lines.append(
                f"waiver: {waiver.check} passes, so its waiver is no longer needed ({waiver.reason})"
            )
        elif today > waiver.expires and any(each.outcome is Outcome.FAIL for each in met):
            lines.append(
                f"waiver: {waiver.check} expired on {waiver.expires} and waives nothing ({waiver.reason})"
            )
    return lines
