"""The command lines inside a command line.

Law: engine-neutral and pure: wrappers (`env`, `numactl`, `bash -lc '…'`, `uv run`, `docker run`, …) are taken off,
nothing is expanded, nothing is looked up. What can only be known by a shell is said in `notes`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import PurePosixPath

from pytest_dflash.engines.shell import simple_commands, split
from pytest_dflash.engines.wrappers import WRAPPERS, Wrapper


@dataclass(frozen=True, slots=True)
class Command:
    """A simple command, and what stood in its way ("bash -lc", "numactl")."""

    argv: tuple[str, ...]
    notes: tuple[str, ...] = ()


_SHELLS = frozenset({"sh", "bash", "dash", "ash", "ksh", "zsh"})
_PYTHONS = frozenset({"python", "python3", *(f"python3.{minor}" for minor in range(8, 16))})
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
_DEPTH = 8


def commands(argv: Sequence[str]) -> tuple[Command, ...]:
    """All simple commands that a command line starts, wrappers taken off, in order.

    One for a plain command line; several for `bash -c 'ulimit -n 65536; python … | tee log'`. Never raises.
    """
    return tuple(_unwrap(tuple(argv), (), _DEPTH))


def _unwrap(argv: tuple[str, ...], notes: tuple[str, ...], depth: int) -> Iterator[Command]:
    while argv and _ASSIGNMENT.match(argv[0]):
        argv = argv[1:]
    if not argv:
        return
    name = PurePosixPath(argv[0].lstrip("-")).name  # a login shell's argv[0] is "-bash"
    script = _script(name, argv[1:]) if depth else None
    if script is not None:
        words = [*notes, f"{name} -c"]
        if re.search(r"[$`]", re.sub(r"'[^']*'", "", script)):
            words.append("the shell expands variables here")
        for simple in simple_commands(script):
            yield from _unwrap(simple, tuple(words), depth - 1)
        return
    if name in _SHELLS | _PYTHONS and PurePosixPath("".join(argv[1:2])).name in WRAPPERS:
        name, argv = PurePosixPath(argv[1]).name, argv[1:]  # a wrapper that is a script: conda is one
    wrapper = WRAPPERS.get(name)
    rest = _after(argv[1:], wrapper) if depth and wrapper else None
    if rest is None:
        yield Command(argv, notes)
        return
    if rest and rest[0] == "-m":  # `uv run -m module`
        rest = ("python", *rest)
    yield from _unwrap(rest, (*notes, name), depth - 1)


def _after(words: tuple[str, ...], wrapper: Wrapper) -> tuple[str, ...] | None:
    """What a wrapper starts, or None where it starts nothing that is written here."""
    if wrapper.verb:
        while words and words[0].startswith("-"):
            words = words[1:]
        if not words or words[0] not in wrapper.verb:
            return None
        words = words[1:]
    own, at = wrapper.words, 0
    while at < len(words):
        word = words[at]
        if word == "--":
            at += 1
            break
        if word in {"-S", "--split-string"} and "--unset" in wrapper.valued:
            return (*split(" ".join(words[at + 1 : at + 2])), *words[at + 2 :])
        if word == "-m" and "--with" in wrapper.valued:
            break
        if not word.startswith("-") or word == "-":
            break
        at += 2 if wrapper.takes(word) else 1
    while at < len(words) and _ASSIGNMENT.match(words[at]):
        at += 1
    return words[at + own :] or None


def _script(name: str, words: tuple[str, ...]) -> str | None:
    """The text after a shell's `-c` (also in a cluster, `-lc`), or None when it runs a file."""
    if name == "su":
        return next((w for flag, w in pairwise(words) if flag in {"-c", "--command"}), None)
    if name not in _SHELLS:
        return None
    for at, word in enumerate(words):
        if word.startswith("--"):
            continue
        if not word.startswith(("-", "+")):
            if at and words[at - 1] in {"-o", "+o", "-O"}:
                continue
            return None
        if word.startswith("-") and "c" in word:
            return next((w for w in words[at + 1 :] if not w.startswith("-")), None)
    return None
