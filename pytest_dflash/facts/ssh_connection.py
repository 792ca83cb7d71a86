"""The ssh way to a host: one master connection, its commands, its tunnels, and its end.

Law: acts (ssh, a private folder, one socket to find a free port); what ssh is told stands in `ssh`.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import socket
import tempfile
import weakref
from collections.abc import Sequence
from pathlib import Path

from pytest_dflash.errors import HostError, HostUnreachable
from pytest_dflash.facts import preflight, ssh
from pytest_dflash.facts.execution import TIMED_OUT, execute, launch
from pytest_dflash.facts.probe import Reply
from pytest_dflash.facts.shell import DEADLINE_S, Connection
from pytest_dflash.facts.target import Target

SSH_FAILED = 255


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
        text = ssh.config_text(_configs(ssh_config), target.host)
        # Short: a socket's path has at most 104 bytes, and TMPDIR may be long.
        folder = tempfile.mkdtemp(prefix="dfl-", dir="/tmp" if Path("/tmp").is_dir() else None)  # noqa: S108 - 0700, and short
        config = Path(folder, "config")
        config.write_text(text)
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
            reply = execute(
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
        said = execute(self._route.resolve(), b"", 10).text.lower()
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
            rc = launch(self._route.open_master(), self._log, 4 * ssh.CONNECT_TIMEOUT_S)
        except FileNotFoundError:
            raise HostUnreachable(
                "no `ssh` here",
                "Install it (Debian: apt install openssh-client), or reach the host by docker:// or local://.",
            ) from None
        if rc not in (0, TIMED_OUT) and re.search(r"kex_exchange|onnection closed|banner", self.said()):
            launch(self._route.explain(), self._log, 2 * ssh.CONNECT_TIMEOUT_S)
        if rc:
            late = "Connection timed out" if rc == TIMED_OUT else ""
            raise preflight.unreachable(self.target, f"{self.said()}\n{late}")
        self.connections += 1

    def _check_alive(self, reply: Reply, partial: bytes) -> None:
        if reply.rc not in (SSH_FAILED, TIMED_OUT):
            return
        complaint = reply.stderr.decode("utf-8", "replace")
        if "Session open refused" in complaint:
            raise preflight.unreachable(self.target, complaint)
        if execute(self._route.control("check"), b"", 10).rc:
            Path(self._route.socket).unlink(
                missing_ok=True
            )  # of a master that was killed; the next command opens anew
            error = preflight.lost(self.target, self.said() + complaint)
            error.partial = partial
            raise error


def _end_master(route: ssh.SshRoute, folder: str) -> None:
    if Path(route.socket).exists():
        with contextlib.suppress(OSError):  # else ControlPersist ends it
            execute(route.control("exit"), b"", 5)
    shutil.rmtree(folder, ignore_errors=True)


def _configs(ssh_config: str | None) -> list[str]:
    """The configs that ssh would read, the user's first.

    Raises:
        HostUnreachable: Others may write the user's own, which ssh would refuse, too.
    """
    if ssh_config is not None:
        return [str(Path(ssh_config).expanduser().resolve())]
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
