"""SGLang's flags: which exist in which version, under which names, and how they take their values.

Law: the table `flags.tsv` and look-ups in it; no command line is read here. A setting's name is the field's.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

from packaging.version import Version

from pytest_dflash.engines import flag_table
from pytest_dflash.engines.flag_table import stated

FIRST_KNOWN = Version("0.5.5")

FORK_FLAGS = {
    "speculative-ddtree-budget": "int",  # sglang#29907
    "speculative-dflash-enable-ddtree": "switch",  # DB-Guo/sglang-ddtree-dev
    "speculative-dflash-tree-verify": "switch",  # sglang#31069
    "speculative-dflash-tree-width": "int",  # sglang#36196
    "speculative-dflash-verify-budget": "int",  # sglang#32053
}
"""Flags that no release has, and how they take a value. They match by their whole name only."""


@dataclass(frozen=True, slots=True)
class Flag:
    """One spelling of a setting. `kind`: str, int, float, switch, toggle (also `--no-x`), list, json."""

    setting: str
    name: str
    kind: str
    since: Version | None = None
    removed: Version | None = None
    default: str = ""
    resolved: bool = False

    def known_in(self, version: Version | None) -> bool:
        """Whether this version's parser knows the spelling; every spelling is known when the version is not."""
        if version is None:
            return True
        return (self.since is None or self.since <= version) and (
            self.removed is None or version < self.removed
        )


@cache
def table() -> dict[str, Flag]:
    """Every spelling, by name."""
    found: dict[str, Flag] = {}
    for setting, name, kind, since, removed, default, resolved in flag_table.rows(__package__):
        found[name] = Flag(setting, name, kind, stated(since), stated(removed), default, bool(resolved))
    for name, kind in FORK_FLAGS.items():
        found[name] = Flag(name, name, kind)
    return found


def parsed(version: str | None) -> Version | None:
    """A version that the table can speak about, else None."""
    return flag_table.release(version, FIRST_KNOWN)


@cache
def _by_setting() -> dict[str, Flag]:
    spellings = table().values()
    return {f.setting: f for f in spellings} | {f.setting: f for f in spellings if f.name == f.setting}


def named(name: str) -> str:
    """The setting behind a whole name: a flag, or a field of ServerArgs (`_` for `-`). Unknown names stay."""
    kebab = name.lstrip("-").replace("_", "-")
    flag = table().get(kebab)
    return flag.setting if flag else kebab


def spelled(name: str, version: str | None) -> Flag | None:
    """The flag that a parser takes `name` for: the whole name, else a prefix that only one setting has."""
    kebab = name.lstrip("-").replace("_", "-")
    if not kebab:
        return None
    if exact := table().get(kebab):
        return exact
    running = parsed(version)
    for candidates in (_prefixed(kebab, running), _prefixed(kebab, None)):
        settings = {flag.setting for flag in candidates}
        if settings:
            return candidates[0] if len(settings) == 1 else None
    return None


def _prefixed(kebab: str, version: Version | None) -> list[Flag]:
    flags: Iterable[Flag] = table().values()
    return [f for f in flags if f.name.startswith(kebab) and f.known_in(version) and f.name not in FORK_FLAGS]


def kind(setting: str) -> str:
    """How the setting takes its value; "" for one that no version knows."""
    flag = _by_setting().get(setting)
    return flag.kind if flag else ""


def resolves(setting: str) -> bool:
    """Whether the engine may put a value of its own where nobody gave one."""
    flag = _by_setting().get(setting)
    return flag is None or flag.resolved or flag.default in {"", '"auto"'}


def default(setting: str) -> object:
    """The default of the field; `...` where it changed between versions or is computed."""
    flag = _by_setting().get(setting)
    return json.loads(flag.default) if flag and flag.default else ...


def removed(name: str, version: str | None) -> str | None:
    """Why this version's parser refuses a spelling that an older or newer one takes; None when it does not.

    A version with a local label ("0.5.20+ddtree") is a fork's, which may have kept or taken over a flag.
    """
    running, flag = parsed(version), table().get(name.lstrip("-").replace("_", "-"))
    if "+" in (version or "") or running is None or flag is None or flag.known_in(running):
        return None
    if flag.removed and running >= flag.removed:
        instead = f"; it is --{flag.setting} now" if flag.setting != flag.name else ""
        return (
            f"SGLang {flag.removed} took --{flag.name} away{instead}, and {running} refuses to start with it"
        )
    return f"SGLang knows --{flag.name} from {flag.since} on, and {running} refuses to start with it"
