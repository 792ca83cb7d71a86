"""What each probe reads in what hosts said, in parts of it, and in any bytes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_dflash.facts.probe import Reply
from pytest_dflash.facts.reading import Absent, Silent, Value
from tests.facts.probes import CASES, FOLDERS, PROBES, plain, probe_of, reply

SAME_PARSER = {"recent-kernel-journal": "kernel-journal"}
"""Probes that ask for less of the same."""
SAID = sorted({line for folder in FOLDERS for line in reply(folder).stdout.split(b"\n") if len(line) < 2000})[
    :8000
]

each_case = pytest.mark.parametrize("folder", FOLDERS, ids=lambda one: f"{one.parent.name}-{one.name}")
each_probe = pytest.mark.parametrize("name", sorted(PROBES))


@each_case
def test_a_captured_reply_is_read_as_expected(folder: Path) -> None:
    expected = json.loads((folder / "expected.json").read_text("utf-8"))
    assert plain(probe_of(folder).parse(reply(folder))) == expected


@each_probe
def test_every_probe_has_a_dirty_case(name: str) -> None:
    assert (CASES / SAME_PARSER.get(name, name) / "dirty").is_dir()


@each_probe
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


@each_case
@settings(max_examples=10, deadline=None)
@given(data=st.data())
def test_a_reply_cut_anywhere_gives_a_reading(folder: Path, data: st.DataObject) -> None:
    whole = reply(folder).stdout
    cut = data.draw(st.integers(0, len(whole)))
    assert isinstance(probe_of(folder).parse(Reply(whole[:cut])), Value | Absent | Silent)
