"""The engines that are known, by name.

Law: names and instances. A new engine is a new package beside `sglang` and a line here, or a package of its own that
names its class in the entry point group `pytest_dflash.engines`: see docs/engines.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from importlib.metadata import EntryPoint, entry_points

from pytest_dflash.engines.dialect import Dialect
from pytest_dflash.engines.llamacpp.dialect import LlamaCpp
from pytest_dflash.engines.sglang.dialect import SGLang
from pytest_dflash.engines.vllm.dialect import VLLM
from pytest_dflash.errors import UsageError

GROUP = "pytest_dflash.engines"
OWN: Mapping[str, Dialect] = {"sglang": SGLang(), "vllm": VLLM(), "llamacpp": LlamaCpp()}


@cache
def dialects() -> Mapping[str, Dialect]:
    """The engines of this package, and those of other installed packages.

    Raises:
        UsageError: Another package's engine cannot be loaded, or takes a name that is taken.
    """
    found = dict(OWN)
    for entry in entry_points(group=GROUP):
        if entry.name in found:
            raise UsageError(
                f"two engines are named {entry.name!r}, one of them by {_whose(entry)}; uninstall one"
            )
        try:
            found[entry.name] = entry.load()()
        except Exception as error:
            raise UsageError(
                f"the engine {entry.name!r} of {_whose(entry)} cannot be loaded: {type(error).__name__}: {error}. "
                "Mend or uninstall it."
            ) from error
    return found


def _whose(entry: EntryPoint) -> str:
    return f"the package {entry.dist.name}" if entry.dist else entry.value


def dialect(name: str) -> Dialect:
    """The engine of that name.

    Raises:
        UsageError: No such engine; the message lists the known ones.
    """
    try:
        return dialects()[name]
    except KeyError:
        known = ", ".join(sorted(dialects()))
        raise UsageError(
            f"engine = {name!r} is not known; known engines: {known}. Set [service] engine to one of them."
        ) from None


def recognise(argv: Sequence[str]) -> Dialect | None:
    """The engine that a command line starts, wrappers looked through; None when none of the known ones."""
    return next((one for one in dialects().values() if argv and one.runs(argv)), None)
