"""The grammar of systemd's files: assignments, words, specifiers, environment files.

Law: text in, text out. What a setting means is `unit_file`'s to know. Sources: systemd.syntax(7),
systemd.unit(5) and systemd.exec(5), and where they are silent, systemd 252's own readers. Total: what
systemd would ignore is ignored here.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

BLANK = " \t\n\r"


@dataclass(frozen=True, slots=True)
class Assignment:
    """One KEY=VALUE, its continued lines joined.

    Attributes:
        line: The physical line of the key, from 1.
        joints: For each physical line of the value, the offset in `value` at which it begins, and its number.
    """

    section: str
    key: str
    value: str
    line: int
    joints: tuple[tuple[int, int], ...] = ()

    def line_at(self, offset: int) -> int:
        """The physical line of the character at `offset` of the value."""
        index = bisect_right(self.joints, (offset, float("inf"))) - 1
        return self.joints[index][1] if index >= 0 else self.line


@dataclass(frozen=True, slots=True)
class Word:
    """One word of a value: unquoted, unescaped. `broken`: a quote was not closed; systemd drops the line."""

    text: str
    offset: int
    strange_escape: bool = False
    broken: bool = False


def assignments(text: str) -> Iterator[Assignment]:
    """Every assignment of a unit file that stands in a section, in order.

    A section header without its `]` ends the file: systemd 252 reads no further.
    """
    section = ""
    for logical, joints in _logical_lines(text.removeprefix("\ufeff")):
        stripped = logical.strip(BLANK)
        if stripped.startswith("["):
            if not stripped.endswith("]"):
                return
            section = stripped[1:-1]
            continue
        key, equals, rest = logical.partition("=")
        if not equals or not section:
            continue
        value = rest.strip(BLANK)
        shift = len(key) + 1 + len(rest) - len(rest.lstrip(BLANK))
        moved = tuple((max(0, offset - shift), line) for offset, line in joints)
        yield Assignment(section, key.strip(BLANK), value, joints[0][1], moved)


def _logical_lines(text: str) -> Iterator[tuple[str, tuple[tuple[int, int], ...]]]:
    """Lines with their continuations joined by a blank; a comment inside a continuation is skipped."""
    joined = ""
    joints: list[tuple[int, int]] = []
    for number, physical in enumerate(re.split(r"\r\n|[\r\n]", text), 1):
        if physical.lstrip(BLANK)[:1] in {"#", ";"}:
            continue
        joints.append((len(joined), number))
        backslashes = len(physical) - len(physical.rstrip("\\"))
        if backslashes % 2:
            joined += physical[:-1] + " "
            continue
        yield joined + physical, tuple(joints)
        joined, joints = "", []
    if joints:
        yield joined, tuple(joints)


_ESCAPES = {
    "a": "\a",
    "b": "\b",
    "f": "\f",
    "n": "\n",
    "r": "\r",
    "t": "\t",
    "v": "\v",
    "\\": "\\",
    '"': '"',
    "'": "'",
    "s": " ",
}
_CODES = re.compile(r"x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-3][0-7]{2})")


def _unescape(value: str, position: int) -> tuple[bytes, int] | None:
    """What the escape after a backslash at `position` stands for, and its length; None when it is unknown."""
    letter = value[position : position + 1]
    if letter in _ESCAPES and letter:
        return _ESCAPES[letter].encode(), 1
    match = _CODES.match(value, position)
    if match is None:
        return None
    octal = match[4] is not None
    code = int(match[match.lastindex or 0], 8 if octal else 16)
    if code == 0 or code > 0x10FFFF or 0xD800 <= code <= 0xDFFF:
        return None
    is_byte = octal or match[1] is not None
    return bytes([code]) if is_byte else chr(code).encode(), len(match[0])


def _taken(value: str, position: int) -> tuple[bytes, int]:
    letter = value[position : position + 1]
    return letter.encode("utf-8", "replace"), len(letter)


def first_word(value: str, position: int, *, escapes: bool = True) -> tuple[Word | None, int]:
    """The word at or after `position`, by systemd's quoting, and where the next one may begin.

    Without `escapes` a backslash takes the next character as it is.
    """
    start = _after_blanks(value, position)
    if start >= len(value):
        return None, start
    position, quote, strange = start, "", False
    word = bytearray()
    while position < len(value) and (quote or value[position] not in BLANK):
        letter = value[position]
        position += 1
        if letter == "\\":
            known = _unescape(value, position) if escapes else _taken(value, position)
            strange = strange or known is None
            taken, length = known or (b"\\", 0)
            word += taken
            position += length
        elif letter == quote:
            quote = ""
        elif not quote and letter in "\"'":
            quote = letter
        else:
            word += letter.encode("utf-8", "replace")
    text = word.decode("utf-8", "replace")
    return Word(text, start, strange, bool(quote)), _after_blanks(value, position)


def _after_blanks(value: str, position: int) -> int:
    while position < len(value) and value[position] in BLANK:
        position += 1
    return position


def words(value: str) -> Iterator[Word]:
    """All words of a value; ends before a broken one, as systemd does."""
    word, position = first_word(value, 0)
    while word is not None and not word.broken:
        yield word
        word, position = first_word(value, position)


def split_variable(value: str) -> Iterator[str]:
    """The words of a variable's value, as `$NAME` is split: quotes are taken off, an open one is forgiven."""
    word, position = first_word(value, 0, escapes=False)
    while word is not None:
        yield word.text
        word, position = first_word(value, position, escapes=False)


def unescape_name(text: str) -> str:
    r"""A unit name's part as a path: `-` is `/`, `\x2d` is the character. Source: systemd-escape(1)."""
    decoded = re.sub(r"\\x([0-9a-fA-F]{2})", lambda found: chr(int(found[1], 16)), text.replace("-", "/"))
    return (
        decoded.encode("latin-1", "replace").decode("utf-8", "replace")
        if decoded.isascii() is False
        else decoded
    )


SYSTEM: Mapping[str, str] = {
    "t": "/run",
    "S": "/var/lib",
    "C": "/var/cache",
    "L": "/var/log",
    "E": "/etc",
    "T": "/tmp",  # noqa: S108 - what the specifier stands for, not a file of ours
    "V": "/var/tmp",  # noqa: S108 - as above
    "h": "/root",
    "u": "root",
    "U": "0",
    "g": "root",
    "G": "0",
}
"""What the system's manager makes of them; to a user's own they mean other things (`user_specifiers`)."""


def specifiers(unit: str, *, by_user: bool = False) -> Mapping[str, str]:
    """The specifiers that a unit's name determines, and those of the system manager. Source: systemd.unit(5)."""
    name, _, _ = unit.rpartition(".")
    prefix, _, instance = name.partition("@")
    last = prefix.rpartition("-")[2]
    return {
        "%": "%",
        "n": unit,
        "N": name,
        "p": prefix,
        "P": unescape_name(prefix),
        "i": instance,
        "I": unescape_name(instance),
        "j": last,
        "J": unescape_name(last),
        "f": "/" + unescape_name(instance or prefix).lstrip("/"),
        **({} if by_user else {**SYSTEM, "d": f"/run/credentials/{unit}"}),
    }


def resolve(text: str, table: Mapping[str, str]) -> tuple[str, tuple[str, ...]]:
    """Text with its specifiers resolved, and those that only the host could resolve, which are kept."""
    unresolved: list[str] = []

    def stand_in(found: re.Match[str]) -> str:
        if found[1] in table:
            return table[found[1]]
        unresolved.append(found[0])
        return found[0]

    return re.sub(r"%([A-Za-z%])", stand_in, text), tuple(unresolved)
