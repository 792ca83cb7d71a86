"""The --config file of a command line, merged as both engines do it.

Law: the file's text is given; how its entries become words is the engine's business. `--config=FILE` is one word, and
neither engine merges that.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import yaml


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
        document = yaml.safe_load(files[path])
    except (KeyError, yaml.YAMLError, ValueError, RecursionError):
        return without
    if not isinstance(document, dict | None):
        return without
    configured = [word for key, value in (document or {}).items() for word in words_of(str(key), value)]
    first = int(bool(rest) and leads(rest[0]))
    return Merged((*rest[:first], *configured, *rest[first:]), f"command line and {path}")
