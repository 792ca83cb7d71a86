"""The six readings of a setting, in the order in which it travels.

Law: puts sources side by side and compares nothing. A source that was heard and has no line about settings
is Silent, not Absent: logging may be off or worded differently, and absence needs proof.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeVar

from pytest_dflash.engines.dialect import Dialect, Settings, Warning_
from pytest_dflash.facts.journal import Journal
from pytest_dflash.facts.procfs import Process
from pytest_dflash.facts.reading import Absent, Reading, Silent, Value
from pytest_dflash.facts.systemd import LoadedCommand, UnitFiles
from pytest_dflash.findings import Json
from pytest_dflash.witness import startup

T = TypeVar("T")

ASKED = ("unit_file", "loaded_unit", "process_argv")
"""The witnesses of what was asked for: nothing between them may rewrite a value."""
ANSWERED = ("server_args_log", "server_info", "draft_runner_log")
"""The engine's own words about what is in force."""
WITNESSES = ASKED + ANSWERED
"""In order of propagation. Source: CONTRACT section 5."""


@dataclass(frozen=True, slots=True)
class Sources:
    """Everything that can be asked about a setting.

    Attributes:
        unit: The unit's full name, with suffix.
        started: The process that has the manager's environment; None: it is the one that serves.
        config_files: Texts of files that the command line names (`--config FILE`), by path.
        drafter_config: The drafter's own config.json.
        version: The engine's version, where known.
        invocation_id: The invocation that runs now. Lines of another one are not heard.
    """

    unit: str
    unit_files: Reading[UnitFiles]
    loaded: Reading[LoadedCommand]
    process: Reading[Process]
    journal: Reading[Journal]
    info: Reading[Json]
    started: Reading[Process] | None = None
    config_files: Mapping[str, str] = field(default_factory=dict)
    drafter_config: Reading[Json] = field(default_factory=lambda: Silent("the drafter's config was not read"))
    version: str | None = None
    invocation_id: str | None = None

    @property
    def first(self) -> Reading[Process]:
        """The process that the manager started, or what that one became."""
        return self.started or self.process


@dataclass(frozen=True, slots=True)
class Witnessed:
    """What one witness says of one setting. `spelled`: the name under which it was found, where it differs."""

    witness: str
    reading: Reading[Json]
    spelled: str = ""


@dataclass(frozen=True)
class Chain:
    """The witnesses of one host, as one engine's dialect reads them."""

    sources: Sources
    dialect: Dialect

    def readings(self, setting: str) -> tuple[Witnessed, ...]:
        """What each witness that carries `setting` says of it, in order of propagation."""
        carriers = set(self.dialect.carriers(setting, self.context))
        return tuple(self._reading(name, setting) for name in WITNESSES if name in carriers)

    def settings(self) -> frozenset[str]:
        """Every setting that any witness names."""
        heard = (r.value.values for r in self.heard.values() if isinstance(r, Value))
        return frozenset(setting for values in heard for setting in values)

    @cached_property
    def heard(self) -> Mapping[str, Reading[Settings]]:
        """All settings by witness."""
        return {
            "unit_file": self._started(self._on_disk),
            "loaded_unit": self._started(self._loaded),
            "process_argv": self._process(),
            "server_args_log": self._logged(self.dialect.args_log, "line with the engine's arguments"),
            "server_info": self._info(),
            "draft_runner_log": self._logged(self.dialect.draft_runner, "line of the draft runner"),
        }

    @cached_property
    def context(self) -> Mapping[str, Json]:
        """The settings in force as far as known: what a legal rewrite may depend on."""
        known: dict[str, Json] = {}
        for name in (*ASKED, "server_args_log", "server_info"):
            reading = self.heard[name]
            if isinstance(reading, Value):
                known.update(reading.value.values)
        return known

    def warnings(self) -> Reading[Sequence[Warning_]]:
        """Lines of this invocation in which the engine says that it ignores or replaces a setting."""
        journal = self._journal()
        return (
            Value(tuple(self.dialect.warnings(journal.value)), "journal")
            if isinstance(journal, Value)
            else journal
        )

    def gap_in_start(self) -> Silent | None:
        """Why this invocation's start-up lines are not all there; None when they are. `where` names who is silent."""
        journal = self._journal()
        if isinstance(journal, Silent):
            return Silent(journal.why, "server_args_log")
        if not journal.value.reaches_start:
            return Silent(
                "the journal does not reach back to the start of this invocation", "server_args_log"
            )
        ready = self.dialect.ready_line(journal.value)
        if ready is None:
            return Silent("the start-up of this invocation is not over, by its log", "ready_line")
        # A log with a gap after the start is whole enough; every start prints its arguments, so their line tells.
        lost_at_start = journal.value.lost_before(ready) or not isinstance(
            self.dialect.args_log(journal.value), Value
        )
        if not journal.value.whole and lost_at_start:
            lost = journal.value.gap or "lines of this invocation are missing"
            return Silent(f"{lost}, and its start-up lines are among them", "server_args_log")
        return None

    def native_window(self) -> Reading[int]:
        """The window by the drafter's own config.json."""
        config = self.sources.drafter_config
        if isinstance(config, Value):
            return self.dialect.native_window(config.value, self.sources.version)
        return silenced(config, "the drafter has no config.json")

    def environment(self, variable: str) -> tuple[Witnessed, ...]:
        """What disk, manager and process say of an environment variable."""
        by_unit = (("unit_file", self._on_disk), ("loaded_unit", self._loaded))
        stated = tuple(
            Witnessed(name, unit.value.variable(variable) if isinstance(unit, Value) else unit)
            for name, unit in by_unit
        )
        return (*stated, Witnessed("process_argv", self._variable_of_process(variable)))

    @cached_property
    def _on_disk(self) -> Value[startup.Startup] | Silent:
        found = startup.on_disk(self.sources.unit_files, self.sources.unit)
        return silenced(found, "the unit has no file on disk")

    @cached_property
    def _loaded(self) -> Value[startup.Startup] | Silent:
        found = startup.loaded(self.sources.loaded, self.sources.unit_files)
        return silenced(found, "the manager holds no command of the unit")

    def _reading(self, witness: str, setting: str) -> Witnessed:
        heard = self.heard[witness]
        if not isinstance(heard, Value):
            return Witnessed(witness, silenced(heard, "it says nothing of settings"))
        settings, where = heard.value, heard.where or heard.value.where
        inner = settings.inside(setting)
        if inner:
            return Witnessed(witness, Value(inner, where))
        if setting not in settings.values:
            unread = "a file that it names could not be read, and may hold this setting"
            return Witnessed(witness, Absent(where) if settings.complete else Silent(unread, where))
        spelled = settings.spelled.get(setting, setting)
        value = settings.values[setting]
        if witness == "unit_file" and isinstance(self._on_disk, Value):
            where = self._on_disk.value.line(spelled)
            if specifier := self._on_disk.value.open_in(value):
                return Witnessed(witness, Silent(f"{specifier} is {startup.BY_HOST}", where), spelled)
        if spelled != setting:
            where = f"{where}, as {spelled}"
        return Witnessed(witness, Value(value, where), spelled)

    def _settings(self, argv: Sequence[str]) -> Settings:
        return self.dialect.from_argv(argv, self.sources.config_files, self.sources.version)

    def _started(self, unit: Value[startup.Startup] | Silent) -> Reading[Settings]:
        if isinstance(unit, Silent):
            return unit
        command = unit.value.command(self.dialect.runs)
        if isinstance(command, Absent):  # heard, and without any ExecStart: every flag is absent
            return Value(Settings({}, command.where, {}), command.where)
        return (
            Value(self._settings(command.value.argv), command.where)
            if isinstance(command, Value)
            else command
        )

    def _process(self) -> Reading[Settings]:
        process = self.sources.process
        if not isinstance(process, Value):
            return silenced(process, "no process of the unit runs the engine")
        pid, argv = process.value.pid, process.value.argv
        if not self.dialect.runs(argv):
            return Silent(
                f"pid {pid} runs {list(argv[:1])}, in which no command line of this engine is visible"
            )
        return Value(self._settings(argv), f"pid {pid}")

    def _journal(self) -> Value[Journal] | Silent:
        journal = silenced(self.sources.journal, "the invocation has no journal")
        current = self.sources.invocation_id
        if isinstance(journal, Value) and current and journal.value.invocation_id not in ("", current):
            return Silent(
                f"its lines are of invocation {journal.value.invocation_id[:8]}…, and {current[:8]}… runs now: "
                "they speak of another process"
            )
        return journal

    def _logged(self, read: Callable[[Journal], Reading[Settings]], what: str) -> Reading[Settings]:
        if isinstance(self.sources.process, Absent):
            return Silent("the process that wrote the log has ended: its lines say nothing of now")
        journal = self._journal()
        if isinstance(journal, Silent):
            return journal
        why = f"no {what} in the log of this invocation (its log level, or another wording?)"
        found = silenced(read(journal.value), why)
        if isinstance(found, Silent):
            return found
        return Value(
            found.value, f"journal, invocation {journal.value.invocation_id[:4]}…: {found.value.where}"
        )

    def _info(self) -> Reading[Settings]:
        info = silenced(self.sources.info, "the engine has no route that tells its settings")
        if isinstance(info, Silent):
            return info
        return silenced(self.dialect.from_info(info.value), "the engine's answer names no settings")

    def _variable_of_process(self, variable: str) -> Reading[Json]:
        process = silenced(self.sources.process, "no process of the unit runs the engine")
        if isinstance(process, Silent):
            return process
        where = f"pid {process.value.pid}"
        environ = silenced(process.value.environ, f"the environment of {where} could not be read")
        if isinstance(environ, Silent):
            return environ
        return Value(environ.value[variable], where) if variable in environ.value else Absent(where)


def silenced(reading: Reading[T], why: str) -> Value[T] | Silent:
    """The same reading, with an absent source as a silent one: a source that is not there proves nothing."""
    return Silent(why, reading.where) if isinstance(reading, Absent) else reading
