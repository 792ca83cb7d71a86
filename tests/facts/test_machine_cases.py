"""Replies of processes, sockets, GPUs, packages, toolkit and machine, each with what must be read from it.

A case is a folder `cases/PROBE/CASE`: stdout, optionally stderr and rc, and expected.json, in which a reading
is its value, {"absent": where} or {"silent": why}.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_dflash.facts import claim, disks, nvidia, packages, platform, pressure, procfs, sockets, toolkit
from pytest_dflash.facts.probe import Probe, Reply
from pytest_dflash.facts.reading import Absent, Silent, Value

CASES = Path(__file__).with_name("cases")
MODULES = (claim, disks, nvidia, packages, platform, pressure, procfs, sockets, toolkit)
PROBES: Mapping[str, Probe[Any]] = {
    probe.name: probe for module in MODULES for probe in vars(module).values() if isinstance(probe, Probe)
}
FOLDERS = [folder for name in PROBES for folder in sorted((CASES / name).iterdir())]


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


def reply(folder: Path) -> Reply:
    def part(name: str) -> bytes:
        path = folder / name
        return path.read_bytes() if path.exists() else b""

    return Reply(part("stdout"), part("stderr"), int(part("rc") or 0))


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: f"{folder.parent.name}-{folder.name}")
def test_a_captured_reply_is_read_as_expected(folder: Path) -> None:
    expected = json.loads((folder / "expected.json").read_text("utf-8"))
    assert plain(PROBES[folder.parent.name].parse(reply(folder))) == expected


@pytest.mark.parametrize("name", sorted(PROBES))
def test_every_probe_has_a_dirty_case(name: str) -> None:
    assert (CASES / name / "dirty").is_dir()


SAID = sorted({line for folder in FOLDERS for line in (folder / "stdout").read_bytes().split(b"\n")})[:4000]


@pytest.mark.parametrize("name", sorted(PROBES))
@settings(max_examples=40, deadline=None)
@given(
    lines=st.lists(st.one_of(st.binary(max_size=60), st.sampled_from(SAID)), max_size=12),
    stderr=st.binary(max_size=40),
    rc=st.sampled_from([0, 1, 2, 124, 126, 127, 255]),
)
def test_any_bytes_give_a_reading(name: str, lines: list[bytes], stderr: bytes, rc: int) -> None:
    reading = PROBES[name].parse(Reply(b"\n".join(lines), stderr, rc))
    assert isinstance(reading, Value | Absent | Silent)
    json.dumps(plain(reading)).encode("utf-8")


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: f"{folder.parent.name}-{folder.name}")
@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_a_reply_cut_anywhere_gives_a_reading(folder: Path, data: st.DataObject) -> None:
    whole = reply(folder).stdout
    cut = data.draw(st.integers(0, len(whole)))
    assert isinstance(PROBES[folder.parent.name].parse(Reply(whole[:cut])), Value | Absent | Silent)
