"""The services of a host: what systemd says in many blocks, read as units with their commands."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_dflash.facts.probe import Reply
from pytest_dflash.facts.reading import Silent, Value
from pytest_dflash.facts.services import SERVICES

CASES = Path(__file__).with_name("cases") / SERVICES.name


def plain(reading: Any) -> Any:
    """A reading as JSON has it."""
    if isinstance(reading, Silent):
        return {"silent": reading.why}
    assert isinstance(reading, Value)
    return json.loads(json.dumps([asdict(unit) for unit in reading.value]))


@pytest.mark.parametrize("folder", sorted(CASES.iterdir()), ids=lambda folder: folder.name)
def test_what_a_host_said_reads_as_expected(folder: Path) -> None:
    def part(name: str) -> bytes:
        return (folder / name).read_bytes() if (folder / name).exists() else b""

    reading = SERVICES.parse(Reply(part("stdout"), part("stderr"), int(part("rc") or 0)))
    assert plain(reading) == json.loads((folder / "expected.json").read_text())


@given(st.binary(max_size=400), st.integers(0, 255))
def test_any_answer_is_a_reading(stdout: bytes, rc: int) -> None:
    assert isinstance(SERVICES.parse(Reply(stdout, b"", rc)), (Value, Silent))
