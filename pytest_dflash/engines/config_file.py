"""The --config file of a command line, merged as both engines do it.

Law: the file's text is given; how its entries become words is the engine's business. `--config=FILE` is one word, and
neither engine merges that.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import yaml

from pytest_dflash.redaction import MASK

LARGEST = 2**16
"""Characters of a file that is read: a person's has a few hundred."""
BARE_MASK = re.compile(rf"(?<![^\s\[,{{]){re.escape(MASK)}(?![^\s,\]}}])")
"""A key that was masked where it stood without quotes: to YAML it would refer to an anchor that is not there."""
ALIASES = 16
"""Places that may refer to another one: a few levels of many would spell more than any memory holds."""


class _Loader(yaml.SafeLoader):
    """Safe also to write out again."""

    aliases = 0

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        """A node, unless it is one reference too many."""
        self.aliases += self.check_event(yaml.AliasEvent)
        if self.aliases > ALIASES:
            raise yaml.YAMLError(f"it has more than {ALIASES} aliases")
        return super().compose_node(parent, index)


@dataclass(frozen=True, slots=True)
class Merged:
    """A command line with its file. Not `complete`: the file is not here, or cannot be read."""

    words: tuple[str, ...]
    where: str = "command line"
    complete: bool = True


def merged(
    words: tuple[str, ...],
    files: Mapping[str, str],
    words_of: Callable[[str, object], list[str]],
    leads: Callable[[str], bool] = lambda _word: False,
) -> Merged:
    """The words of the file in front of those of the line, so that the line wins.

    Args:
        words: Those after the server's name.
        files: Text by path.
        words_of: An entry of the file as words.
        leads: Whether the line's first word stays in front of the file's.
    """
    if "--config" not in words:
        return Merged(words)
    at = words.index("--config")
    path = words[at + 1] if at + 1 < len(words) else ""
    rest = words[:at] + words[at + 2 :]
    without = Merged(rest, f"command line, without {path}", complete=False)
    try:
        text = BARE_MASK.sub(f'"{MASK}"', files[path])
        document = yaml.load(text, _Loader) if len(text) <= LARGEST else False  # noqa: S506 - a safe one
    except (KeyError, yaml.YAMLError, ValueError, RecursionError):
        return without
    if not isinstance(document, dict | None):
        return without
    configured = [word for key, value in (document or {}).items() for word in words_of(str(key), value)]
    first = int(bool(rest) and leads(rest[0]))
    return Merged((*rest[:first], *configured, *rest[first:]), f"command line and {path}")
