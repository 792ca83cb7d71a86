"""An engine's counters in the text of `/metrics`.

Law: Prometheus' text format in, numbers out; what they count, the engine says.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from pytest_dflash.engines.shapes import LARGEST
from pytest_dflash.facts.reading import Absent, Silent

METRICS = "/metrics"
_POSITION = re.compile(r'position="(\d{1,6})"')

Samples = Mapping[str, Sequence[tuple[str, float]]]
"""Labels as they stand, and value, by the counter's name: without the engine's prefix and `_total`."""


def samples(text: str, engine: str) -> Samples:
    """The samples of one engine; what is no number that something may count to is left out."""
    sample = re.compile(
        rf"^{engine}:(?P<name>\w+?)(?:_total)?(?:\{{(?P<labels>[^}}\n]*)\}})? (?P<value>[-+.\w]+)",
        re.MULTILINE,
    )
    found: dict[str, list[tuple[str, float]]] = {}
    for match in sample.finditer(text):
        try:
            number = float(match["value"])
        except ValueError:
            continue
        if abs(number) < LARGEST:  # and not for "nan"
            found.setdefault(match["name"], []).append((match["labels"] or "", number))
    return found


def missing(told: Samples, engine: str, families: Sequence[str]) -> Absent | Silent | None:
    """That these counters are not there; None where all are.

    Their absence is a claim: only a page of this engine that has none of them proves it. Where some are missing, or the
    page tells nothing of the engine at all (a proxy's own, an error), it was not heard.
    """
    gone = [name for name in families if name not in told]
    if not gone:
        return None
    if told and len(gone) == len(families):
        return Absent(f"{engine}:{gone[0]} in GET {METRICS}")
    return Silent(f"{engine}:{gone[0]} is not among the counters", f"GET {METRICS}")


def total(of: Sequence[tuple[str, float]]) -> float:
    """The sum over all labels."""
    return sum(number for _, number in of)


def by_position(of: Sequence[tuple[str, float]]) -> dict[int, float]:
    """The sums by the label `position`: of a draft, the first one 0."""
    found: dict[int, float] = {}
    for labels, number in of:
        if at := _POSITION.search(labels):
            found[int(at[1])] = found.get(int(at[1]), 0.0) + number
    return found
