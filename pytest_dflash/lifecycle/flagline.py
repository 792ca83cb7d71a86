"""Flags of a loaded command changed, as the text of a new ExecStart=.

Law: pure. The command is the one that manager and disk agree about; what cannot be rewritten with certainty is
refused with the reason. Every word keeps its text: `$VAR`, `${VAR}` and whatever a wrapper was given.
Source: systemd.service(5), "Command lines"; systemd.syntax(7), "Quoting".
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from pytest_dflash.engines.command_line import commands
from pytest_dflash.engines.dialect import Dialect
from pytest_dflash.errors import Refused
from pytest_dflash.facts.exec_start import Command
from pytest_dflash.facts.systemd import LoadedCommand, UnitFiles
from pytest_dflash.facts.unit_file import effective

Change: TypeAlias = "str | int | float | bool | None"
Changes: TypeAlias = Mapping[str, Change]
"""Flag, without dashes, to its new value. True: a bare switch. None or False: taken out."""

_TOKEN = re.compile(r"""(?:\\.|"(?:\\.|[^"\\])*"|'[^']*'|[^\s"'\\])+""", re.DOTALL)
_BETWEEN = re.compile(r"(\s*(?:&&|;|\n)\s*)")
_UNCERTAIN = re.compile(r"\$\(|[|`<>(){}]|(?<!&)&(?!&)")
"""What makes a shell's script more than commands one after the other: pipes, substitutions, redirections, groups."""
_FLAG = re.compile(r"--|-[A-Za-z]")
"""How a flag begins, long or short; a negative number is a value."""
_SPLIT = re.compile(r"\$\w+")
"""A variable as a word of its own: split at blanks, so that it may hold any number of words."""
_ESCAPED = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}


def loaded_command(files: UnitFiles, loaded: LoadedCommand, unit: str) -> Command:
    """The one command that disk and manager agree about.

    Raises:
        Refused: There is none, or several, or the two differ, or not all files could be read.
    """
    if files.unreadable:
        raise Refused(
            f"the command of {unit} is not certain: {files.unreadable[0]} cannot be read by this user"
        )
    if len(loaded.exec_start) != 1:
        raise Refused(
            f"{unit} has {len(loaded.exec_start)} ExecStart= commands; only one can be changed with certainty"
        )
    on_disk = effective(files, unit).exec_start
    if [command.argv for command in on_disk] != list(loaded.exec_start):
        raise Refused(
            f"the files of {unit} say another command than the manager holds; "
            f"run `systemctl daemon-reload`, see what the unit then does, and start again"
        )
    return on_disk[0]


def rewritten(command: Command, changes: Changes, dialect: Dialect, version: str | None = None) -> Command:
    """The command with its flags changed.

    Args:
        command: As `loaded_command` gives it.
        changes: What is to be different.
        dialect: Knows where the engine's own words begin, and under which names it takes a flag.
        version: The engine's, when known.

    Raises:
        Refused: Where the result would not be certain; the message says why.
    """
    line = _Line(dialect, version, expands=":" not in command.prefixes)
    argv = line.change(command.argv, changes)
    before = dialect.from_argv(command.argv, {}, version).values
    after = dialect.from_argv(argv, {}, version).values
    names = {dialect.setting(name, version) for name in changes}
    others = sorted(
        name
        for name in before.keys() | after.keys()
        if name not in names and before.get(name) != after.get(name)
    )
    if others:
        raise Refused(f"changing {', '.join(sorted(names))} would move {', '.join(others)} too")
    return replace(command, argv=argv)


def exec_start(command: Command) -> str:
    """The value of an ExecStart= that loads as this command: prefixes, quotes, `%%`."""
    words = list(command.argv)
    first = [command.executable, *words] if "@" in command.prefixes else [command.executable, *words[1:]]
    head, *rest = (quoted(word) for word in first)
    inside = len(head) - len(head.lstrip('"'))  # a prefix stands inside of the quotes
    return " ".join([head[:inside] + command.prefixes + head[inside:], *rest])


def quoted(word: str) -> str:
    """A word as systemd reads it back: specifiers escaped, variables as they are."""
    text = "".join(
        _ESCAPED.get(letter) or (letter if letter.isprintable() or ord(letter) > 0x9F else _coded(letter))
        for letter in word
    ).replace("%", "%%")
    plain = word and word != ";" and not re.search(r"[\s'\"\\]", word) and text.replace("%%", "%") == word
    return text if plain else f'"{text}"'


def _coded(letter: str) -> str:
    return "".join(f"\\x{byte:02x}" for byte in letter.encode("utf-8", "replace"))


@dataclass(frozen=True, slots=True)
class _Line:
    """Changes the words of one command line. `expands`: systemd puts variables in."""

    dialect: Dialect
    version: str | None
    expands: bool

    def change(self, argv: Sequence[str], changes: Changes) -> tuple[str, ...]:
        found = [each for each in commands(argv) if self.dialect.runs(each.argv)]
        if len(found) != 1:
            raise Refused(
                f"the command starts the engine {len(found)} times as far as can be seen: {shlex.join(argv)}"
            )
        inner = found[0].argv
        size = len(inner) if tuple(argv[-len(inner) :]) == inner else len(inner) - 1
        if size and tuple(argv[-size:]) == inner[-size:]:
            begin = len(argv) - size
            return (*argv[:begin], *self.edited(argv[begin:], argv[begin:], changes, self.word))
        scripts = [at for at, word in enumerate(argv) if self.dialect.runs(("sh", "-c", word))]
        if len(scripts) != 1:
            raise Refused(f"where the engine's own words begin is not certain: {shlex.join(argv)}")
        at = scripts[0]
        return (*argv[:at], self.in_script(argv[at], changes), *argv[at + 1 :])

    def word(self, text: str) -> str:
        return text.replace("$", "$$") if self.expands else text

    def in_script(self, script: str, changes: Changes) -> str:
        script = script.replace("\\\n", " ")
        odd = _UNCERTAIN.search(re.sub(r"\$\{\w+\}", "", script))
        if odd:
            raise Refused(
                f"a flag inside of a shell's script with `{odd[0]}` cannot be changed with certainty: {script}"
            )
        parts = _BETWEEN.split(script)
        mine = [at for at, part in enumerate(parts) if self.dialect.runs(("sh", "-c", part))]
        if len(mine) != 1:
            raise Refused(f"which command of a shell's script starts the engine is not certain: {script}")
        raw = _TOKEN.findall(parts[mine[0]])
        try:
            words = [" ".join(shlex.split(token)) for token in raw]
        except ValueError:
            raise Refused(f"a quote of a shell's script is not closed: {script}") from None
        changed = self.edited(words, raw, changes, lambda text: self.word(shlex.quote(text)))
        parts[mine[0]] = " ".join(changed)
        return "".join(parts)

    def edited(
        self, words: Sequence[str], raw: Sequence[str], changes: Changes, spell: Callable[[str], str]
    ) -> list[str]:
        """The raw words without the changed flags, and their new values at the end, where they win."""
        wanted = {self.dialect.setting(name, self.version): (name, value) for name, value in changes.items()}
        kept: list[str] = []
        spelled: dict[str, str] = {}
        at = 0
        while at < len(words):
            name, equals, text = words[at].removeprefix("--").partition("=")
            setting = self.dialect.setting(name, self.version)
            inside = {key: wanted[key] for key in wanted if key.startswith(f"{setting}.")}
            if inside and words[at].startswith("--"):
                document = text if equals else next(iter(words[at + 1 : at + 2]), "")
                kept += [f"--{name}", spell(_keyed(document, setting, inside))]
                wanted = {key: change for key, change in wanted.items() if key not in inside}
                at += 1 if equals else 2
                continue
            if not _FLAG.match(words[at]) or setting not in wanted:
                kept.append(raw[at])
                at += 1
                continue
            values = [text] if equals else _values(words[at + 1 :])
            flag = words[at].partition("=")[0]
            if len(values) > 1:
                raise Refused(
                    f"{flag} is followed by several words; which of them are its value is not certain"
                )
            if any("$" in value or "`" in value for value in values):
                raise Refused(
                    f"{flag} has its value from a variable ({values[0]}); change the variable instead"
                )
            spelled[setting] = flag
            at += 1 if equals else 1 + len(values)
        for setting, (name, value) in wanted.items():
            if value is None or value is False:
                hidden = next((word for word in words if _SPLIT.fullmatch(word)), None)
                if hidden:
                    raise Refused(f"--{name} cannot be taken out with certainty: {hidden} may hold it too")
                continue
            kept.append(spelled.get(setting, f"--{name}"))
            if value is not True:
                kept.append(spell(str(value)))
        return kept


def _keyed(text: str, setting: str, changes: Mapping[str, tuple[str, Change]]) -> str:
    """JSON with some of its keys changed, the first level only; None takes a key out."""
    try:
        document = json.loads(text)
    except ValueError:
        document = None
    if not isinstance(document, dict):
        raise Refused(f"--{setting} is no JSON object whose keys could be changed: {text}")
    for name, (_, value) in changes.items():
        key = name.removeprefix(f"{setting}.")
        if "." in key:
            raise Refused(f"{name} lies deeper in the JSON of --{setting} than is changed with certainty")
        document.pop(key.replace("_", "-"), None)
        document[key] = value
    return json.dumps({key: value for key, value in document.items() if value is not None})


def _values(words: Sequence[str]) -> list[str]:
    """The words that belong to a flag: up to the next one, or to a variable that may hold the next one."""
    values: list[str] = []
    for word in words:
        if _FLAG.match(word) or (values and _SPLIT.fullmatch(word)):
            break
        values.append(word)
    return values
