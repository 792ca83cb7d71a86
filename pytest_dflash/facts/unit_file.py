"""What a unit's files say together: the commands, the environment, every setting, each with its place.

Law: pure. Files come as `UnitFiles`, in the order in which systemd applies them; nothing is asked of a host.
Assignments to a list add up, an empty one resets the list, and the last file wins.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pytest_dflash.facts.environment_file import parse_environment_file
from pytest_dflash.facts.systemd import DiskFile, UnitFiles
from pytest_dflash.facts.unit_syntax import (
    BLANK,
    Assignment,
    Word,
    assignments,
    first_word,
    resolve,
    specifiers,
    words,
)

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
class Command:
    """One command of ExecStart=, as systemd would load it: specifiers resolved, variables not.

    Attributes:
        argv: With `@` its first element is the second word of the line.
        where: `path:line` of the assignment.
        raw: The assignment's value, lines joined.
        notes: What a reader should know: specifiers left alone, escapes that systemd does not know.
        lines: For each argument, the physical line that it stands on.
        executable: What is run, without the prefixes.
        prefixes: The characters of `-@:+!` before it.
    """

    argv: tuple[str, ...]
    where: str
    raw: str
    notes: tuple[str, ...] = ()
    lines: tuple[int, ...] = ()
    executable: str = ""
    prefixes: str = ""

    @property
    def path(self) -> str:
        """The file that the command stands in."""
        return self.where.rpartition(":")[0]

    def where_of(self, index: int) -> str:
        """`path:line` of one argument."""
        return f"{self.path}:{self.lines[index]}" if 0 <= index < len(self.lines) else self.where


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
    reader = _Reader({**specifiers(unit), **_of_host(files.specifiers)})
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
        read, complaint = _commands(assigned, path, self.table)
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


def _commands(assigned: Assignment, path: str, table: Mapping[str, str]) -> tuple[list[Command], str]:
    """The commands of one ExecStart= line, separated by a lone `;`, and what systemd refuses it for."""
    commands: list[Command] = []
    value, position = assigned.value, 0
    while position < len(value):
        taken, position = _until_semicolon(value, position)
        if not taken:
            break
        if taken[-1].broken:
            return commands, "a quote is not closed"
        prefixes, program = _prefixed(taken[0].text)
        executable, notes = _resolved(program, table)
        if not executable or ("/" in executable and not executable.startswith("/")):
            return (
                commands,
                "" if "-" in prefixes else f"{executable!r} is neither a name nor an absolute path",
            )
        arguments = taken[1:] if "@" in prefixes else taken
        argv: list[str] = []
        for word in arguments:
            text, more = _resolved(program if word is taken[0] else word.text, table)
            argv.append(text)
            notes += more if word is not taken[0] else []
            if word.strange_escape:
                notes.append(f"{word.text!r} holds an escape that systemd does not know; it is kept as it is")
        lines = tuple(assigned.line_at(word.offset) for word in arguments)
        where = f"{path}:{assigned.line}"
        commands.append(Command(tuple(argv), where, value, tuple(notes), lines, executable, prefixes))
    return commands, ""


def _prefixed(word: str) -> tuple[str, str]:
    """The prefixes of a program, each where systemd takes it, and the rest. Source: systemd.service(5)."""
    for index, letter in enumerate(word):
        before = word[:index]
        if letter in "-@:":
            taken = letter not in before
        else:
            taken = (letter == "+" and not set(before) & set("+!")) or (
                letter == "!" and "+" not in before and before.count("!") < 2
            )
        if not taken:
            return before, word[index:]
    return word, ""


def _until_semicolon(value: str, position: int) -> tuple[list[Word], int]:
    r"""The words of one command, and where the next one begins. `\;` as a word of its own is a plain `;`."""
    taken: list[Word] = []
    while position < len(value):
        if taken and value[position] == ";" and value[position + 1 : position + 2].strip(BLANK) == "":
            return taken, position + 1
        if (
            taken
            and value.startswith("\\;", position)
            and value[position + 2 : position + 3].strip(BLANK) == ""
        ):
            taken.append(Word(";", position))
            position += 2 + len(value[position + 2 : position + 3])
            continue
        word, position = first_word(value, position)
        if word is None:
            break
        taken.append(word)
        if word.broken:
            break
    return taken, position


def _resolved(text: str, table: Mapping[str, str]) -> tuple[str, list[str]]:
    resolved, unresolved = resolve(text, table)
    return resolved, [f"{specifier} is resolved by the host only" for specifier in unresolved]


def flag_line(files: UnitFiles, unit: str, needle: str) -> str | None:
    """Where a flag stands: `path:line` of the first argument that is `needle` or begins with `needle=`."""
    for command in effective(files, unit).exec_start:
        for index, argument in enumerate(command.argv):
            if argument == needle or argument.startswith(f"{needle}="):
                return command.where_of(index)
    return None


def expand(argv: Sequence[str], environment: Mapping[str, str]) -> tuple[str, ...]:
    """Arguments with variables put in, as systemd does it right before it starts the process.

    `$NAME` as a word of its own is split at blanks and may vanish; `${NAME}` anywhere is put in as it is;
    `$$` is a dollar; `$NAME` inside a longer word stays. Source: systemd.service(5), "Command lines".
    """
    expanded: list[str] = []
    for word in argv:
        if word.startswith("$") and word[1:2] not in {"{", "$"}:
            expanded += [part.text for part in words(environment.get(word[1:], "").replace("\\", "\\\\"))]
        else:
            expanded.append(_braced(word, environment))
    return tuple(expanded)


def _braced(word: str, environment: Mapping[str, str]) -> str:
    """One word with `${NAME}` and `$$` put in."""
    out, position = "", 0
    while (dollar := word.find("$", position)) >= 0:
        out += word[position:dollar]
        closing = word.find("}", dollar) if word.startswith("${", dollar) else -1
        if word.startswith("$$", dollar):
            out, position = out + "$", dollar + 2
        elif closing >= 0:
            out, position = out + environment.get(word[dollar + 2 : closing], ""), closing + 1
        else:
            out, position = out + "$", dollar + 1
    return out + word[position:]
