"""SGLang's command line as settings, the way its own parser would read it.

Law: words in, settings out; a flag that no table knows (a fork's) is kept under its own name.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath

from pytest_dflash.engines.command_line import Command, commands
from pytest_dflash.engines.config_file import merged
from pytest_dflash.engines.dialect import Settings
from pytest_dflash.engines.literals import plain
from pytest_dflash.engines.sglang import flags
from pytest_dflash.engines.words import typed
from pytest_dflash.findings import Json

_MODULES = frozenset({"sglang.launch_server", "sglang.srt.entrypoints.http_server"})


def entry(argv: Sequence[str]) -> tuple[Command, tuple[str, ...]] | None:
    """The command that starts the server and the words after the server's name; None when none does."""
    for command in commands(argv):
        at = _after_entry(command.argv)
        if at is not None:
            return command, command.argv[at:]
    return None


def _after_entry(argv: Sequence[str]) -> int | None:
    name = PurePosixPath(argv[0]).name
    if name == "sglang" and argv[1:2] == ("serve",):
        return 2
    if not re.match(r"(python|pypy)[\d.]*$", name):
        return None
    at = 1
    while at < len(argv) and argv[at].startswith("-") and argv[at] not in {"-m", "-c"}:
        at += 2 if argv[at] in {"-X", "-W"} else 1
    word = argv[at + 1 : at + 2] if argv[at : at + 1] == ("-m",) else argv[at : at + 1]
    if not word or argv[at] == "-c":
        return None
    if argv[at] == "-m" and word[0] in _MODULES:
        return at + 2
    if argv[at] != "-m" and word[0].endswith("sglang/launch_server.py"):
        return at + 1
    serving = PurePosixPath(word[0]).name == "sglang"
    after = at + (2 if argv[at] == "-m" else 1)
    return after + 1 if serving and argv[after : after + 1] == ("serve",) else None


def settings(argv: Sequence[str], files: Mapping[str, str], version: str | None) -> Settings:
    """The settings of a command line that starts the server.

    Args:
        argv: As the kernel or systemd holds it, wrappers included.
        files: Text by path of the files that it may name (`--config FILE`).
        version: The engine's, when known: what a short spelling means may depend on it.

    Returns:
        Settings by name. Not complete when a --config file was not given or could not be read, when a shell
        expands variables in the line, or when the line starts no server.
    """
    found = entry(argv)
    if found is None:
        return Settings({}, "no SGLang server in this command line", {}, complete=False)
    command, words = found
    line = merged(words, files, _words_of)
    values, spelled = _read(line.words, version)
    expanded = any("expands" in note for note in command.notes) and any(
        "$" in w or "`" in w for w in line.words
    )
    return Settings(values, line.where, spelled, line.complete and not expanded)


def _words_of(key: str, value: object) -> list[str]:
    flag = f"--{key}"
    if isinstance(value, bool):
        if flags.kind(flags.named(key)) in {"switch", ""}:
            return [flag] if value else []
        return [flag, str(value).lower()]
    if isinstance(value, list):
        return [flag, *map(str, value)] if value else []
    return [f"{flag}={json.dumps(value, default=str) if isinstance(value, dict) else value}"]


def _read(words: Sequence[str], version: str | None) -> tuple[dict[str, Json], dict[str, str]]:
    values: dict[str, Json] = {}
    spelled: dict[str, str] = {}
    at = 0
    while at < len(words):
        word = words[at]
        at += 1
        if not _is_flag(word):
            continue  # a positional, or a second value: the engine refuses it, so it says nothing
        name, equals, text = word[2:].partition("=")
        begin = at
        while at < len(words) and not _is_flag(words[at]):
            at += 1
        given = [text] if equals else list(words[begin:at])
        flag = flags.spelled(name, version)
        if flag is None and name.startswith("no-"):
            toggle = flags.spelled(name[3:], version)
            if toggle is not None and toggle.kind == "toggle":
                values[toggle.setting], spelled[toggle.setting] = False, name
                continue
        setting = flag.setting if flag else name.replace("_", "-")
        values[setting] = _value(flag.kind if flag else "", given)
        if name != setting:
            spelled[setting] = name
        else:
            spelled.pop(setting, None)
    return values, spelled


def _is_flag(word: str) -> bool:
    return word.startswith("--") and len(word) > 2


def _value(kind: str, given: Sequence[str]) -> Json:
    if kind in {"switch", "toggle"}:
        return True
    if kind == "list":
        single = typed(given[0]) if len(given) == 1 else None
        return plain(single) if isinstance(single, list) else [plain(typed(word)) for word in given]
    if not given:
        return True
    if kind == "str":
        return given[0]
    if kind == "json":
        return _json(given[0]) if len(given) == 1 else list(given)
    if kind == "float":
        return _float(given[0])
    return plain(typed(given[0])) if kind or len(given) == 1 else [plain(typed(word)) for word in given]


def _json(text: str) -> Json:
    try:
        return plain(json.loads(text))
    except (ValueError, RecursionError):
        return text


def _float(text: str) -> Json:
    try:
        return plain(float(text))
    except ValueError:
        return text
