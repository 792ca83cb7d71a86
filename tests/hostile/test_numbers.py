"""Whatever stands where a recording has a number, every reader returns: endless ones, none that a float can hold, none at all."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from pytest_dflash.engines.registry import OWN
from tests.hostile.parsers import PARSERS, PROBES

TESTS = Path(__file__).parents[1]
NUMBER = re.compile(rb"\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
INSTEAD = (b"9" * 5000, b"9" * 400, b"1e999", b"1e308", b"nan", b"-1", "\u0663".encode())
"""Python reads no integer of 5000 digits, makes no float of 400, infinity of 1e999 and of two 1e308 together."""
EACH = 12
"""Numbers of one recording, each in another kind of line."""
LARGEST = 60_000
WINDOW = 4
"""Lines of a log that are read together: a line of speculation belongs to the one before it."""

RECORDINGS: Mapping[str, tuple[str, ...]] = {
    **{f"probe {name}": (f"facts/cases/{name}/*/stdout",) for name in PROBES},
    "sglang log": ("engines/cases/*/log.txt",),
    "vllm log": ("engines/vllm/cases/*/log.txt",),
    "llamacpp log": ("engines/llamacpp/cases/*.txt",),
    **{f"{engine} document": ("engines/**/*.json", "endpoint/cases/*/*.json") for engine in OWN},
    **{f"{engine} routes": ("engines/**/metrics.txt", "engines/**/*.json") for engine in OWN},
    **{f"{engine} argv": ("engines/**/argv.txt", "engines/**/*.json") for engine in OWN},
    **dict.fromkeys(("completion", "stream", "exchange"), ("endpoint/cases/*/*",)),
    "effective unit": ("facts/cases/unit-files/*/stdout",),
    "environment file": ("facts/cases/unit-files/*/stdout",),
}


def changed(recorded: bytes) -> Iterator[bytes]:
    """The recording with another number in one place, each place for itself, and in all of them."""
    kinds: dict[bytes, re.Match[bytes]] = {}
    for found in NUMBER.finditer(recorded):
        before = recorded[max(0, found.start() - 40) : found.start()]
        kinds.setdefault(NUMBER.sub(b"0", before), found)
    for instead in INSTEAD:
        yield NUMBER.sub(instead, recorded)[: 10 * LARGEST]
        for found in [*kinds.values()][:EACH]:
            yield recorded[: found.start()] + instead + recorded[found.end() :]


def pieces(name: str) -> list[bytes]:
    """What this reader has been seen to read, each kind once: a log in windows, anything else whole."""
    paths = sorted(path for pattern in RECORDINGS[name] for path in TESTS.glob(pattern) if path.is_file())
    found = [path.read_bytes()[:LARGEST] for path in paths]
    if name.endswith(" log"):
        logs = [recorded.split(b"\n") for recorded in found]
        found = [b"\n".join(log[at : at + WINDOW]) for log in logs for at in range(0, len(log), WINDOW // 2)]
    return list({NUMBER.sub(b"0", piece): piece for piece in found}.values())


@pytest.mark.slow
@pytest.mark.parametrize("name", RECORDINGS)
def test_any_number_is_read(name: str) -> None:
    wrong = set()
    for piece in pieces(name):
        for data in changed(piece):
            try:
                PARSERS[name](data)
            except Exception as error:  # noqa: BLE001 - whatever it is, it is told
                wrong.add(f"{type(error).__name__}: {str(error)[:200]}")
    assert wrong == set()
