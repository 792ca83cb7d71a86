"""What a unit's files say together: the commands, the environment, every setting, each with its place.

Law: pure. Files come as `UnitFiles`, in the order in which systemd applies them; nothing is asked of a host.
Assignments to a list add up, an empty one resets the list, and the last file wins.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pytest_dflash.facts.environment_file import parse_environment_file
from pytest_dflash.facts.exec_start import Command, commands, expand
from pytest_dflash.facts.systemd import DiskFile, UnitFiles
from pytest_dflash.facts.unit_syntax import Assignment, assignments, resolve, specifiers, words

__all__ = [
    "Command",
    "EffectiveUnit",
    "Located",
    "effective",
    "expand",
    "flag_line",
    "parse_environment_file",
]


@dataclass(frozen=True, slots=True)
class Located:
    """A value and the place that it comes from, `path:line`."""

    value: str
    where: str


@dataclass(frozen=True, slots=True)
class EffectiveUnit:
    """What the files on disk come to; the next start after a daemon-reload would use it.

    Attributes:
        exec_start: In order. None at all, or several, are refused by systemd for anything but Type=oneshot.
        environment: By Environment= alone; the files of `environment_files` override it.
        environment_files: Paths in order, the optional `-` taken off; a later file overrides an earlier one.
        settings: Section and key to every assignment since the last reset.
        notes: Lines that systemd would ignore, with their places.
    """

    exec_start: tuple[Command, ...]
    environment: Mapping[str, Located]
    environment_files: tuple[str, ...]
    settings: Mapping[tuple[str, str], tuple[Located, ...]]
    notes: tuple[str, ...] = ()


def effective(files: UnitFiles, unit: str) -> EffectiveUnit:
    """The unit as its files on disk define it.

    Args:
        files: The unit file and the drop-ins, in the order in which they apply.
        unit: The unit's full name; specifiers such as %i come from it.
    """
    reader = _Reader({**specifiers(unit, by_user=files.by_user), **_of_host(files.specifiers)})
    for path, assigned in _assigned(files):
        if not reader.take(path, assigned):
            break
    return EffectiveUnit(
        tuple(reader.commands),
        reader.environment,
        tuple(reader.environment_files),
        reader.settings,
        tuple(reader.notes),
    )


class _Reader:
    """Takes one assignment after the other."""

    def __init__(self, table: Mapping[str, str]) -> None:
        self.table = table
        self.settings: dict[tuple[str, str], tuple[Located, ...]] = {}
        self.commands: list[Command] = []
        self.environment: dict[str, Located] = {}
        self.environment_files: list[str] = []
        self.notes: list[str] = []

    def take(self, path: str, assigned: Assignment) -> bool:
        """Puts one assignment to what is known; False where systemd refuses the unit and reads no further."""
        where = f"{path}:{assigned.line}"
        slot = (assigned.section, assigned.key)
        known = self.settings.get(slot, ())
        self.settings[slot] = (*known, Located(assigned.value, where)) if assigned.value else ()
        match slot:
            case ("Service", "ExecStart"):
                return self.take_command(path, assigned)
            case ("Service", "Environment"):
                self.take_environment(path, assigned)
            case ("Service", "EnvironmentFile") if assigned.value:
                self.environment_files.append(resolve(assigned.value.removeprefix("-"), self.table)[0])
            case ("Service", "EnvironmentFile"):
                self.environment_files.clear()
            case _:
                pass
        return True

    def take_command(self, path: str, assigned: Assignment) -> bool:
        if not assigned.value:
            self.commands.clear()
        read, complaint = commands(assigned, path, self.table)
        self.commands += read
        if complaint:
            self.notes.append(f"{path}:{assigned.line}: {complaint}, systemd refuses the unit")
        return not complaint

    def take_environment(self, path: str, assigned: Assignment) -> None:
        if not assigned.value:
            self.environment.clear()
        for word in words(assigned.value):
            where = f"{path}:{assigned.line_at(word.offset)}"
            if word.strange_escape:
                self.notes.append(f"{where}: an escape that systemd does not know, it ignores the rest")
                break
            text, unresolved = resolve(word.text, self.table)
            name, equals, value = text.partition("=")
            self.notes += [f"{where}: {each} in {name} is resolved by the host only" for each in unresolved]
            if equals:
                self.environment[name] = Located(value, where)
            else:
                self.notes.append(f"{where}: {word.text!r} is no assignment, systemd ignores it")


def _of_host(told: Mapping[str, str]) -> dict[str, str]:
    """The specifiers that the host told, and %l, the host's name up to its first dot."""
    return {**told, "l": told["H"].partition(".")[0]} if "H" in told else dict(told)


def _assigned(files: UnitFiles) -> Iterator[tuple[str, Assignment]]:
    ordered: tuple[DiskFile, ...] = (*((files.fragment,) if files.fragment else ()), *files.drop_ins)
    for file in ordered:
        for assigned in assignments(file.text):
            yield file.path, assigned


def flag_line(files: UnitFiles, unit: str, needle: str) -> str | None:
    """Where a flag stands: `path:line` of the first argument that is `needle` or begins with `needle=`."""
    for command in effective(files, unit).exec_start:
        for index, argument in enumerate(command.argv):
            if argument == needle or argument.startswith(f"{needle}="):
                return command.where_of(index)
    return None
