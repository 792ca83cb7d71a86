"""The one way from a reading to a judgement.

Law: the four outcomes of a comparison; every rule goes through here, so that silence can never pass.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from pytest_dflash.facts.reading import Absent, Reading, Silent, Value
from pytest_dflash.findings import Evidence, Json, Judgement, Outcome, failed, unproven

T = TypeVar("T")
HEAR = "let the tool hear this source: start the unit where it does not run, read as root (--sudo), or install what is missing"
COUNT = "let the engine count its verify steps: SGLang needs --enable-metrics, llama.cpp --metrics"


@dataclass(frozen=True)  # no slots: `Expectation[X](…)` leaves its type on the instance
class Expectation(Generic[T]):
    """What is compared, and the words for it.

    Attributes:
        what: The subject as a noun, for example "driver version".
        wanted: What is expected, as a person reads it.
        holds: Whether a value satisfies it.
        shown: The value as it is shown; default itself.
        absent: The outcome when the source was heard and has no such thing.
        measures: Numbers of the value, the unit in the name.
    """

    what: str
    wanted: Json
    holds: Callable[[T], bool]
    shown: Callable[[T], Json] | None = None
    cause: str | None = None
    remedy: str | None = None
    absent: Outcome = Outcome.FAIL
    param: str | None = None
    measures: Callable[[T], Mapping[str, float]] | None = None


def evidence(source: str, reading: Reading[object], shown: Json = None) -> Evidence:
    """A reading as evidence."""
    if isinstance(reading, Value):
        return Evidence(source=source, reading="value", value=shown, where=reading.where or None)
    if isinstance(reading, Absent):
        return Evidence(source=source, reading="absent", where=reading.where or None)
    return Evidence(source=source, reading="silent", why=reading.why, where=reading.where or None)


def compare(source: str, reading: Reading[T], expectation: Expectation[T]) -> Judgement:
    """Compares a reading with an expectation."""
    e = expectation
    if isinstance(reading, Silent):
        return unproven(
            f"{e.what} could not be read: {reading.why}",
            expected=e.wanted,
            evidence=(evidence(source, reading),),
            remedy=HEAR,
            param=e.param,
        )
    if isinstance(reading, Absent):
        told = f" ({reading.where})" if reading.where else ""
        return Judgement(
            outcome=e.absent,
            summary=f"{e.what}: the host has no such thing{told}"
            if e.absent is Outcome.NOT_APPLICABLE
            else f"{e.what}: expected {display(e.wanted)}, and there is none{told}",
            expected=e.wanted,
            evidence=(evidence(source, reading),),
            cause=e.cause if e.absent is Outcome.FAIL else None,
            remedy=e.remedy if e.absent is Outcome.FAIL else None,
            param=e.param,
        )
    shown: Json = e.shown(reading.value) if e.shown else reading.value  # type: ignore[assignment]  # plain values show themselves
    witnesses = (evidence(source, reading, shown),)
    measures = e.measures(reading.value) if e.measures else {}
    if e.holds(reading.value):
        return Judgement(
            outcome=Outcome.PASS,
            summary=f"{e.what}: {display(shown)}",
            expected=e.wanted,
            observed=shown,
            evidence=witnesses,
            param=e.param,
            measures=measures,
        )
    return failed(
        f"{e.what}: expected {display(e.wanted)}, found {display(shown)}",
        expected=e.wanted,
        observed=shown,
        evidence=witnesses,
        cause=e.cause,
        remedy=e.remedy,
        param=e.param,
        measures=measures,
    )


def display(value: Json) -> str:
    """A value in a sentence."""
    return (
        "none"
        if value is None or value == []
        else ", ".join(map(str, value))
        if isinstance(value, list)
        else str(value)
    )


def unheard(what: str, source: str, reading: Reading[object]) -> Judgement:
    """That something could not be told because a source did not speak."""
    why = reading.why if isinstance(reading, Silent) else "there is none"
    return unproven(
        f"{what} could not be told: {source}: {why}", evidence=(evidence(source, reading),), remedy=HEAR
    )
