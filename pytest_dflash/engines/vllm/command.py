"""vLLM's command line as settings, the way its own parser reads it.

Law: words in, settings out; a flag that no table knows (a fork's, a plugin's) is kept under its own name.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence

from pytest_dflash.engines.config_file import merged
from pytest_dflash.engines.dialect import Settings
from pytest_dflash.engines.launch import Launch, Program, launch
from pytest_dflash.engines.literals import plain
from pytest_dflash.engines.vllm import flags, json_flags
from pytest_dflash.engines.words import document, real, typed
from pytest_dflash.findings import Json

_SERVERS = re.compile(r"vllm\.entrypoints\.(?:openai\.)?api_server")
_CLI = re.compile(r"vllm(?:\.entrypoints\.cli\.main|\.scripts)?")
_SIZES = {"k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
_TEXT = frozenset({"str"})


def entry(argv: Sequence[str]) -> Launch | None:
    """The command that starts the server, with the words after `serve` or the module; None when none does."""
    return launch(argv, _given)


def _given(program: Program) -> tuple[str, ...] | None:
    name, words = program.name, program.words
    if _SERVERS.fullmatch(name) if program.module else name.endswith("entrypoints/openai/api_server.py"):
        return words
    serving = _CLI.fullmatch(name) if program.module else program.base == "vllm"
    return words[1:] if serving and words[:1] == ("serve",) else None


def settings(argv: Sequence[str], files: Mapping[str, str], version: str | None) -> Settings:  # noqa: ARG001 - the seam's
    """The settings of a command line that starts the server.

    Args:
        argv: As the kernel or systemd holds it, wrappers included.
        files: Text by path of the files that it may name (`--config FILE`).
        version: Not needed: no spelling changed its meaning between versions.

    Returns:
        Settings by name, keys of JSON flags each by themselves. Not complete when a --config file was not given
        or could not be read, when a shell expands variables in the line, or when the line starts no server.
    """
    found = entry(argv)
    if found is None:
        return Settings({}, "no vLLM server in this command line", {}, complete=False)
    line = merged(
        found.words, files, _words_of, leads=lambda word: not _is_flag(word)
    )  # the model stays in front
    values, spelled = _Line().read(line.words)
    return Settings(values, line.where, spelled, line.complete and found.certain(line.words))


def _words_of(key: str, value: object) -> list[str]:
    if isinstance(value, bool):
        flag = flags.spelled(f"--{key}")
        return [f"--{key}"] if value else [f"--no-{key}"] if flag and flag.kind == "toggle" else []
    if isinstance(value, list):
        return [f"--{key}", *map(str, value)] if value else []
    if isinstance(value, dict):
        return [f"--{key}", json.dumps(plain(value))]
    return [f"--{key}={value}"]


def _is_flag(word: str) -> bool:
    """Whether the parser takes a word for a flag; a negative number is a value."""
    return word.startswith("-") and word not in {"-", "--"} and not re.fullmatch(r"-\d+(\.\d+)?", word)


class _Line:
    """Reads the words of one line, from left to right."""

    def __init__(self) -> None:
        self.values: dict[str, Json] = {}
        self.spelled: dict[str, str] = {}
        self.dotted: dict[str, dict[str, Json]] = {}

    def read(self, words: Sequence[str]) -> tuple[dict[str, Json], dict[str, str]]:
        at = 0
        while at < len(words):
            word = words[at]
            at += 1
            if not _is_flag(word):
                self.values.setdefault("model", word)  # the first positional
                continue
            name, equals, text = word.partition("=")
            end = at
            while not equals and end < len(words) and not _is_flag(words[end]):
                end += 1
            at += self.take(name, [text] if equals else list(words[at:end]), joined=bool(equals))
        for setting, whole in self.dotted.items():  # added last, as JSON of its own: it replaces the whole
            self.put(setting, setting, whole)
        return self.values, self.spelled

    def take(self, name: str, given: list[str], *, joined: bool) -> int:
        """Takes a flag with what follows it; how many of the following words it used."""
        if name.startswith("-O") and name != "-O":
            self.put("optimization-level", "O", plain(typed(name[2:])))
            return 0
        outer, dot, inner = name.partition(".")
        flag = flags.spelled(outer)
        used = 0 if joined else 1
        if dot:
            setting = flag.setting if flag else flags.named(outer)
            value: Json = document(given[0]) if given else True
            if isinstance(value, str):
                value = _sized(value)
            if inner.endswith("+") and given:
                value, inner = plain(given[0].split(",")), inner[:-1]
            json_flags.merged(self.dotted.setdefault(setting, {}), inner.split("."), value)
            return used if given else 0
        if flag is None and outer.startswith("--no-"):
            toggle = flags.spelled(f"--{outer[5:]}")
            if toggle is not None and toggle.kind == "toggle":
                self.put(toggle.setting, outer.lstrip("-"), value=False)
                return 0
        setting, kind = (flag.setting, flag.kind) if flag else (flags.named(outer), "")
        if kind in {"switch", "toggle"}:
            self.put(setting, outer.lstrip("-"), value=True)
            return 0
        if kind == "list":
            self.put(setting, outer.lstrip("-"), [plain(typed(word)) for word in given])
            return 0 if joined else len(given)
        self.put(setting, outer.lstrip("-"), _value(kind, given[0]) if given else True)
        return min(used, len(given))

    def put(self, setting: str, name: str, value: Json) -> None:
        """A value under its setting; an object under its keys, in the place of all that stood there before."""
        inner = json_flags.flat(setting, value) if isinstance(value, dict) else {setting: value}
        if isinstance(value, dict):
            for old in [key for key in self.values if key == setting or key.startswith(f"{setting}.")]:
                del self.values[old]
        for key, one in inner.items():
            self.values[key] = one
            if name != key:
                self.spelled[key] = name
            else:
                self.spelled.pop(key, None)


def _value(kind: str, text: str) -> Json:
    if kind in _TEXT:
        return text
    if kind == "json":
        return document(text)
    if kind == "size":
        return _sized(text)
    if kind == "float":
        return real(text)
    return plain(typed(text))


def _sized(text: str) -> Json:
    """`8k` is 8000 and `8K` is 8192."""
    found = re.fullmatch(r"(\d{1,15}(?:\.\d{1,9})?)([kKmMgGtT])", text.strip())
    return int(float(found[1]) * _SIZES[found[2]]) if found else plain(typed(text))
