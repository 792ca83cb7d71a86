"""Which command of a line starts a server, and the words that it is given.

Law: engine-neutral and pure: Python's own options are looked through; what a server is called, its engine says.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from pytest_dflash.engines.command_line import Command, commands


@dataclass(frozen=True, slots=True)
class Program:
    """What a command runs, be it started by Python.

    Attributes:
        name: A file, or with `module` the dotted name after `python -m`.
        words: What it is given.
    """

    name: str
    words: tuple[str, ...]
    module: bool = False

    @property
    def base(self) -> str:
        """The name without its folders."""
        return PurePosixPath(self.name).name


@dataclass(frozen=True, slots=True)
class Launch:
    """A server's command, and the words after its name."""

    command: Command
    words: tuple[str, ...]

    def certain(self, words: Sequence[str]) -> bool:
        """Whether the server gets these words as they stand: no shell puts others in their place."""
        shell = any("expands" in note for note in self.command.notes)
        return not (shell and any("$" in word or "`" in word for word in words))


def launch(argv: Sequence[str], given: Callable[[Program], tuple[str, ...] | None]) -> Launch | None:
    """The first command that starts a server; None when none does.

    Args:
        argv: A command line, wrappers included.
        given: The server's words, where a program is the server.
    """
    for command in commands(argv):
        program = _program(command.argv)
        words = given(program) if program else None
        if words is not None:
            return Launch(command, words)
    return None


def _program(argv: tuple[str, ...]) -> Program | None:
    """What a command runs; None for Python code on the command line."""
    name, words = argv[0], argv[1:]
    if not re.match(r"(python|pypy)[\d.]*$", PurePosixPath(name).name):
        return Program(name, words)
    while words and words[0].startswith("-") and words[0] not in {"-m", "-c"}:
        words = words[2 if words[0] in {"-X", "-W"} else 1 :]
    module = words[:1] == ("-m",)
    words = words[1:] if module else words
    if not words or words[0] == "-c":
        return None
    return Program(words[0], words[1:], module)
