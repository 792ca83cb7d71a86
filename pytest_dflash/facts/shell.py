"""A shell on a host: scripts go in by standard input, and testinfra's `host` goes the same way.

Law: acts through `execution` only; knows no probe and no engine. No login shell reads a script, and no length
limit holds; nothing on this side passes through a shell. Every command has a deadline.
"""

from __future__ import annotations

import shlex
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

from testinfra.backend.base import BaseBackend, CommandResult
from testinfra.host import Host

from pytest_dflash.errors import CommandTimeout, HostError, HostUnreachable
from pytest_dflash.facts import preflight
from pytest_dflash.facts.execution import TIMED_OUT, execute
from pytest_dflash.facts.probe import Reply
from pytest_dflash.facts.target import Target

DEADLINE_S = 90.0
GRACE_S = 5.0
"""Seconds that the host's own `timeout` has before the local process is ended."""
COMPLAINT = 2**16
"""Bytes in which a reason is looked for, where no shell spoke."""
HERE = "::dflash:: here"
"""The first words of our shell: all before them is noise of a login shell."""


class Connection:
    """A way to run POSIX sh on one host. Thread-safe; close it.

    Args:
        target: The host.
        shell: Given a deadline in seconds, the argument list that starts a `/bin/sh -s` there.
        environment: Of the local process; None inherits.
        root: Prefix of /proc, /sys, /etc, /dev over there.

    Attributes:
        commands: Scripts run for passive facts.
        connections: ssh connections opened.
        host: testinfra's Host through this very connection.
    """

    def __init__(
        self,
        target: Target,
        shell: Callable[[float], Sequence[str]],
        *,
        environment: Mapping[str, str] | None = None,
        root: str = "",
        deadline_s: float = DEADLINE_S,
    ) -> None:
        self.target = target
        self.root = root
        self.deadline_s = deadline_s
        self.commands = 0
        self.connections = 0
        self._shell = shell
        self._environment = environment
        self._lock = threading.Lock()
        backend = _Backend(self)
        self.host = Host(backend)
        backend.set_host(self.host)

    def run(self, script: str, deadline_s: float | None = None, *, passive: bool = False) -> Reply:
        """Runs `script` in a POSIX shell of the host.

        Args:
            script: POSIX sh. It comes by standard input: a command in it that reads there needs `</dev/null`.
            deadline_s: Seconds; the connection's own where None.
            passive: It reads facts and counts in `commands`.

        Raises:
            CommandTimeout: Nothing came to its end in time. What was said until then is in `partial`.
            HostUnreachable: No shell ran, or the connection was lost; `partial` as above.
        """
        deadline_s = self.deadline_s if deadline_s is None else deadline_s
        with self._lock:
            self._ensure()
            self.commands += passive
        started = time.monotonic()
        payload = f"printf '\\n%s\\n' '{HERE}'\n{script}".encode()
        try:
            # The host's own timeout is to come first: it ends what runs there, ours only what runs here.
            reply = execute(self._shell(deadline_s), payload, deadline_s + GRACE_S, self._environment)
        except FileNotFoundError as missing:
            raise HostUnreachable(
                f"{self.target.name} cannot be reached: `{missing.filename}` is not installed here",
                "Install it (Debian: openssh-client for ssh), or reach the host in another way.",
            ) from None
        noise, heard, stdout = reply.stdout.partition(f"\n{HERE}\n".encode())
        self._check_alive(reply, stdout)
        if reply.rc == TIMED_OUT and time.monotonic() - started >= deadline_s:
            raise self._late(deadline_s, stdout)
        if not heard:
            said = b"\n".join((reply.stderr[-COMPLAINT:], noise[-COMPLAINT:])).decode("utf-8", "replace")
            raise preflight.unreachable(self.target, said)
        return Reply(stdout, reply.stderr, reply.rc)

    def forward(self, remote_host: str, remote_port: int) -> int:
        """A port on 127.0.0.1 here that leads to `remote_host:remote_port` as seen from the host.

        Raises:
            HostError: This kind of connection cannot tunnel, or ssh refused.
        """
        if remote_host not in ("127.0.0.1", "localhost", "::1") or self.target.scheme not in (
            "local",
            "rehearsal",
        ):
            raise HostError(
                f"a connection by {self.target.scheme} cannot tunnel to {remote_host}:{remote_port} of {self.target.name}",
                'Publish the port and name it in the profile: [endpoint] url = "http://…/v1".',
            )
        return remote_port

    @property
    def outside(self) -> str | None:
        """The host's address as this side may reach it directly; None where only this connection leads there."""
        return "127.0.0.1" if self.target.scheme in ("local", "rehearsal") else None

    def close(self) -> None:
        """Ends everything that this connection started. May be called twice."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _ensure(self) -> None:
        """Makes sure that a command can be sent."""

    def _check_alive(self, reply: Reply, partial: bytes) -> None:
        """Raises HostUnreachable where the connection itself is gone."""

    def _late(self, deadline_s: float, partial: bytes) -> CommandTimeout:
        return CommandTimeout(
            f"a command on {self.target.name} did not come to its end within {deadline_s:.0f} s",
            "Is something stuck there (disk, GPU driver, NFS)? `ps -eo stat,wchan:20,args | grep ^D` on the host tells.",
            partial=partial,
        )


class _Backend(BaseBackend):  # type: ignore[misc]  # testinfra ships no types
    """testinfra's view of a Connection: same master, deadlines, and no output in the log."""

    NAME = "dflash"

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        super().__init__(connection.target.host or connection.target.name)
        self._encoding = "utf-8"  # else testinfra runs a command to find out

    def get_pytest_id(self) -> str:
        return self._connection.target.name

    def run(self, command: str, *args: str, **_: Any) -> CommandResult:
        command = self.quote(command, *args)
        reply = self._connection.run(f"exec /bin/sh -c {shlex.quote(command)} </dev/null\n")
        # Not by `self.result`, which writes all output to the log, secrets included.
        return CommandResult(
            backend=self,
            exit_status=reply.rc,
            command=command.encode(),
            _stdout=reply.stdout,
            _stderr=reply.stderr,
        )

    def decode(self, data: bytes) -> str:
        return data.decode("utf-8", "replace")
