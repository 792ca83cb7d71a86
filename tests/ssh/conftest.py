"""A real sshd on loopback, made for the run: own host key, own user key, own known_hosts. Needs root."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from pytest_dflash.facts.connection import Connection, open_connection
from pytest_dflash.facts.target import parse_spec

SSHD = shutil.which("sshd", path="/usr/sbin:/usr/local/sbin:/usr/bin")
WHY_NOT = "needs root and sshd: apt-get install openssh-server, and run as root"


@dataclass
class Sshd:
    """One running sshd: its port, its process, and what it logged."""

    port: int
    process: subprocess.Popen[bytes]
    log: Path

    @property
    def accepted(self) -> int:
        """TCP connections that it took."""
        return self.log.read_text().count("Connection from ")


@dataclass
class Loopback:
    """Keys, configs and servers of one test."""

    folder: Path
    servers: list[Sshd]

    @property
    def key(self) -> Path:
        return self.folder / "id"

    def serve(self, *options: str, host_key: str = "host") -> Sshd:
        with socket.create_server(("127.0.0.1", 0)) as probe:
            port = probe.getsockname()[1]
        config = self.folder / f"sshd-{port}"
        log = self.folder / f"sshd-{port}.log"
        config.write_text(
            "\n".join(
                [
                    *options,  # the first value wins
                    f"Port {port}",
                    "ListenAddress 127.0.0.1",
                    f"HostKey {self.folder / host_key}",
                    f"AuthorizedKeysFile {self.folder / 'authorized'}",
                    "PidFile none",
                    "UsePAM no",
                    "StrictModes no",
                    "PasswordAuthentication no",
                    "KbdInteractiveAuthentication no",
                    "PermitRootLogin yes",
                    "LogLevel VERBOSE",
                    "PrintMotd no",
                    "",
                ]
            )
        )
        assert SSHD
        process = subprocess.Popen([SSHD, "-D", "-f", str(config), "-E", str(log)])
        server = Sshd(port, process, log)
        self.servers.append(server)
        until = time.monotonic() + 10
        while "Server listening" not in (log.read_text() if log.exists() else ""):
            assert process.poll() is None, log.read_text() if log.exists() else "sshd did not start"
            assert time.monotonic() < until
            time.sleep(0.01)
        return server

    def config(self, *lines: str, known: tuple[tuple[int, str], ...] = ()) -> str:
        hosts = self.folder / f"known-{len(list(self.folder.glob('known-*')))}"
        hosts.write_text("".join(f"[127.0.0.1]:{port} {self.public(name)}\n" for port, name in known))
        path = hosts.with_name(hosts.name.replace("known", "config"))
        path.write_text(
            "\n".join(
                [
                    *lines,
                    "Host *",
                    f"    UserKnownHostsFile {hosts}",
                    "    GlobalKnownHostsFile /dev/null",
                    "",
                ]
            )
        )
        return str(path)

    def public(self, name: str) -> str:
        return " ".join((self.folder / f"{name}.pub").read_text().split()[:2])

    def make_key(self, name: str) -> Path:
        path = self.folder / name
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", path], check=True)
        return path


@pytest.fixture
def loopback() -> Iterator[Loopback]:
    if not SSHD or os.getuid() != 0:
        pytest.skip(WHY_NOT)
    Path("/run/sshd").mkdir(exist_ok=True)
    # sshd reads the keys as the user who logs in, and pytest's own folders are root's alone.
    folder = Path(tempfile.mkdtemp(prefix="dflash-sshd-"))
    folder.chmod(0o755)
    bench = Loopback(folder, [])
    bench.make_key("host")
    bench.make_key("id")
    shutil.copy(folder / "id.pub", folder / "authorized")
    (folder / "authorized").chmod(0o644)
    yield bench
    for server in bench.servers:
        server.process.terminate()
        server.process.wait(10)
    shutil.rmtree(folder)


@pytest.fixture
def connect(loopback: Loopback) -> Iterator[Callable[..., Connection]]:
    """Opens connections with the user key, closed afterwards."""
    opened: list[Connection] = []

    def open_(spec: str, **options: object) -> Connection:
        options.setdefault("ssh_identity_file", str(loopback.key))
        connection = open_connection(parse_spec(spec), **options)  # type: ignore[arg-type]  # as the test says
        opened.append(connection)
        return connection

    yield open_
    for connection in opened:
        connection.close()


@pytest.fixture
def new_user(loopback: Loopback) -> Iterator[Callable[[str], str]]:
    """Makes users with a given login shell, removed afterwards."""
    made: list[str] = []

    def make(shell: str) -> str:
        name = f"dfl{os.getpid()}x{len(made)}"
        home = loopback.folder / f"home-{name}"
        subprocess.run(
            ["useradd", "-M", "-d", home, "-s", shell, "-p", "*", name], check=True, capture_output=True
        )
        made.append(name)
        home.mkdir()
        user = pwd.getpwnam(name)
        os.chown(home, user.pw_uid, user.pw_gid)
        return name

    yield make
    for name in made:
        subprocess.run(["userdel", "-f", name], check=False, capture_output=True)
