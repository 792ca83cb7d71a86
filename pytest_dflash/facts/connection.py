"""The one way to a host: runs scripts there, tunnels ports, and is testinfra's `host` as well.

Law: acts on the world (processes, one socket to find a free port); knows no probe and no engine. A script goes
by standard input to a POSIX shell, so that no login shell reads it and no length limit holds; nothing on this
side passes through a shell. Every command has a deadline.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from testinfra.backend.base import BaseBackend, CommandResult
from testinfra.host import Host

from pytest_dflash.errors import CommandTimeout, HostError, HostUnreachable, UsageError
from pytest_dflash.facts import preflight, ssh
from pytest_dflash.facts.probe import Reply
from pytest_dflash.facts.target import Target

DEADLINE_S = 90.0
GRACE_S = 5.0
"""Seconds that the host's own `timeout` has before the local process is ended."""
TIMED_OUT = 124
SSH_FAILED = 255
HERE = "::dflash:: here"
LOCAL_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


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
        """Runs `script` in a POSIX shell of the host, with an empty standard input.

        Args:
            script: POSIX sh. It must take care itself that its commands do not read the rest of it.
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
            reply = _execute(self._shell(deadline_s), payload, deadline_s + GRACE_S, self._environment)
        except subprocess.TimeoutExpired as late:
            reply = Reply(late.stdout or b"", late.stderr or b"", TIMED_OUT)
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
            said = reply.stderr.decode("utf-8", "replace") + "\n" + noise.decode("utf-8", "replace")
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


class SshConnection(Connection):
    """A connection through one multiplexed ssh master with a private control socket."""

    def __init__(  # noqa: PLR0913 - as `open_connection`
        self,
        target: Target,
        *,
        ssh_config: str | None = None,
        ssh_identity_file: str | None = None,
        sudo: bool = False,
        sudo_user: str | None = None,
        extra: Sequence[str] = (),
        deadline_s: float = DEADLINE_S,
    ) -> None:
        # Short: a socket's path has at most 104 bytes, and TMPDIR may be long.
        folder = tempfile.mkdtemp(prefix="dfl-", dir="/tmp" if Path("/tmp").is_dir() else None)  # noqa: S108 - 0700, and short
        config = Path(folder, "config")
        config.write_text(ssh.config_text(_configs(ssh_config)))
        self._log = Path(folder, "log")
        self._route = ssh.SshRoute(
            target=target,
            socket=f"{folder}/m",
            config=str(config),
            log=str(self._log),
            identity_file=str(Path(ssh_identity_file).expanduser()) if ssh_identity_file else None,
            extra=tuple(extra),
        )
        self._end = weakref.finalize(self, _end_master, self._route, folder)
        super().__init__(
            target,
            lambda limit: self._route.command(
                ssh.remote_shell(limit, ssh.sudo_words(sudo_user, wanted=sudo))
            ),
            deadline_s=deadline_s,
        )

    def forward(self, remote_host: str, remote_port: int) -> int:
        """As Connection.forward, by `ssh -O forward` over the same connection."""
        with self._lock:
            self._ensure()
        place = f"[{remote_host}]" if ":" in remote_host else remote_host
        said = b""
        for _ in range(3):  # somebody else may take the port that we found free
            port = _free_port()
            reply = _execute(
                self._route.control("forward", "-L", f"127.0.0.1:{port}:{place}:{remote_port}"), b"", 15
            )
            if reply.rc == 0:
                return port
            said = reply.stderr
        raise HostError(
            f"ssh could not tunnel to {remote_host}:{remote_port} of {self.target.name}: "
            f"{said.decode('utf-8', 'replace').strip()[:300]}",
            'Check AllowTcpForwarding of its sshd, or name a reachable address: [endpoint] url = "http://…/v1".',
        )

    @property
    def outside(self) -> str | None:
        """As Connection.outside: HostName by the user's ssh config, and None where a bastion stands before it."""
        said = _execute(self._route.resolve(), b"", 10).text.lower()
        known = dict(line.split(" ", 1) for line in said.splitlines() if " " in line)
        bastion = any(known.get(option, "none") != "none" for option in ("proxyjump", "proxycommand"))
        return None if bastion else known.get("hostname")

    def said(self) -> str:
        """What the master complained about so far: refused tunnels, a lost peer."""
        return self._log.read_text("utf-8", "replace") if self._log.is_file() else ""

    def close(self) -> None:
        """Ends the master, removes its folder."""
        self._end()

    def _ensure(self) -> None:
        if not self._end.alive:
            raise HostUnreachable(f"the connection to {self.target.name} is closed")
        if Path(self._route.socket).exists():
            return
        self._log.unlink(missing_ok=True)
        try:
            # ConnectTimeout covers TCP and banner; a bastion and a slow key exchange need more.
            reply = _execute(self._route.open_master(), b"", 4 * ssh.CONNECT_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            raise preflight.unreachable(self.target, f"{self.said()}\nConnection timed out") from None
        except FileNotFoundError:
            raise HostUnreachable(
                "no `ssh` here",
                "Install it (Debian: apt install openssh-client), or reach the host by docker:// or local://.",
            ) from None
        if reply.rc:
            raise preflight.unreachable(self.target, self.said() + reply.stderr.decode("utf-8", "replace"))
        self.connections += 1

    def _check_alive(self, reply: Reply, partial: bytes) -> None:
        if reply.rc not in (SSH_FAILED, TIMED_OUT):
            return
        complaint = reply.stderr.decode("utf-8", "replace")
        refused = "mux_client_" in complaint or "Session open refused" in complaint
        if refused or _execute(self._route.control("check"), b"", 10).rc:
            error = preflight.lost(self.target, self.said() + complaint)
            error.partial = partial
            raise error


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


def open_connection(  # noqa: PLR0913 - one for each option of the command line
    target: Target,
    *,
    ssh_config: str | None = None,
    ssh_identity_file: str | None = None,
    sudo: bool = False,
    sudo_user: str | None = None,
    deadline_s: float = DEADLINE_S,
) -> Connection:
    """A connection to `target`, not yet connected: the first command does that.

    Args:
        target: Anything but ansible (see `inventory`) and rehearsal.
        ssh_config: Instead of the user's and the system's.
        ssh_identity_file: A private key.
        sudo: Run everything by `sudo -n`.
        sudo_user: As this user instead of root.
        deadline_s: Default for each command, in seconds.

    Raises:
        UsageError: `sudo_user` is no user name.
    """
    if sudo_user and (sudo_user.startswith("-") or shlex.quote(sudo_user) != sudo_user):
        raise UsageError(f"--sudo-user={sudo_user!r} is no user name")
    if target.scheme == "ssh":
        return SshConnection(
            target,
            ssh_config=ssh_config,
            ssh_identity_file=ssh_identity_file,
            sudo=sudo,
            sudo_user=sudo_user,
            deadline_s=deadline_s,
        )
    elevated = ssh.sudo_words(sudo_user, wanted=sudo)
    if target.scheme == "local":
        return Connection(target, lambda _: [*elevated, "/bin/sh", "-s"], deadline_s=deadline_s)
    user = ["-u", target.user] if target.user else []
    enter = [target.scheme, "exec", "-i", *user, target.host, *elevated, "/bin/sh", "-s"]
    return Connection(target, lambda _: enter, deadline_s=deadline_s)


def local_connection(root: str | Path, bin_folder: str | Path, deadline_s: float = DEADLINE_S) -> Connection:
    """A connection to the stand-in host: local processes, its executables first on PATH, a clean environment."""
    environment = {"PATH": f"{bin_folder}:{LOCAL_PATH}", "HOME": "/nonexistent", "LANG": "C.UTF-8"}
    return Connection(
        Target(scheme="rehearsal", name="rehearsal"),
        lambda _: ["/bin/sh", "-s"],
        environment=environment,
        root=str(root),
        deadline_s=deadline_s,
    )


def _execute(
    argv: Sequence[str], stdin: bytes, deadline_s: float, environment: Mapping[str, str] | None = None
) -> Reply:
    """Runs a local command in a process group of its own, and leaves nothing of it behind.

    Raises:
        subprocess.TimeoutExpired: With what was said until then.
    """
    with subprocess.Popen(  # noqa: S603 - an argument list, checked by whoever made it
        argv,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
        start_new_session=True,
    ) as process:
        try:
            stdout, stderr = process.communicate(stdin, deadline_s)
        except subprocess.TimeoutExpired as late:
            _kill(process)
            late.stdout, late.stderr = process.communicate()
            raise
        except BaseException:  # Ctrl-C above all
            _kill(process)
            raise
    return Reply(stdout, stderr, process.returncode)


def _kill(process: subprocess.Popen[bytes]) -> None:
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        process.kill()


def _end_master(route: ssh.SshRoute, folder: str) -> None:
    if Path(route.socket).exists():
        with contextlib.suppress(subprocess.TimeoutExpired, OSError):  # else ControlPersist ends it
            _execute(route.control("exit"), b"", 5)
    shutil.rmtree(folder, ignore_errors=True)


def _configs(ssh_config: str | None) -> list[str]:
    """The configs that ssh would read, the user's first.

    Raises:
        UsageError: The given one cannot be read.
    """
    if ssh_config is not None:
        path = Path(ssh_config).expanduser().resolve()
        if not path.is_file() or not os.access(path, os.R_OK):
            raise UsageError(f"--ssh-config={ssh_config}: no such file, or not readable")
        return [str(path)]
    own = Path("~/.ssh/config").expanduser()
    if own.exists() and (own.stat().st_uid not in (0, os.getuid()) or own.stat().st_mode & 0o022):
        raise HostUnreachable(
            f"bad owner or permissions on {own}: others could write there",
            f"`chmod go-w {own}` and look who did.",
        )
    return [str(own), "/etc/ssh/ssh_config"]


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])
