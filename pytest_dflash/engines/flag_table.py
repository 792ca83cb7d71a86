"""What the engines' tables of flags have in common, and how versions stand in them.

Law: rows and versions; what a column means, its engine says.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files

from packaging.version import InvalidVersion, Version


def rows(package: str) -> Iterator[list[str]]:
    """The cells of each row of a package's `flags.tsv`."""
    for line in files(package).joinpath("flags.tsv").read_text(encoding="utf-8").splitlines():
        if not line.startswith(("#", "setting\t")):
            yield line.split("\t")


def stated(cell: str) -> Version | None:
    """A version in a cell; None in an empty one."""
    return Version(cell) if cell else None


def release(version: str | None, first_known: Version) -> Version | None:
    """A version that a table can speak about, else None: a build from git calls itself 0.0.0, or anything."""
    try:
        found = Version(version or "")
    except InvalidVersion:
        return None
    base = Version(found.base_version)
    return base if base >= first_known else None
