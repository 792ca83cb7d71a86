"""The engines that are known, by name.

Law: names and instances. A new engine is a new package beside `sglang` and a line here.
"""

from __future__ import annotations

from collections.abc import Sequence

from pytest_dflash.engines.dialect import Dialect
from pytest_dflash.engines.sglang.dialect import SGLang
from pytest_dflash.errors import UsageError

DIALECTS: dict[str, Dialect] = {"sglang": SGLang()}


def dialect(name: str) -> Dialect:
    """The engine of that name.

    Raises:
        UsageError: No such engine; the message lists the known ones.
    """
    try:
        return DIALECTS[name]
    except KeyError:
        known = ", ".join(sorted(DIALECTS))
        raise UsageError(
            f"engine = {name!r} is not known; known engines: {known}. Set [service] engine to one of them."
        ) from None


def recognise(argv: Sequence[str]) -> Dialect | None:
    """The engine that a command line starts, wrappers looked through; None when none of the known ones."""
    return next((one for one in DIALECTS.values() if argv and one.runs(argv)), None)
