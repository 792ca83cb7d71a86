"""The unit's processes, by /proc, and which of them serves.

Law: argv by NUL, never by blanks; a process is named by pid and start time together. No engine is named
here: whoever knows one hands in a predicate on argv.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from pytest_dflash.facts.bundle import CAP_BYTES, files
from pytest_dflash.facts.platform import Clock
from pytest_dflash.facts.probe import Probe, Reply
from pytest_dflash.facts.reading import Absent, Reading, Silent, Value
from pytest_dflash.facts.sockets import Listener

MOST_PROCESSES = 300
"""More processes than this are not read: torch's compile workers can be hundreds, and all alike."""


@dataclass(frozen=True, slots=True)
class Process:
    """One process of the unit's cgroup. `start_ticks` is field 22 of stat, in clock ticks since boot.

    Attributes:
        argv: As the kernel has it now. A process that rewrote its title (setproctitle) shows that instead.
        title: The kernel's short name (15 bytes), the only name that a kernel thread or zombie has.
        state: One letter of stat: R S D Z T.
    """

    pid: int
    parent: int
    argv: tuple[str, ...]
    exe: Reading[str]
    environ: Reading[Mapping[str, str]]
    start_ticks: int
    uid: int | None
    cgroup: str
    limits: Mapping[str, str]
    title: str = ""
    state: str = ""


_SCRIPT = (
    f"most={MOST_PROCESSES * 6}\n"
    r"""
asked=
set --
for p in $PIDS; do
    [ "$#" -lt "$most" ] || break
    d=$R/proc/$p
    asked="$asked $p"
    set -- "$@" "$d/stat" "$d/status" "$d/cgroup" "$d/limits" "$d/cmdline" "$d/environ"
done
printf '%s\n' "$asked"
[ "$#" -gt 0 ] || exit 0
# The stand-in's /proc/PID/exe is a link to a link: followed to the end, also where the end is gone.
(set -- && for p in $asked; do set -- "$@" "$R/proc/$p/exe"; done && readlink -m -z "$@" 2>/dev/null)
printf '\n\n'
timeout 20 head -v -c 262144 "$@"
exit 0
"""
)

_STAT = re.compile(
    r"^\d{1,10} \((?P<title>.*)\) (?P<state>\S) (?P<parent>\d{1,10})(?: \S+){17} (?P<start>\d{1,18}) ",
    re.DOTALL,
)
_LIMIT = re.compile(r"^(Max .*?)\s{2,}(\S+)\s+(\S+)")


def _argv(raw: bytes) -> tuple[str, ...]:
    words = raw.removesuffix(b"\0").split(b"\0") if raw else []
    if len(words) > 1 and not any(words[1:]):  # a rewritten title is padded with NUL up to the old length
        words = words[:1]
    return tuple(word.decode("utf-8", "replace") for word in words)


def _environ(raw: bytes | None, where: str) -> Reading[Mapping[str, str]]:
    if raw is None:
        return Silent(
            "not readable: only root and the process's own user may read its environment; try --sudo", where
        )
    whole = raw if len(raw) < CAP_BYTES else raw[: raw.rfind(b"\0") + 1]
    found: dict[str, str] = {}
    for entry in whole.split(b"\0"):
        name, equals, value = entry.decode("utf-8", "replace").partition("=")
        if name and equals:
            found.setdefault(name, value)  # getenv and os.environ take the first of two
    return Value(found, where)


def _cgroup(text: str) -> str:
    """The unified hierarchy's path, else systemd's own (v1): both name the unit."""
    paths = dict(line.split(":", 2)[1:] for line in text.splitlines() if line.count(":") >= 2)
    unified, named = paths.get("", ""), paths.get("name=systemd", "")
    return named if named and unified in ("", "/") else unified


def _limits(text: str) -> Mapping[str, str]:
    """Soft limits by their name in /proc/PID/limits, e.g. "Max open files": "65536"."""
    return {match[1]: match[2] for line in text.splitlines() if (match := _LIMIT.match(line))}


def _process(pid: int, found: Mapping[tuple[int, str], bytes], exe: str) -> Process | None:
    text = {key[1]: raw.decode("utf-8", "replace") for key, raw in found.items() if key[0] == pid}
    stat = _STAT.match(text.get("stat", ""))
    if stat is None:  # gone between the listing and the reading
        return None
    uid = re.search(r"^Uid:\s+(\d{1,10})\b", text.get("status", ""), re.MULTILINE)
    silent = Silent(
        "not readable: only root and the process's own user may follow it; try --sudo", f"/proc/{pid}/exe"
    )
    return Process(
        pid=pid,
        parent=int(stat["parent"]),
        argv=_argv(found.get((pid, "cmdline"), b"")),
        exe=Value(exe, f"/proc/{pid}/exe") if exe and not exe.endswith(f"/proc/{pid}/exe") else silent,
        environ=_environ(found.get((pid, "environ")), f"/proc/{pid}/environ"),
        start_ticks=int(stat["start"]),
        uid=int(uid[1]) if uid else None,
        cgroup=_cgroup(text.get("cgroup", "")),
        limits=_limits(text.get("limits", "")),
        title=stat["title"],
        state=stat["state"],
    )


def _parse(reply: Reply) -> Reading[tuple[Process, ...]]:
    where = "/proc"
    head, _, rest = reply.stdout.partition(b"\n")
    pids = [int(word) for word in head.split() if re.fullmatch(rb"\d{1,10}", word)]
    if not pids:
        return (
            reply.silence("head /proc/PID/…") if reply.rc else Absent("the unit's cgroup: no process in it")
        )
    links, _, body = rest.partition(b"\n\n")
    exes = links.decode("utf-8", "replace").removesuffix("\0").split("\0")
    named = dict(zip(pids, exes, strict=True)) if len(exes) == len(pids) else {}
    found = files(body)
    processes = tuple(p for pid in pids if (p := _process(pid, found, named.get(pid, ""))))
    if not processes:
        return Silent(
            f"none of the unit's {len(pids)} processes could be read: they ended, or /proc hides them", where
        )
    return Value(
        processes, f"{where}, the first {len(pids)} of the unit" if len(pids) >= MOST_PROCESSES else where
    )


PROCESSES: Probe[tuple[Process, ...]] = Probe("processes", _SCRIPT, _parse)
"""Every process of the unit. Absent: the unit has none. A process that ended meanwhile is left out."""


CONTAINER_CLIENTS = frozenset({"docker", "podman", "nerdctl"})
"""Programs that let somebody else start what they are given."""


ONLY_STARTS = "only starts a container whose processes are not known: give it a name (--name)"


def starts_container(argv: Sequence[str]) -> bool:
    """Whether a command line is that of a container's client, which may be a script."""
    return any(word.rpartition("/")[2] in CONTAINER_CLIENTS for word in argv[:2])


def published(argv: Sequence[str], port: int) -> int:
    """The host's port behind which a container's client publishes this one: `-p [ADDRESS:]HOST:CONTAINER[/tcp]`."""
    said = [word for flag, word in pairwise(argv) if flag in {"-p", "--publish"}]
    said += [
        word.removeprefix("-p").removeprefix("--publish=")
        for word in argv
        if word.startswith(("-p", "--publish="))
    ]
    for spec in said:
        *_, outside, inside = ("", *spec.removesuffix("/tcp").split(":"))
        if inside == str(port) and outside.isascii() and outside.isdigit() and len(outside) <= 5:
            return int(outside)
    return port


def age_s(process: Process, clock: Clock) -> float:
    """Seconds since the process started, by the host's own clocks."""
    return clock.uptime_s - process.start_ticks / clock.ticks_per_s


def serving_process(
    processes: Reading[tuple[Process, ...]],
    listeners: Reading[tuple[Listener, ...]],
    port: int | None,
    is_engine: Callable[[Sequence[str]], bool],
) -> Reading[Process]:
    """The process of the unit that serves: the owner of the port, else the one whose argv starts the engine.

    MainPID is not asked: it may be a shell with a pipe behind it, `uv run`, `numactl`.

    Args:
        processes: The unit's processes.
        listeners: All listening sockets of the host.
        port: The port that the service should listen on, if known.
        is_engine: Whether a command line starts the engine, wrappers looked through.
    """
    if not isinstance(processes, Value):
        return processes
    alive = [process for process in processes.value if process.state != "Z"]
    if not alive:
        return Absent(processes.where)
    sockets = listeners.value if isinstance(listeners, Value) else ()
    owners = {pid for socket in sockets if socket.port == port for pid in socket.pids or ()}
    owning = [process for process in alive if process.pid in owners]
    if owning:
        # A forked child inherits the socket; the engine itself is the one that started first.
        first = min(
            owning, key=lambda process: (not is_engine(process.argv), process.start_ticks, process.pid)
        )
        return Value(first, f"/proc/{first.pid}, owner of port {port}")
    engines = [process for process in alive if is_engine(process.argv)]
    parents = {process.pid: process.parent for process in alive}
    inner = [process for process in engines if not _wraps(process, engines, parents)]
    if inner:
        first = min(inner, key=lambda process: (process.start_ticks, process.pid))
        if starts_container(first.argv):
            first = replace(
                first, environ=Silent(f"pid {first.pid} {ONLY_STARTS}", f"/proc/{first.pid}/environ")
            )
        return Value(first, f"/proc/{first.pid}, by its command line")
    titles = ", ".join(sorted({process.title for process in alive})[:6])
    return Silent(
        f"none of the unit's {len(alive)} processes owns the port or starts an engine; found: {titles}",
        processes.where,
    )


def _wraps(process: Process, engines: Sequence[Process], parents: Mapping[int, int]) -> bool:
    """Whether another engine process descends from this one with another command line, so was not forked."""
    for other in engines:
        above = other.parent
        seen = {other.pid}
        while above in parents and above != process.pid and above not in seen:
            seen.add(above)
            above = parents[above]
        if above == process.pid and other.argv != process.argv:
            return True
    return False
