"""EnvironmentFile= by systemd's rules, which are not a shell's.

Law: text in, variables out. No `export`, no `$NAME`, no command substitution: systemd knows none of them.
Source: systemd.exec(5), and systemd's own reader where the page is silent.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_LINE_ENDS = "\n\r"
_SPACES = " \t\n\r"


def parse_environment_file(text: str) -> Mapping[str, str]:
    r"""Name to value. Lines that are no assignment, and names that no variable can have, are left out.

    `'…'` is literal; in `"…"` a backslash works on `"`, `\`, `` ` ``, `$` and the line's end; outside of
    quotes a backslash takes the next character as it is and joins lines. `#` and `;` open a comment only at
    the start of a line.
    """
    reader = _Reader()
    for letter in text.removeprefix("\ufeff"):
        reader.state(letter)
    reader.finish()
    return {name: value for name, value in reader.variables.items() if _NAME.match(name)}


class _Reader:
    """One pass over the text; each state is a method that takes the next character."""

    def __init__(self) -> None:
        self.variables: dict[str, str] = {}
        self.name = self.value = ""
        self.kept = 0  # how much of `value` must survive the stripping of trailing blanks
        self.state: Callable[[str], None] = self.before_name

    def begin(self) -> None:
        self.name = self.value = ""
        self.kept = 0
        self.state = self.before_name

    def finish(self) -> None:
        """The line is over: keep the assignment, if it is one."""
        if self.state not in {self.before_name, self.in_name, self.comment}:
            tail = self.value[self.kept :].rstrip(_SPACES)
            name = self.name.rstrip(_SPACES)
            self.variables.pop(name, None)
            self.variables[name] = self.value[: self.kept] + tail
        self.begin()

    def keep(self, text: str) -> None:
        self.value += text
        self.kept = len(self.value)

    def before_name(self, letter: str) -> None:
        if letter in "#;":
            self.state = self.comment
        elif letter not in _SPACES:
            self.name = letter
            self.state = self.in_name

    def comment(self, letter: str) -> None:
        if letter in _LINE_ENDS:
            self.begin()

    def in_name(self, letter: str) -> None:
        if letter in _LINE_ENDS:
            self.begin()
        elif letter == "=":
            self.state = self.before_value
        else:
            self.name += letter

    def before_value(self, letter: str) -> None:
        if letter in _LINE_ENDS:
            self.finish()
        elif letter == "'":
            self.state = self.single_quoted
        elif letter == '"':
            self.state = self.double_quoted
        elif letter == "\\":
            self.state = self.escaped
        elif letter not in _SPACES:
            self.value += letter
            self.state = self.in_value

    def in_value(self, letter: str) -> None:
        if letter in _LINE_ENDS:
            self.finish()
        elif letter == "\\":
            self.state = self.escaped
        else:
            self.value += letter

    def escaped(self, letter: str) -> None:
        self.state = self.in_value
        if letter not in _LINE_ENDS:
            self.keep(letter)

    def single_quoted(self, letter: str) -> None:
        if letter == "'":
            self.state = self.before_value
        else:
            self.keep(letter)

    def double_quoted(self, letter: str) -> None:
        if letter == '"':
            self.state = self.before_value
        elif letter == "\\":
            self.state = self.escaped_in_quotes
        else:
            self.keep(letter)

    def escaped_in_quotes(self, letter: str) -> None:
        self.state = self.double_quoted
        if letter in '"\\`$':
            self.keep(letter)
        elif letter != "\n":
            self.keep("\\" + letter)
