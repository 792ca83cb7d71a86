"""The three things that a source can say.

Law: values only. `Absent` is a claim that needs proof that the source was heard; whoever could not hear
says `Silent`, with the reason. A logged None is a Value.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeAlias, TypeVar

T = TypeVar("T", covariant=True)  # noqa: PLC0105 - a reading is only ever read, so Value[int] is a Value[object]


@dataclass(frozen=True, slots=True)
class Value(Generic[T]):
    """The source was heard and said this. `where` is a place a person can look at."""

    value: T
    where: str = ""


@dataclass(frozen=True, slots=True)
class Absent:
    """The source was heard, is whole, and has no such thing."""

    where: str = ""


@dataclass(frozen=True, slots=True)
class Silent:
    """The source could not be heard: missing tool, no permission, timeout, rotated away. `why` says which."""

    why: str
    where: str = ""


Reading: TypeAlias = Value[T] | Absent | Silent


def known(reading: Reading[T]) -> T | None:
    """What a source said, or None: for whoever shows and does not judge."""
    return reading.value if isinstance(reading, Value) else None


def deaf(reading: Reading[T]) -> str:
    """Why a source gave no value, in words; "" where it gave one."""
    if isinstance(reading, Silent):
        return reading.why
    return f"there is no {reading.where}" if isinstance(reading, Absent) else ""
