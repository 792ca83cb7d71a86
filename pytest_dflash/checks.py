"""The mark that makes a test function a check.

Law: the decorator and what it carries, nothing that runs. A check returns its judgement (or several); it
never asserts silently, because a function that returns nothing has compared nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from pytest_dflash.errors import UsageError
from pytest_dflash.findings import AREAS
from pytest_dflash.levels import RANK


@dataclass(frozen=True, slots=True)
class Check:
    """What a check declares of itself.

    Attributes:
        name: `area.name`, stable from version to version.
        level: The least word of `--dflash-allow` under which it runs.
        per: The test's argument that is taken from the profile: flag, variable or package.
        requests: How many requests it sends to the model. tokens: how many new tokens it may ask for.
        restarts: How many restarts of the unit it needs.
        seconds: How long it waits besides, for the plan.
        since: The version that brought it: younger than `[gate] checks_as_of`, it is advisory.
    """

    name: str
    level: str = "read"
    per: str | None = None
    requests: int = 0
    tokens: int = 0
    restarts: int = 0
    seconds: float = 0.0
    since: str = "0.1"

    @property
    def area(self) -> str:
        """The part before the dot: also the pytest marker."""
        return self.name.partition(".")[0]

    @property
    def generates(self) -> bool:
        """Whether the process that runs now has to answer with tokens; one that a check starts is awake."""
        return self.level == "load" or (self.level == "probe" and self.tokens > 0)


def check(  # noqa: PLR0913 - what a check declares is declared in one place
    name: str,
    *,
    level: str = "read",
    per: str | None = None,
    requests: int = 0,
    tokens: int = 0,
    restarts: int = 0,
    seconds: float = 0.0,
    since: str = "0.1",
) -> pytest.MarkDecorator:
    """Marks a function as the check `name`.

    Raises:
        UsageError: The area or the level is unknown.
    """
    declared = Check(name, level, per, requests, tokens, restarts, seconds, since)
    if declared.area not in AREAS or "." not in name:
        raise UsageError(f"check {name!r}: a name is area.name, and the areas are {', '.join(AREAS)}")
    if level not in RANK:
        raise UsageError(f"check {name!r}: level {level!r} is unknown; levels are {', '.join(RANK)}")
    return pytest.mark.check(declared)


def of(item: pytest.Item) -> Check | None:
    """The check that an item is, or None for any other test."""
    mark = item.get_closest_marker("check")
    if mark is None or not mark.args or not isinstance(mark.args[0], Check):
        return None
    return mark.args[0]
