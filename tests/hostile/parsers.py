"""Every reader of foreign bytes, by name: what the host, the engine, the model or a person's file may be made of.

Law: a table; each takes any bytes and returns, whatever they are. `test_parsers` and `fuzz` go through all of it.
"""

from __future__ import annotations

import json
import pkgutil
import tempfile
from array import array
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from pytest_dflash import facts
from pytest_dflash.endpoint import protocol
from pytest_dflash.endpoint.completion import judge
from pytest_dflash.endpoint.protocol import parsed
from pytest_dflash.engines.dialect import Dialect
from pytest_dflash.engines.registry import OWN
from pytest_dflash.errors import DflashError
from pytest_dflash.facts import (
    bundle,
    environment_file,
    identity,
    journal,
    named_files,
    preflight,
    procfs,
    transcript,
    unit_file,
    unit_lookup,
)
from pytest_dflash.facts.journal import Entry, Journal
from pytest_dflash.facts.probe import Probe, Reply
from pytest_dflash.facts.reading import Value
from pytest_dflash.facts.target import parse_spec
from pytest_dflash.findings import Json
from pytest_dflash.load.exchange import Exchange
from pytest_dflash.load.framing import ended, head
from pytest_dflash.load.stream import record
from pytest_dflash.profile import loader
from pytest_dflash.redaction import Redactor
from pytest_dflash.report import table

Parser = Callable[[bytes], object]
UNIT = "sglang-k26-ddtree.service"
STARTS = (("sglang", "serve"), ("vllm", "serve"), ("llama-server",), ())
PIECE = 700
"""Bytes in which a body arrives here: what belongs together is torn apart."""

PROBES: Mapping[str, Probe[Any]] = {
    each.name: each
    for module in pkgutil.iter_modules(facts.__path__, f"{facts.__name__}.")
    for each in vars(import_module(module.name)).values()
    if isinstance(each, Probe)
}
"""Those of all modules of facts, so that none is forgotten."""


def text_of(data: bytes) -> str:
    """As every reply is decoded."""
    return data.decode("utf-8", "replace")


def _probe(probe: Probe[Any]) -> Parser:
    return lambda data: (probe.parse(Reply(data)), probe.parse(Reply(data[:100], data, 1)))


def _journal(data: bytes) -> Journal:
    """Each line as the service said it, as many as are read of a journal."""
    lines = text_of(data).split("\n")[: journal.FIRST_LINES + journal.LAST_LINES]
    entries = tuple(Entry(n, n * 1000, 4121, 6, line) for n, line in enumerate(lines))
    return Journal("1f2e", entries, reaches_start=True, whole=True, start_monotonic_us=0)


def _log(engine: Dialect) -> Parser:
    def read(data: bytes) -> object:
        said = _journal(data)
        return (
            engine.args_log(said),
            engine.draft_runner(said),
            engine.effective(said),
            engine.decode_lines(said),
            engine.warnings(said),
            engine.ready_line(said),
            engine.progress(said),
        )

    return read


def _argv(engine: Dialect) -> Parser:
    def read(data: bytes) -> object:
        said = text_of(data).split("\0")
        told: list[object] = []
        for start in STARTS:
            argv = [*start, *said]
            values = dict(engine.from_argv(argv, {}, None).values)
            told.append((engine.runs(argv), engine.from_argv(argv, {}, "0.5.19")))
            told.append([_setting(engine, name, value, values) for name, value in [*values.items()][:50]])
        return told

    return read


def _config(data: bytes) -> object:
    files = {"c.yaml": text_of(data)}
    return [OWN[name].from_argv([name, "serve", "--config", "c.yaml"], files, None) for name in OWN]


def _setting(engine: Dialect, name: str, value: Json, values: dict[str, Json]) -> object:
    """All that is asked of one setting, whose name and value are the host's."""
    return (
        engine.setting(name, "0.5.19"),
        engine.removed(f"--{name}", "0.5.19"),
        engine.default(name),
        engine.carriers(name, values),
        [engine.same(name, value, other) for other in (str(value), [value], values)],
        [engine.is_rewrite(name, asked, value, values) for asked in (None, "8", str(value), value)],
    )


def _document(engine: Dialect) -> Parser:
    """All that is read of a JSON body."""

    def read(data: bytes) -> object:
        document = parsed(text_of(data))
        scoring = engine.scoring()
        told = engine.from_info(document)
        values = dict(told.value.values) if isinstance(told, Value) else {}
        return (
            engine.version(document),
            engine.native_window(document, "0.5.23"),
            scoring.ids(document),
            scoring.spoken(document),
            scoring.scored(document, 1, 4),
            scoring.bounds(values),
            [_setting(engine, name, value, values) for name, value in [*values.items()][:50]],
            Redactor().guard(document),
        )

    return read


def _routes(engine: Dialect) -> Parser:
    def read(data: bytes) -> object:
        text = text_of(data)
        return [engine.load(path, text) for path in engine.load_paths()], engine.scoring().counters(text)

    return read


def _pieces(data: bytes) -> Iterator[tuple[float, bytes]]:
    return ((at * 0.01, data[at : at + PIECE]) for at in range(0, len(data), PIECE))


def _stream(data: bytes) -> object:
    return judge(protocol.read_stream(_pieces(data)), expect="Paris", max_tokens=64)


def _whole(data: bytes) -> object:
    document = parsed(text_of(data))
    protocol.complaint_of(document)
    return judge(protocol.read_whole(document, 1.0)) if isinstance(document, dict) else None


def _exchange(data: bytes) -> object:
    """A load's answer as it came over the wire, and the same as a chunked body."""
    told = []
    for raw in (data, b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n" + data):
        ends = array("q", [*range(PIECE, len(raw), PIECE), len(raw)])
        stamps = array("d", [n * 0.01 for n in range(len(ends))])
        exchange = Exchange(0, b"", due_at_s=0, sent_at_s=0, ended_at_s=9, stamps=stamps, ends=ends)
        exchange.raw = bytearray(raw)
        found = head(raw)
        told.append((found and ended(raw, found), record(exchange)))
    return told


def _profile(data: bytes) -> object:
    """A person's file; what it refuses is refused in words."""
    with tempfile.NamedTemporaryFile(suffix=".toml") as file:
        file.write(data)
        file.flush()
        try:
            return loader.load(Path(file.name), host="10.1.2.200")
        except DflashError as refused:
            return str(refused)


def _target(data: bytes) -> object:
    try:
        return parse_spec(text_of(data))
    except DflashError as refused:
        return str(refused)


def _unit(data: bytes) -> object:
    found = unit_lookup.UNIT_FILES.parse(Reply(data))
    return unit_file.effective(found.value, UNIT) if isinstance(found, Value) else found


def _redact(data: bytes) -> object:
    text = text_of(data)
    return Redactor(["canary-key-1"]).guard([text, data, text.split("\0"), parsed(text)])


def _transcript(data: bytes) -> object:
    return transcript.read(data, [journal.JOURNAL, procfs.PROCESSES], guard=Redactor().guard)


def _shown(data: bytes) -> object:
    return (
        table.visible(text_of(data)),
        table.shortened(text_of(data), 48),
        table.spelled(parsed(text_of(data))),
    )


PARSERS: Mapping[str, Parser] = {
    **{f"probe {name}": _probe(probe) for name, probe in PROBES.items()},
    **{f"{name} log": _log(engine) for name, engine in OWN.items()},
    **{f"{name} argv": _argv(engine) for name, engine in OWN.items()},
    **{f"{name} document": _document(engine) for name, engine in OWN.items()},
    **{f"{name} routes": _routes(engine) for name, engine in OWN.items()},
    "named files": _probe(named_files.named_files(("--config",), ("--model",))),
    "identity": lambda data: identity.parse_identity(Reply(data)),
    "bundle": bundle.files,
    "environment file": lambda data: environment_file.parse_environment_file(text_of(data)),
    "effective unit": _unit,
    "ssh complaint": lambda data: str(preflight.unreachable(parse_spec("10.1.2.200"), text_of(data))),
    "target": _target,
    "transcript": _transcript,
    "config file": _config,
    "answer": lambda data: parsed(text_of(data)),
    "completion": _whole,
    "stream": _stream,
    "exchange": _exchange,
    "profile": _profile,
    "redaction": _redact,
    "shown": _shown,
}
"""All of them. A new parser belongs here; probes are found by themselves."""


def seeds() -> Iterator[bytes]:
    """Recorded outputs, as something to start from."""
    tests = Path(__file__).parents[1]
    for pattern in ("facts/cases/*/*/stdout", "endpoint/cases/*/*", "engines/**/cases/**/*"):
        yield from (path.read_bytes()[:20_000] for path in sorted(tests.glob(pattern)) if path.is_file())
    yield json.dumps({"model_path": "m", "internal_states": [{"api_key": "canary-key-1"}]}).encode()
