"""SGLang's command line as settings, the way its own parser would read it.

Law: words in, settings out; a flag that no table knows (a fork's) is kept under its own name.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from pytest_dflash.engines.config_file import merged
from pytest_dflash.engines.dialect import Settings
from pytest_dflash.engines.launch import Launch, Program, launch
from pytest_dflash.engines.literals import plain
from pytest_dflash.engines.sglang import flags
from pytest_dflash.engines.words import document, real, typed
from pytest_dflash.findings import Json

_MODULES = frozenset({"sglang.launch_server", "sglang.srt.entrypoints.http_server"})


def entry(argv: Sequence[str]) -> Launch | None:
    """The command that starts the server, with the words after the server's name; None when none does."""
    return launch(argv, _given)


def _given(program: Program) -> tuple[str, ...] | None:
    words = program.words
    if program.name in _MODULES if program.module else program.name.endswith("sglang/launch_server.py"):
        return words
    return words[1:] if program.base == "sglang" and words[:1] == ("serve",) else None


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
    line = merged(found.words, files, _words_of)
    values, spelled = _read(line.words, version)
    return Settings(values, line.where, spelled, line.complete and found.certain(line.words))


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
        return document(given[0]) if len(given) == 1 else list(given)
    if kind == "float":
        return real(given[0])
    return plain(typed(given[0])) if kind or len(given) == 1 else [plain(typed(word)) for word in given]
