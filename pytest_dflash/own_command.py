"""How this tool was called, so that a command that is printed can be pasted where the first one was typed.

Law: reads this process's command line, PATH and which files are there; asks no host. Whatever prints a command for this
tool takes its first words, and the place of the suites, from here.
"""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

INSTALLED = ("--pyargs", "pytest_dflash.suites")


def begin(config: pytest.Config) -> str:
    """How a command begins, quoted for a shell: `pytest`, `.venv/bin/pytest`, `python -m pytest`."""
    args = [str(each) for each in config.invocation_params.args]
    words = called(args, sys.argv[1:], sys.orig_argv, shutil.which)
    return shlex.join(words or (sys.executable, "-m", "pytest"))


def called(
    args: Sequence[str],
    heard: Sequence[str],
    original: Sequence[str],
    find: Callable[[str], str | None],
) -> Sequence[str]:
    """The words that were typed before the arguments; none where another program made the arguments.

    Args:
        args: What pytest was given.
        heard: What the process was given, without its program.
        original: The same with the interpreter, its options and the program.
        find: Where PATH finds a program.
    """
    before = original[: len(original) - len(heard)]
    ours = list(args) == list(heard) and [*before, *heard] == list(original)
    if not ours or len(before) < 2 or before[-1] == "-":  # what came by standard input is not there any more
        return ()
    if "/" not in before[1] or not os.access(before[1], os.X_OK):
        return before
    # The kernel put the interpreter before a script, and the shell PATH's folder before its name.
    script, *rest = before[1:]
    name = Path(script).name
    return (name if _same(find(name), script) else script, *rest)


def _same(found: str | None, script: str) -> bool:
    return found is not None and os.path.normpath(found) == os.path.normpath(script)


def shipped() -> Path:
    """Where the suites are: in the package once installed, beside it in a source tree."""
    inside = Path(__file__).parent / "suites"
    return inside if inside.is_dir() else Path(__file__).parent.parent / "suites"


def suites(config: pytest.Config) -> str:
    """What a whole run is given, quoted for a shell: what was typed, else the suites that are here or were installed."""
    if config.args_source is pytest.Config.ArgsSource.ARGS:
        return shlex.join([*(INSTALLED[:1] if config.option.pyargs else ()), *config.args])
    here, ours = config.invocation_params.dir / "suites", shipped()
    if here.is_dir():
        return "suites/"
    return shlex.join(INSTALLED if ours.parent == Path(__file__).parent else [f"{ours}/"])
