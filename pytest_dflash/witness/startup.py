"""What the disk, and what the manager, would start: command lines and environment.

Law: systemd's precedence and nothing of engines. A file that could not be read leaves open what it may
have set; a variable from such a file is Silent, never empty.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

from pytest_dflash.facts import unit_file
from pytest_dflash.facts.reading import Absent, Reading, Silent, Value
from pytest_dflash.facts.systemd import LoadedCommand, UnitFiles

VARIABLE = re.compile(r"(?<!\$)\$(?:\{(\w+)\}|(\w+))")
MANAGER = "systemctl show"
BY_HOST = "resolved by the host only"
"""How `unit_file` notes a specifier that it left alone."""


@dataclass(frozen=True, slots=True)
class CommandLine:
    """One ExecStart, not yet expanded.

    Attributes:
        lines: Where each argument stands on disk, as path:line, where known.
        unresolved: Specifiers ("%h") that stand in it as they are, because only the host resolves them.
    """

    argv: tuple[str, ...]
    where: str
    lines: tuple[str, ...] = ()
    unresolved: tuple[str, ...] = ()

    def line(self, flag: str) -> str:
        """The place of a flag: the last argument that is it or holds it (`bash -lc '…'`), else the command's."""
        places = [at for word, at in zip(self.argv, self.lines, strict=False) if holds(word, flag)]
        return places[-1] if places else self.where


@dataclass(frozen=True, slots=True)
class Startup:
    """How the unit would be started, by one source.

    Attributes:
        environment: Environment=, overridden by the texts of EnvironmentFile=, each value with its place.
            Silent where only the host knows the value.
        unread: Environment files that could not be read.
    """

    commands: tuple[CommandLine, ...]
    environment: Mapping[str, Value[str] | Silent]
    where: str
    unread: tuple[str, ...] = ()

    def variable(self, name: str) -> Value[str] | Absent | Silent:
        """The value that the unit gives to a variable."""
        if self.unread:
            return Silent(f"{', '.join(self.unread)} could not be read and may set {name}", self.where)
        return self.environment.get(name, Absent(self.where))

    def command(self, runs: Callable[[Sequence[str]], bool]) -> Reading[CommandLine]:
        """The last command that `runs` recognises, expanded; Absent when there is no command at all."""
        if not self.commands:
            return Absent(self.where)
        environment = {name: each.value for name, each in self.environment.items() if isinstance(each, Value)}
        for command in reversed(self.commands):
            argv = tuple(unit_file.expand(command.argv, environment))
            if runs(argv):
                unknown = [name for name in variables(command.argv) if name not in environment]
                silent = next((at for at in map(self.variable, unknown) if isinstance(at, Silent)), None)
                if silent is not None:
                    return Silent(f"its command uses a variable: {silent.why}", command.where)
                return Value(replace(command, argv=argv, lines=()), command.where)
        return Silent(
            f"it runs {self.commands[-1].argv[:1]}, in which no command line of this engine is visible",
            self.where,
        )

    def line(self, flag: str) -> str:
        """Where a flag stands, in the last command that holds it."""
        for command in reversed(self.commands):
            if any(holds(word, flag) for word in command.argv):
                return command.line(flag)
        return self.where

    def open_in(self, value: object) -> str:
        """The first unresolved specifier in a value, "" when it is certain."""
        specifiers = [each for command in self.commands for each in command.unresolved]
        return next((each for each in specifiers if isinstance(value, str) and each in value), "")


def not_found(files: UnitFiles) -> bool:
    """Whether nobody told where the unit's files are, so that none was read, its environment files neither."""
    return files.fragment is None and not files.drop_ins


def on_disk(files: Reading[UnitFiles], unit: str) -> Reading[Startup]:
    """What the unit file and its drop-ins on disk say, loaded or not."""
    if not isinstance(files, Value):
        return files
    if not_found(files.value):
        return Silent("the unit has no file on disk", files.where)
    found = unit_file.effective(files.value, unit)
    paths = found.environment_files
    own = [path for path in files.value.unreadable if not named(path, paths)]
    if own:
        return Silent(f"{own[0]} could not be read and may change the unit", own[0])
    stated: dict[str, Value[str] | Silent] = {
        name: Silent(f"{name} has a specifier that {BY_HOST}", each.where)
        if any(note.endswith(f" in {name} is {BY_HOST}") for note in found.notes)
        else Value(each.value, each.where)
        for name, each in found.environment.items()
    }
    commands = tuple(
        CommandLine(
            each.argv,
            each.where,
            tuple(map(each.where_of, range(len(each.argv)))),
            tuple(note.split()[0] for note in each.notes if note.endswith(BY_HOST)),
        )
        for each in found.exec_start
    )
    where = commands[-1].where if commands else (files.value.fragment or files.value.drop_ins[-1]).path
    return Value(Startup(commands, stated | from_files(files, paths), where, unread(files, paths)), where)


def loaded(command: Reading[LoadedCommand], files: Reading[UnitFiles]) -> Reading[Startup]:
    """What the manager holds. It keeps only the names of environment files: their texts are those on disk."""
    if not isinstance(command, Value):
        return command
    held = command.value
    paths = held.environment_files
    stated: dict[str, Value[str] | Silent] = {
        name: Value(value, MANAGER) for name, value in held.environment.items()
    }
    as_on_disk = {
        name: Value(read.value, f"{read.where}, as on disk")
        for name, read in from_files(files, paths).items()
    }
    commands = tuple(CommandLine(argv, MANAGER) for argv in held.exec_start)
    return Value(Startup(commands, stated | as_on_disk, MANAGER, unread(files, paths)), MANAGER)


def from_files(files: Reading[UnitFiles], paths: Sequence[str]) -> dict[str, Value[str]]:
    """The variables of the environment files named by `paths` (patterns are allowed); a later file wins."""
    read = files.value.environment_files if isinstance(files, Value) else ()
    return {
        name: Value(value, each.path)
        for path in paths
        for each in sorted(read, key=lambda file: file.path)
        if named(each.path, (path,))
        for name, value in unit_file.parse_environment_file(each.text).items()
    }


def unread(files: Reading[UnitFiles], paths: Sequence[str]) -> tuple[str, ...]:
    """Those of the environment files named by `paths` that may hold variables and could not be read."""
    if not isinstance(files, Value) or not_found(files.value):
        return tuple(paths)
    return tuple(path for path in files.value.unreadable if named(path, paths))


def named(path: str, patterns: Sequence[str]) -> bool:
    """Whether EnvironmentFile= names this file, by its path or by a pattern."""
    return any(path == pattern or fnmatchcase(path, pattern) for pattern in patterns)


def variables(argv: Sequence[str]) -> list[str]:
    """The names of the variables that a command line uses."""
    return [braced or bare for word in argv for braced, bare in VARIABLE.findall(word)]


def holds(argument: str, flag: str) -> bool:
    """Whether an argument is this flag, `--flag=value` included, or a shell command that contains it."""
    return re.search(rf"(?<![\w-])--{re.escape(flag)}(?![\w-])", argument.replace("_", "-")) is not None
