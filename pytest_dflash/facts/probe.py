"""A probe: a question in POSIX sh and the pure reader of its answer.

Law: no connection, no engine. A script runs in a subshell with LC_ALL=C.UTF-8, reads nothing from stdin,
changes nothing, and may use these variables, set before the first probe:

    R     prefix of /proc, /sys, /etc, /dev: empty on a host, the stand-in's folder in a rehearsal
    UNIT  the unit's name
    PATH  with /usr/sbin, /sbin and /usr/local/cuda/bin appended

and these, once `SETUP` of `transcript` has run: MAIN_PID, CGROUP, INVOCATION, and PIDS, the unit's processes.
Text from outside never enters a script except through `shlex.quote`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from pytest_dflash.facts.reading import Reading, Silent

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Reply:
    """What one script printed. rc 124 means that its own deadline (`timeout`) ended it."""

    stdout: bytes
    stderr: bytes = b""
    rc: int = 0

    @property
    def text(self) -> str:
        """Standard output as text; what is no UTF-8 is replaced, never an error."""
        return self.stdout.decode("utf-8", "replace")

    def silence(self, command: str) -> Silent:
        """Why `command` told nothing, in words: missing, not allowed, timed out, or its own complaint."""
        complaint = self.stderr.decode("utf-8", "replace").strip().splitlines()
        reason = {
            0: "told nothing that can be read",
            124: "timed out",
            126: "could not be run",
            127: "is not there",
        }.get(self.rc, f"ended with {self.rc}")
        detail = f": {complaint[-1][:300]}" if complaint else ""
        return Silent(f"`{command}` {reason}{detail}", command)


@dataclass(frozen=True, slots=True)
class Probe(Generic[T]):
    """One question.

    Attributes:
        name: Kebab-case, unique among all probes; also the name of its case folder under tests/facts/cases/.
        script: POSIX sh; see the module's header for what it may rely on.
        parse: Total and pure: any reply in, a reading out.
    """

    name: str
    script: str
    parse: Callable[[Reply], Reading[T]]
