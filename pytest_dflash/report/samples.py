"""samples/: every request of a load and every look at the host, as they were measured, a line of JSON each.

Law: files in the report folder. Nothing is left out or rounded; no secret gets in, and no more of an answer than the
record kept.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, fields, is_dataclass
from pathlib import Path
from typing import Any

from pytest_dflash.load.measurement import Measurement
from pytest_dflash.report.document import cleaned

FOLDER = "samples"


def write(folder: Path, host: str, found: Measurement, redact: Callable[[str], str]) -> None:
    """Writes the requests of a load, and adds its looks at the host to those of the loads before."""
    folder.mkdir(parents=True, exist_ok=True)
    name = f"{found.load.name} {found.label}"
    requests = folder / f"throughput-{plain(host)}-{plain(name)}.jsonl"
    requests.write_text("".join(_lines(requests_of(found), redact)), "utf-8")
    with (folder / f"host-{plain(host)}.jsonl").open("a", encoding="utf-8") as looks:
        looks.writelines(_lines(looks_of(found), redact))


def requests_of(found: Measurement) -> Iterator[Mapping[str, Any]]:
    """What was asked, then each request, warm-up included (repeat -1), in the order in which they ended."""
    result = found.result
    yield {
        "plan": asdict(result.plan),
        "model": result.model,
        "chars_per_token": result.chars_per_token,
        "stop": str(result.stop),
        "why": result.why,
        "began_at_s": found.began_at_s,
        "before": tree(found.before),
        "after": tree(found.after),
    }
    for request in result.warm_up:
        yield {"repeat": -1, **asdict(request)}
    for repeat in result.repeats:
        yield {"repeat": repeat.number, "instrument": asdict(repeat.instrument)}
        for request in repeat.requests:
            yield {"repeat": repeat.number, **asdict(request)}


def looks_of(found: Measurement) -> Iterator[Mapping[str, Any]]:
    """Each look at the host and at the engine's requests."""
    for sample in found.beside.samples:
        yield {"load": found.load.name, "label": found.label, **tree(sample)}
    for sight in found.beside.sights:
        yield {"load": found.load.name, "label": found.label, **asdict(sight)}


def tree(thing: Any) -> Any:
    """Values with their readings as plain JSON: a reading keeps its kind."""
    if is_dataclass(thing) and not isinstance(thing, type):
        kind = {"reading": type(thing).__name__.lower()} if hasattr(thing, "where") else {}
        return kind | {field.name: tree(getattr(thing, field.name)) for field in fields(thing)}
    if isinstance(thing, (list, tuple)):
        return [tree(each) for each in thing]
    return thing


def plain(name: str) -> str:
    """A name that any file system takes."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.") or "load"


def _lines(rows: Iterator[Mapping[str, Any]], redact: Callable[[str], str]) -> Iterator[str]:
    for row in rows:
        yield json.dumps(cleaned(row, redact), ensure_ascii=False, separators=(",", ":")) + "\n"
