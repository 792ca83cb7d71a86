"""Replies of systemd and the journal, each with what must be read from it.

A case is a folder `cases/PROBE/CASE`: stdout, optionally stderr and rc, and expected.json, in which a reading
is its value, {"absent": where} or {"silent": why}. Most were taken from systemd 252.
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

from pytest_dflash.facts.journal import JOURNAL
from pytest_dflash.facts.kernel import KERNEL
from pytest_dflash.facts.probe import Probe, Reply
from pytest_dflash.facts.reading import Absent, Silent, Value
from pytest_dflash.facts.starts import PREVIOUS, STARTS
from pytest_dflash.facts.systemd import LOADED_COMMAND, UNIT_PROPERTIES
from pytest_dflash.facts.unit_file import effective
from pytest_dflash.facts.unit_lookup import UNIT_FILES

CASES = Path(__file__).with_name("cases")
ALL: tuple[Probe[Any], ...] = (UNIT_PROPERTIES, LOADED_COMMAND, UNIT_FILES, JOURNAL, PREVIOUS, STARTS, KERNEL)
PROBES: Mapping[str, Probe[Any]] = {probe.name: probe for probe in ALL}
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


def reply(probe: str, case: str) -> Reply:
    def part(name: str) -> bytes:
        path = CASES / probe / case / name
        return path.read_bytes() if path.exists() else b""

    return Reply(part("stdout"), part("stderr"), int(part("rc") or 0))


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: f"{folder.parent.name}-{folder.name}")
def test_a_captured_reply_is_read_as_expected(folder: Path) -> None:
    expected = json.loads((folder / "expected.json").read_text("utf-8"))
    read = PROBES[folder.parent.name].parse(reply(folder.parent.name, folder.name))
    assert plain(read) == expected


@pytest.mark.parametrize("name", sorted(PROBES))
def test_every_probe_has_a_dirty_case(name: str) -> None:
    assert (CASES / name / "dirty").is_dir()


@pytest.mark.parametrize(
    "case, unit",
    [
        ("template", "llm-serve@a-b.service"),
        ("odd-commands", "odd.service"),
        ("emptied", "x-y.service"),
    ],
)
def test_the_files_come_to_what_the_manager_loaded_from_them(case: str, unit: str) -> None:
    files = UNIT_FILES.parse(reply("unit-files", case))
    loaded = LOADED_COMMAND.parse(reply("loaded-command", case))
    assert isinstance(files, Value)
    assert isinstance(loaded, Value)
    disk = effective(files.value, unit)
    comparable = [
        (command.argv, held)
        for command, held in zip(disk.exec_start, loaded.value.exec_start, strict=True)
        if "%q is resolved by the host only" not in command.notes
    ]
    assert [ours for ours, _ in comparable] == [theirs for _, theirs in comparable]
    assert {name: found.value for name, found in disk.environment.items()} == loaded.value.environment
    assert disk.environment_files == loaded.value.environment_files


SAID = sorted(
    {line for folder in FOLDERS for line in (folder / "stdout").read_bytes().split(b"\n") if len(line) < 2000}
)


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
@settings(max_examples=10, deadline=None)
@given(data=st.data())
def test_a_reply_cut_anywhere_gives_a_reading(folder: Path, data: st.DataObject) -> None:
    whole = reply(folder.parent.name, folder.name).stdout
    cut = data.draw(st.integers(0, len(whole)))
    assert isinstance(PROBES[folder.parent.name].parse(Reply(whole[:cut])), Value | Absent | Silent)


@settings(max_examples=20, deadline=None)
@given(data=st.data())
def test_a_journal_that_was_cut_is_never_called_whole(data: st.DataObject) -> None:
    whole = reply("journal", "small").stdout
    cut = data.draw(st.integers(0, whole.rindex(b"end")))
    reading = JOURNAL.parse(Reply(whole[:cut]))
    assert not isinstance(reading, Value) or not reading.value.whole
