"""Whether a run was given all checks of the suites that it names, however some came to be left out.

Law: reads the suites' own files; knows no option. Whatever selects less than a folder of checks declares
(a glob, a module by name, a conftest) makes the run partial.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterable, Sequence
from pathlib import Path

import pytest

from pytest_dflash import checks

DECLARED = re.compile(r"^@(?:\w+\.)?check\(\s*[\"']([a-z_]+\.\w+)[\"']", re.MULTILINE)


class Narrowing:
    """A plugin that notices whether checks were left out."""

    narrowed = False

    def pytest_deselected(self, items: Sequence[pytest.Item]) -> None:
        """Whatever deselected them: the run no longer judges the whole host."""
        self.narrowed = self.narrowed or bool(items)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> Generator[None]:
        """Notices what was never collected, or taken out by whatever plugin, however late it did so."""
        given = list(items)
        yield
        kept = set(items)
        lost = any(checks.of(item) for item in given if item not in kept)
        self.narrowed = self.narrowed or lost or bool(left_out(items))


def left_out(items: Iterable[pytest.Item]) -> set[str]:
    """The checks that stand in the folders of these items and are not among them."""
    found = {(item.path.parent, declared.name) for item in items if (declared := checks.of(item))}
    names = {name for _, name in found}
    return {name for folder in {folder for folder, _ in found} for name in declared_in(folder)} - names


def declared_in(folder: Path) -> set[str]:
    """The checks that the test modules of a folder declare."""
    return {
        name
        for path in folder.glob("test_*.py")
        for name in DECLARED.findall(path.read_text("utf-8", "replace"))
    }
