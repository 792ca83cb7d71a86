"""Layers of a profile: which one says a key, and which one wins.

Law: arithmetic on raw trees. A later layer wins; tables are merged deeply, lists and single values are
replaced. Nothing is validated here, except that a `--dflash-expect` can be read at all.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from pytest_dflash.errors import ProfileError
from pytest_dflash.profile.complaint import Path

EXPECT = "--dflash-expect"


@dataclass(frozen=True, slots=True)
class Layer:
    """Some keys and who says them. `hosts`: the pattern of the hosts that they are for; None: for all."""

    tree: Mapping[str, Any]
    source: str
    hosts: str | None = None

    def is_for(self, host: str | None) -> bool:
        """Whether it counts for this host (None: for no host in particular)."""
        return self.hosts is None or (host is not None and fnmatchcase(host, self.hosts))


@dataclass(frozen=True, slots=True)
class Merged:
    """All layers in one tree, and who said each leaf."""

    tree: dict[str, Any]
    sources: Mapping[Path, str]

    def source(self, path: Path, default: str) -> str:
        """Who says the key, or the nearest part of it that anybody says."""
        for end in range(len(path), 0, -1):
            if path[:end] in self.sources:
                return self.sources[path[:end]]
        below = {source for leaf, source in self.sources.items() if leaf[: len(path)] == path}
        return below.pop() if len(below) == 1 else default


def merge(layers: Iterable[Layer]) -> Merged:
    """The layers on top of each other, the last one on top."""
    tree: dict[str, Any] = {}
    sources: dict[Path, str] = {}
    for layer in layers:
        for path, value in leaves(layer.tree):
            _put(tree, path, value, sources)
            sources[path] = layer.source
    return Merged(tree, sources)


def leaves(tree: Mapping[str, Any], path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """All keys whose value is no table, or an empty one."""
    for key, value in tree.items():
        if isinstance(value, dict) and value:
            yield from leaves(value, (*path, key))
        else:
            yield (*path, key), value


def _put(tree: dict[str, Any], path: tuple[str, ...], value: Any, sources: dict[Path, str]) -> None:
    """Sets the leaf. What it covers, above or below, loses its source."""
    for depth, step in enumerate(path[:-1], start=1):
        if not isinstance(tree.get(step), dict):
            tree[step] = {}
            sources.pop(path[:depth], None)
        tree = tree[step]
    if value == {} and isinstance(tree.get(path[-1]), dict):
        return
    tree[path[-1]] = value
    for covered in [key for key in sources if key[: len(path)] == path]:
        del sources[covered]


def expectation(text: str) -> Layer:
    """One `--dflash-expect KEY=VALUE`: the key dotted, the value TOML where it is that, else text.

    Raises:
        ProfileError: No `=`, or the key is none.
    """
    key, equals, value = (part.strip() for part in text.partition("="))
    if not (key and equals):
        raise ProfileError(f"{EXPECT}: {text!r} must be KEY=VALUE, such as window.tokens=4096")
    for candidate in (f"{key} = {value}", None):
        try:
            if candidate and "\n" not in candidate:
                return Layer(tomllib.loads(candidate), EXPECT)
            tree = tomllib.loads(f"{key} = 0")
        except tomllib.TOMLDecodeError:
            continue
        return Layer(_with_leaf(tree, value), EXPECT)
    raise ProfileError(
        f"{EXPECT}: {key!r} is no key; write table.key, with quotation marks round a part that holds other "
        'than letters, digits, "-" and "_"'
    )


def _with_leaf(tree: dict[str, Any], value: str) -> dict[str, Any]:
    return {
        key: _with_leaf(below, value) if isinstance(below, dict) else value for key, below in tree.items()
    }
