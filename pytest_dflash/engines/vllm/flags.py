"""vLLM's flags: which exist in which version, under which spellings, and how they take their values.

Law: the table `flags.tsv` and look-ups in it; no command line is read here. A setting's name is the field's. A key
inside of a JSON flag is a setting of its own, after a dot and as JSON spells it: "speculative-config.method".
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache

from packaging.version import Version

from pytest_dflash.engines import flag_table
from pytest_dflash.engines.flag_table import stated

FIRST_KNOWN = Version("0.8.5")


@dataclass(frozen=True, slots=True)
class Flag:
    """One spelling of a setting.

    Attributes:
        kind: str, int, float, size ("1k"), switch, toggle (also `--no-x`), list, json; "" when not known.
        before: The newest version looked at that does not know it yet.
        gone: The oldest version looked at that does not know it any more.
        default: As JSON; "" when not known.
    """

    setting: str
    name: str
    kind: str
    before: Version | None = None
    gone: Version | None = None
    default: str = ""


@cache
def table() -> dict[str, Flag]:
    """Every spelling, dashes included, by itself."""
    found: dict[str, Flag] = {}
    for setting, name, kind, before, gone, default in flag_table.rows(__package__):
        found[name] = Flag(setting, name, kind, stated(before), stated(gone), default)
    return found


@cache
def _by_setting() -> dict[str, Flag]:
    flags = table().values()
    return {f.setting: f for f in flags} | {f.setting: f for f in flags if f.name == f"--{f.setting}"}


def parsed(version: str | None) -> Version | None:
    """A version that the table can speak about, else None."""
    return flag_table.release(version, FIRST_KNOWN)


def spelled(word: str) -> Flag | None:
    """The flag that the parser takes a word with its dashes for: the whole of it, else a prefix of one setting."""
    kebab = word.replace("_", "-")
    exact = table().get(kebab)
    if exact or not kebab.startswith("--") or len(kebab) <= len("--"):
        return exact
    near = [flag for name, flag in table().items() if name.startswith(kebab)]
    return near[0] if len({flag.setting for flag in near}) == 1 else None


def named(name: str) -> str:
    """The setting behind a field, a flag without its dashes, or a dotted key; unknown names stay."""
    outer, dot, inner = name.lstrip("-").partition(".")
    kebab = outer.replace("_", "-")
    flag = spelled(f"--{kebab}") or table().get(f"-{kebab}")
    return (flag.setting if flag else kebab) + dot + inner.replace("-", "_")


def kind(setting: str) -> str:
    """How the setting takes its value; "" for a key inside of JSON, and for what no version knows."""
    flag = _by_setting().get(setting)
    return flag.kind if flag and "." not in setting else ""


def default(setting: str) -> object:
    """The default of the field; `...` where it is not known, as for keys inside of JSON."""
    flag = _by_setting().get(setting)
    return json.loads(flag.default) if flag and flag.default and "." not in setting else ...


def removed(name: str, version: str | None) -> str | None:
    """Why this version's parser refuses a spelling that another one takes; None when it does not, or nobody knows."""
    outer = name.lstrip("-").partition(".")[0].replace("_", "-")
    running, flag = parsed(version), table().get(f"--{outer}")
    if "+" in (version or "").removesuffix("+cpu") or running is None or flag is None:
        return None
    if flag.gone and running >= flag.gone:
        return f"vLLM {flag.gone} does not know {flag.name} any more, and {running} refuses to start with it"
    if flag.before and running <= flag.before:
        return f"vLLM {flag.before} does not know {flag.name} yet, and {running} refuses to start with it"
    return None
