"""All probes of the package, and what hosts said when they were asked: `cases/PROBE/CASE`.

A case is a folder: stdout, optionally stderr and rc, and expected.json, in which a reading is its value,
{"absent": where} or {"silent": why}. Most were taken from systemd 252.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

from pytest_dflash import facts
from pytest_dflash.facts.probe import Probe, Reply
from pytest_dflash.facts.reading import Absent, Silent, Value

CASES = Path(__file__).with_name("cases")
PROBES: Mapping[str, Probe[Any]] = {
    thing.name: thing
    for module in iter_modules(facts.__path__)
    for thing in vars(import_module(f"{facts.__name__}.{module.name}")).values()
    if isinstance(thing, Probe)
}
FOLDERS = sorted(folder for name in PROBES for folder in (CASES / name).glob("*/"))


def probe_of(folder: Path) -> Probe[Any]:
    """The probe that was asked."""
    return PROBES[folder.parent.name]


def reply(folder: Path) -> Reply:
    """What was said."""

    def part(name: str) -> bytes:
        path = folder / name
        return path.read_bytes() if path.exists() else b""

    return Reply(part("stdout"), part("stderr"), int(part("rc") or 0))


def plain(thing: Any) -> Any:
    """Values, readings and containers as JSON has them."""
    match thing:
        case Value():
            return plain(thing.value)
        case Absent():
            return {"absent": thing.where}
        case Silent():
            return {"silent": thing.why}
        case Mapping():
            return {str(key): plain(value) for key, value in thing.items()}
        case tuple():
            return [plain(item) for item in thing]
    if is_dataclass(thing):
        return {field.name: plain(getattr(thing, field.name)) for field in fields(thing)}
    return thing
