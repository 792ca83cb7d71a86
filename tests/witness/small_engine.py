"""A host whose six witnesses all say the same, and a dialect small enough to be read."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

from pytest_dflash.engines.dialect import Dialect, Route, Settings, Warning_
from pytest_dflash.facts.journal import Entry, Journal
from pytest_dflash.facts.procfs import Process
from pytest_dflash.facts.reading import Absent, Reading, Silent, Value
from pytest_dflash.facts.systemd import DiskFile, LoadedCommand, UnitFiles
from pytest_dflash.findings import Json
from pytest_dflash.witness.chain import WITNESSES, Chain, Sources

WINDOW = "draft-window"
UNIT = "engine.service"
PATH = f"/etc/systemd/system/{UNIT}"
NOW, BEFORE = "3f2c" + "0" * 28, "aaaa" + "1" * 28


@dataclass
class SmallDialect:
    """`engine --flag value`; log lines `args {…}` and `draft {…}` in JSON; `warn flag: text`; `ready`."""

    name: str = "small"
    window_setting: str = WINDOW
    budget_flag: str = "budget"
    budget_flag_offset: int = 0
    drafts_by_block: bool = False
    rewrites: Mapping[tuple[str, Json], Json] = field(default_factory=dict)
    in_draft: Sequence[str] = (WINDOW,)

    def runs(self, argv: Sequence[str]) -> bool:
        return any(word == "/opt/engine" or "/opt/engine " in word for word in argv)

    def setting(self, flag: str, version: str | None) -> str:
        return {"old-draft-window": WINDOW}.get(flag, flag)

    def from_argv(self, argv: Sequence[str], files: Mapping[str, str], version: str | None) -> Settings:
        words = [part for word in argv for part in word.split()]
        values: dict[str, Json] = {}
        spelled: dict[str, str] = {}
        for at, word in enumerate(words):
            if word.startswith("--"):
                flag, equals, given = word[2:].partition("=")
                following = words[at + 1] if at + 1 < len(words) else "--"
                values[self.setting(flag, version)] = (
                    given if equals else True if following.startswith("--") else following
                )
                spelled[self.setting(flag, version)] = flag
        return Settings(values, "argv", spelled, complete="config" not in values or bool(files))

    def default(self, setting: str) -> Reading[Json]:
        return Value(1) if setting == "tp-size" else Silent("not known")

    def _line(self, journal: Journal, word: str) -> Reading[Settings]:
        said = [entry.message for entry in journal.entries if entry.message.startswith(f"{word} ")]
        if not said:
            return Absent("journal") if journal.reaches_start else Silent("the start of the log is gone")
        return Value(Settings(json.loads(said[-1].partition(" ")[2]), "+11.4 s", {}))

    def args_log(self, journal: Journal) -> Reading[Settings]:
        return self._line(journal, "args")

    def draft_runner(self, journal: Journal) -> Reading[Settings]:
        return self._line(journal, "draft")

    def info_paths(self) -> Sequence[str]:
        return ("/info",)

    def from_info(self, document: Json) -> Reading[Settings]:
        if not isinstance(document, dict):
            return Silent("the answer is no object")
        return Value(Settings(document, "GET /info", {}))

    def version(self, document: Json) -> str | None:
        return None

    def carriers(self, setting: str, context: Mapping[str, Json] | None = None) -> Sequence[str]:
        return WITNESSES if setting in self.in_draft else WITNESSES[:5]

    def same(self, setting: str, left: Json, right: Json) -> bool:
        return str(left).lower() == str(right).lower()

    def is_rewrite(self, setting: str, asked: Json, found: Json, context: Mapping[str, Json]) -> bool:
        return (setting, asked) in self.rewrites and self.rewrites[setting, asked] == found

    def warnings(self, journal: Journal) -> Sequence[Warning_]:
        lines = (entry.message[5:] for entry in journal.entries if entry.message.startswith("warn "))
        return [
            Warning_(line.partition(":")[0] or None, line.partition(": ")[2], "journal, +20.0 s")
            for line in lines
        ]

    def ready_line(self, journal: Journal) -> str | None:
        return next((entry.message for entry in journal.entries if entry.message == "ready"), None)

    def progress(self, journal: Journal) -> str:
        return journal.entries[-1].message if journal.entries else ""

    def native_window(self, drafter_config: Json, version: str | None) -> Reading[int]:
        if not isinstance(drafter_config, dict):
            return Silent("the config is no object")
        own = drafter_config.get("sliding_window")
        return Value(own, "config.json: sliding_window") if isinstance(own, int) else Absent("config.json")

    def routes(self) -> tuple[Route, ...]:
        return ()

    def default_port(self) -> int:
        return 30000


def unit_text(command: str, *more: str) -> UnitFiles:
    """A unit file on disk that runs `command`."""
    lines = ("[Unit]", "Description=engine", "[Service]", *more, f"ExecStart={command}", "")
    return UnitFiles(DiskFile(PATH, "\n".join(lines)))


def log(*lines: str, invocation: str = NOW, reaches_start: bool = True) -> Journal:
    """A journal of one invocation."""
    entries = tuple(Entry(at, at, 4121, 6, line) for at, line in enumerate(lines))
    return Journal(invocation, entries, reaches_start, whole=True, start_monotonic_us=0)


def told(setting: str, value: Json) -> dict[str, Json]:
    """The settings of an engine that was told one."""
    return {"model": "/m", setting: value}


def process(*argv: str, environ: Reading[Mapping[str, str]] | None = None) -> Process:
    """The serving process."""
    return Process(4121, 1, argv, Value(argv[0]), environ or Value({}), 100, 0, f"/system.slice/{UNIT}", {})


def healthy(window: int | None = 2048) -> Sources:
    """All six witnesses agree on one window; None: nobody was asked for one."""
    flag = () if window is None else (f"--{WINDOW}", str(window))
    argv = ("/opt/engine", "--model", "/m", *flag)
    settings = told(WINDOW, window)
    return Sources(
        unit=UNIT,
        unit_files=Value(unit_text(" ".join(argv))),
        loaded=Value(LoadedCommand((argv,), {}, ())),
        process=Value(process(*argv)),
        journal=Value(log(f"args {json.dumps(settings)}", f"draft {json.dumps({WINDOW: window})}", "ready")),
        info=Value(dict(settings)),
        invocation_id=NOW,
    )


def chain_of(sources: Sources, small: SmallDialect | None = None, /, **changes: Any) -> Chain:
    """A chain over these sources with some of them replaced."""
    dialect = cast("Dialect", small or SmallDialect())  # it has what a chain asks for
    return Chain(replace(sources, **changes), dialect)
