"""The stand-in manager's own reader of unit files: as much as a service's start needs.

Law: written for the rehearsal and for nothing else; those who judge the rehearsal have their own. It reads
what the rehearsal's files use and refuses what it does not know rather than guess.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

LISTS = ("Environment", "EnvironmentFile", "ExecStart", "ExecStartPre", "ExecStopPost")
_VARIABLE = re.compile(r"\$\{(\w+)\}")


@dataclass(frozen=True, slots=True)
class LoadedFile:
    """One file as it was when it was read."""

    path: str
    text: str
    mtime_ns: int


@dataclass(frozen=True, slots=True)
class Loaded:
    """The unit as read: a snapshot, whatever the disk says later."""

    fragment: LoadedFile | None
    drop_ins: tuple[LoadedFile, ...]
    settings: Mapping[str, tuple[str, ...]]
    masked: bool = False

    @property
    def load_state(self) -> str:
        """`loaded`, `not-found`, `masked` or `bad-setting`, as `systemctl show` says it."""
        if self.masked:
            return "masked"
        if self.fragment is None:
            return "not-found"
        return "loaded" if len(self.all("ExecStart")) == 1 else "bad-setting"

    def last(self, key: str, default: str = "") -> str:
        """The value that counts of a setting that holds one."""
        values = self.settings.get(key, ())
        return values[-1] if values else default

    def all(self, key: str) -> tuple[str, ...]:
        """All values of a setting that is a list; an empty assignment has emptied it."""
        return self.settings.get(key, ())

    def commands(self, environment: Mapping[str, str]) -> tuple[tuple[str, ...], ...]:
        """ExecStart as argument lists, `${NAME}` filled in."""
        return tuple(
            tuple(_expand(word, environment) for word in split(line)) for line in self.all("ExecStart")
        )

    def argument_lists(self) -> tuple[tuple[str, ...], ...]:
        """ExecStart as the bus shows it: split, nothing filled in."""
        return tuple(tuple(split(line)) for line in self.all("ExecStart"))

    def assignments(self) -> tuple[str, ...]:
        """Environment= as a list of NAME=VALUE."""
        return tuple(word for line in self.all("Environment") for word in split(line))

    def environment_files(self) -> tuple[tuple[str, bool], ...]:
        """EnvironmentFile= with whether it may be missing."""
        return tuple(
            (value.removeprefix("-"), value.startswith("-")) for value in self.all("EnvironmentFile")
        )


_ITEM = re.compile(
    r"""(?P<blank>\s+) | '(?P<single>(?:\\.|[^'\\])*)' | "(?P<double>(?:\\.|[^"\\])*)" | (?P<bare>(?:\\.|[^\s'"\\])+)""",
    re.VERBOSE | re.DOTALL,
)
_ESCAPE = re.compile(r"(?P<bytes>(?:\\x[0-9a-fA-F]{2})+)|\\(?P<letter>.)", re.DOTALL)
_LETTERS = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "s": " "}


def _unescaped(found: re.Match[str]) -> str:
    if found["bytes"]:
        return bytes.fromhex(found["bytes"].replace("\\x", "")).decode("utf-8", "replace")
    return _LETTERS.get(found["letter"], found["letter"])


def split(line: str) -> list[str]:
    """Words by systemd's quoting: its escapes count within both kinds of quotes; `%%` is a percent sign."""
    words: list[str] = []
    apart = True
    for item in _ITEM.finditer(line):
        if item["blank"]:
            apart = True
            continue
        text = next(each for each in (item["single"], item["double"], item["bare"]) if each is not None)
        text = _ESCAPE.sub(_unescaped, text).replace("%%", "%")
        if apart:
            words.append("")
        words[-1] += text
        apart = False
    return words


def _expand(word: str, environment: Mapping[str, str]) -> str:
    return _VARIABLE.sub(lambda found: environment.get(found[1], ""), word).replace("$$", "$")


def _assignments(text: str) -> list[tuple[str, str, str]]:
    """(section, key, value) with continued lines joined and comments left out."""
    found: list[tuple[str, str, str]] = []
    section, pending = "", ""
    for line in text.splitlines():
        if line.lstrip().startswith(("#", ";")):
            continue
        if line.endswith("\\"):
            pending += line[:-1] + " "
            continue
        whole, pending = (pending + line).strip(), ""
        if whole.startswith("["):
            section = whole.strip("[]")
        elif "=" in whole:
            key, value = whole.split("=", 1)
            found.append((section, key.strip(), value.strip()))
    return found


def template(unit: str) -> str:
    """The name of the file that all instances of `unit` share; its own for a unit that is no instance."""
    prefix, at, rest = unit.partition("@")
    return f"{prefix}@.{rest.rpartition('.')[2]}" if at else unit


def _drop_in_folders(search: Sequence[Path], unit: str) -> list[Path]:
    """The folders whose files are added to `unit`, its template's and the type's own (`service.d`) included."""
    names = dict.fromkeys((f"{unit}.d", f"{template(unit)}.d", f"{unit.rpartition('.')[2]}.d"))
    return [folder / name for folder in search for name in names]


def drop_in_paths(search: Sequence[Path], unit: str) -> list[Path]:
    """Drop-ins on disk in the order of their names; of equal names the earlier folder's counts."""
    chosen: dict[str, Path] = {}
    for folder in _drop_in_folders(search, unit):
        for path in sorted(folder.glob("*.conf")):
            chosen.setdefault(path.name, path)
    return [chosen[name] for name in sorted(chosen)]


def _read(path: Path) -> LoadedFile:
    return LoadedFile(str(path), path.read_text("utf-8", "replace"), path.stat().st_mtime_ns)


def load(search: Sequence[Path], unit: str) -> Loaded:
    """Reads `unit` from the first folder of `search` that has it, with its drop-ins."""
    places = (folder / name for name in dict.fromkeys((unit, template(unit))) for folder in search)
    path = next((place for place in places if place.is_symlink() or place.exists()), None)
    if path is None:
        return Loaded(None, (), {})
    if str(path.readlink() if path.is_symlink() else path) == "/dev/null":
        return Loaded(None, (), {}, masked=True)
    fragment = _read(path)
    drop_ins = tuple(_read(drop_in) for drop_in in drop_in_paths(search, unit))
    settings: dict[str, tuple[str, ...]] = {}
    for file in (fragment, *drop_ins):
        for _section, key, value in _assignments(_instantiated(file.text, unit)):
            kept = settings.get(key, ()) if key in LISTS and value else ()
            settings[key] = (*kept, value) if value else ()
    return Loaded(fragment, drop_ins, settings)


def _instantiated(text: str, unit: str) -> str:
    """The text with `%i` filled in."""
    instance = unit.partition("@")[2].rpartition(".")[0]
    return re.sub(r"%(.)", lambda found: instance if found[1] == "i" else found[0], text)


def environment_file(text: str) -> dict[str, str]:
    """NAME=VALUE lines; comments and blanks are skipped, quotes taken off."""
    pairs = [
        line.split("=", 1)
        for line in text.splitlines()
        if "=" in line and not line.lstrip().startswith(("#", ";"))
    ]
    return {name.strip(): value.strip().strip("\"'") for name, value in pairs}
