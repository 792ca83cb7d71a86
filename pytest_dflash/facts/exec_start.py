"""ExecStart=: from a line to argument lists, and from these to what a process is started with.

Law: pure text. Which line counts is `unit_file`'s to know. Source: systemd.service(5), "Command lines".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pytest_dflash.facts.unit_syntax import BLANK, Assignment, Word, first_word, resolve, split_variable


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


def commands(assigned: Assignment, path: str, table: Mapping[str, str]) -> tuple[list[Command], str]:
    """The commands of one ExecStart= line, and what systemd refuses the line for; empty when it does not.

    Args:
        assigned: The assignment; commands in it are separated by a lone `;`.
        path: The file that it stands in.
        table: The specifiers that are known.
    """
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


def expand(argv: Sequence[str], environment: Mapping[str, str]) -> tuple[str, ...]:
    """Arguments with variables put in, as systemd does it right before it starts the process.

    `$NAME` as a word of its own is split at blanks and may vanish; `${NAME}` anywhere is put in as it is;
    `$$` is a dollar; `$NAME` inside a longer word stays, and so does a shell's `${NAME:-default}`.
    Seen on systemd 252; source: systemd.service(5), "Command lines".
    """
    expanded: list[str] = []
    for word in argv:
        if word.startswith("$") and word[1:2] not in {"{", "$"}:
            expanded += split_variable(environment.get(word[1:], ""))
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
        elif closing >= 0 and ":" not in word[dollar:closing]:
            out, position = out + environment.get(word[dollar + 2 : closing], ""), closing + 1
        else:
            out, position = out + "$", dollar + 1
    return out + word[position:]
