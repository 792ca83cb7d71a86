"""The command lines inside a command line.

Law: engine-neutral and pure: wrappers (`env`, `numactl`, `bash -lc '…'`, `uv run`, `docker run`, …) are taken off,
nothing is expanded, nothing is looked up. What can only be known by a shell is said in `notes`.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath


@dataclass(frozen=True, slots=True)
class Command:
    """A simple command, and what stood in its way ("bash -lc", "numactl")."""

    argv: tuple[str, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Wrapper:
    """How far a wrapper's own arguments reach.

    Attributes:
        valued: Options that take the next word as their value.
        words: Words of its own after the options: a CPU mask, a number of seconds, an image.
        verb: A first word that makes it a wrapper at all ("run" of `uv run`).
        switches: When given, every *other* option without `=` takes the next word.
    """

    valued: frozenset[str] = frozenset()
    words: int = 0
    verb: tuple[str, ...] = ()
    switches: frozenset[str] | None = None


def _options(text: str) -> frozenset[str]:
    return frozenset(text.split())


_CONTAINER = Wrapper(
    words=1,
    verb=("run", "exec"),
    switches=_options(
        "-d --detach --rm -i --interactive -t --tty -it -ti -dit -itd -id -di -td --init --privileged --read-only -P "
        "--publish-all --no-healthcheck --oom-kill-disable --sig-proxy --quiet -q --replace --tls-verify --rmi"
    ),
)
_RUNNER = Wrapper(
    verb=("run",),
    valued=_options(
        "-n --name -p --prefix --python --cwd --project --directory --with --with-editable --with-requirements --extra "
        "--group --env-file --index --index-url --extra-index-url --package --environment -e -C -w"
    ),
)
WRAPPERS: dict[str, Wrapper] = {
    "exec": Wrapper(_options("-a")),
    "env": Wrapper(_options("-u --unset -C --chdir")),
    "nohup": Wrapper(),
    "setsid": Wrapper(),
    "time": Wrapper(_options("-f --format -o --output")),
    "command": Wrapper(),
    "unbuffer": Wrapper(),
    "tini": Wrapper(_options("-p -e")),
    "dumb-init": Wrapper(_options("-r --rewrite")),
    "nice": Wrapper(_options("-n --adjustment")),
    "ionice": Wrapper(_options("-c --class -n --classdata")),
    "chrt": Wrapper(_options("-T -P -D"), words=1),
    "taskset": Wrapper(words=1),
    "numactl": Wrapper(
        _options(
            "-i --interleave -w --weighted-interleave -m --membind -N --cpunodebind -C --physcpubind -p --preferred "
            "-P --preferred-many"
        )
    ),
    "stdbuf": Wrapper(_options("-i --input -o --output -e --error")),
    "timeout": Wrapper(_options("-k --kill-after -s --signal"), words=1),
    "flock": Wrapper(_options("-w --wait --timeout -E"), words=1),
    "prlimit": Wrapper(_options("-p --pid -o --output")),
    "sudo": Wrapper(_options("-u --user -g --group -C -D -h -p -r -t -T -U")),
    "runuser": Wrapper(_options("-u --user -g --group -G --supp-group")),
    "setpriv": Wrapper(
        _options("--reuid --regid --groups --securebits --inh-caps --ambient-caps --bounding-set")
    ),
    "docker": _CONTAINER,
    "podman": _CONTAINER,
    "nerdctl": _CONTAINER,
    **dict.fromkeys(
        ("uv", "conda", "mamba", "micromamba", "poetry", "pipenv", "pdm", "pixi", "hatch"), _RUNNER
    ),
}
"""Programs that start another one, by base name. Source: their manual pages."""

_SHELLS = frozenset({"sh", "bash", "dash", "ash", "ksh", "zsh"})
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
_DEPTH = 8

_TOKEN = re.compile(
    r"""(?P<blank>(?:[ \t\r]|\\\n)+) | (?P<comment>\#[^\n]*)
      | (?P<redirect>(?:\d*|&)(?:>>|>\||<<<|<<-?|<>|>|<)(?:&(?:\d+|-))?)
      | (?P<end>&&|\|\||;;|[;|&()\n])
      | (?P<word>(?:\\.|"(?:\\.|[^"\\])*"|'[^']*'|[^\s;|&()<>"'\\])+)
      | (?P<stray>.)""",
    re.VERBOSE | re.DOTALL,
)


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
    if depth and name in _SHELLS and (script := _script(argv[1:])) is not None:
        words = [*notes, f"{name} -c"]
        if re.search(r"[$`]", re.sub(r"'[^']*'", "", script)):
            words.append("the shell expands variables here")
        for simple in simple_commands(script):
            yield from _unwrap(simple, tuple(words), depth - 1)
        return
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
            return (*_split(" ".join(words[at + 1 : at + 2])), *words[at + 2 :])
        if word == "-m" and "--with" in wrapper.valued:
            break
        if not word.startswith("-") or word == "-":
            break
        takes = word not in wrapper.switches if wrapper.switches is not None else word in wrapper.valued
        at += 2 if takes and "=" not in word else 1
    while at < len(words) and _ASSIGNMENT.match(words[at]):
        at += 1
    return words[at + own :] or None


def _script(words: tuple[str, ...]) -> str | None:
    """The text after a shell's `-c` (also in a cluster, `-lc`), or None when it runs a file."""
    for at, word in enumerate(words):
        if word.startswith("--"):
            continue
        if not word.startswith(("-", "+")):
            return None if at == 0 or words[at - 1] not in {"-o", "+o", "-O"} else _script(words[at + 1 :])
        if word.startswith("-") and "c" in word:
            return next((w for w in words[at + 1 :] if not w.startswith("-")), None)
    return None


def simple_commands(script: str) -> tuple[tuple[str, ...], ...]:
    """The simple commands of a shell script, quotes removed, redirections dropped, nothing expanded."""
    found: list[tuple[str, ...]] = []
    words: list[str] = []
    skip = False
    for token in _TOKEN.finditer(script):
        kind, text = token.lastgroup, token.group()
        if kind == "redirect":
            skip = not re.search(r"&(\d+|-)$", text)
        elif kind == "end":
            found.append(tuple(words))
            words, skip = [], False
        elif kind in {"word", "stray"}:
            if not skip:
                words.extend(_split(text) if kind == "word" else [text])
            skip = False
    return tuple(simple for simple in [*found, tuple(words)] if simple)


def _split(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:  # an unclosed quote: better the text than nothing
        return text.split()


def typed(text: str) -> None | bool | int | float | str | list[object] | dict[str, object]:
    """A word as the value that a person means, where writing the value gives the word back; else the word.

    >>> typed("2048"), typed("0.9"), typed("1.10"), typed("007")
    (2048, 0.9, '1.10', '007')
    """
    if re.fullmatch(r"-?(0|[1-9]\d{0,17})", text):
        return int(text)
    if re.fullmatch(r"-?\d+\.\d+(e-?\d+)?", text) and repr(float(text)) == text:
        return float(text)
    if text[:1] in "[{" and text[-1:] in "]}":
        try:
            value: list[object] | dict[str, object] = json.loads(text)
        except (ValueError, RecursionError):
            return text
        return value
    return text
