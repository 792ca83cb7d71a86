"""The way through a real sshd on loopback."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_dflash.errors import CommandTimeout, HostError, HostUnreachable
from pytest_dflash.facts.collector import Collector
from pytest_dflash.facts.connection import Connection
from pytest_dflash.facts.probe import Probe
from pytest_dflash.facts.reading import Silent, Value

if TYPE_CHECKING:  # a conftest cannot be imported at run time
    from tests.ssh.conftest import Loopback

Connect = Callable[..., Connection]
ECHO = Probe("echo", "echo 'it''s here'; cat", lambda reply: Value(reply.text))
SLOW = Probe("slow", "sleep 20", lambda reply: Value(reply.text))


@contextmanager
def echo_server() -> Iterator[int]:
    """Answers one line per connection, on loopback."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer() -> None:
            while True:
                try:
                    peer, _ = server.accept()
                except OSError:
                    return
                with peer:
                    peer.sendall(b"reached\n")

        thread = threading.Thread(target=answer, daemon=True)
        thread.start()
        try:
            yield server.getsockname()[1]
        finally:
            server.shutdown(socket.SHUT_RDWR)
            thread.join(5)


def through(port: int) -> bytes:
    with socket.create_connection(("127.0.0.1", port), 5) as tunnel:
        return tunnel.recv(100)


def test_many_commands_and_testinfra_share_one_connection(loopback: Loopback, connect: Connect) -> None:
    server = loopback.serve()
    connection = connect(
        f"127.0.0.1:{server.port}", ssh_config=loopback.config(known=((server.port, "host"),))
    )
    assert connection.run("echo hello; exit 3").rc == 3
    assert Collector(connection, "a.service").collect([ECHO]).reading(ECHO) == Value("its here\n")
    assert connection.host.file("/etc/passwd").exists
    assert connection.host.check_output("id -un") == "root"
    assert connection.host.run("exit 255").rc == 255
    assert connection.host.run("echo %s", "a 'b' $c").stdout == "a 'b' $c\n"
    assert (connection.commands, connection.connections, server.accepted) == (1, 1, 1)


def test_closing_leaves_no_folder_and_no_process(loopback: Loopback, connect: Connect) -> None:
    server = loopback.serve()
    connection = connect(
        f"127.0.0.1:{server.port}", ssh_config=loopback.config(known=((server.port, "host"),))
    )
    connection.run("true")
    folder = Path(connection._route.socket).parent  # type: ignore[attr-defined]
    assert folder.stat().st_mode & 0o777 == 0o700
    assert _processes_with(str(folder))
    connection.close()
    connection.close()
    assert not folder.exists()
    assert not _processes_with(str(folder))
    with pytest.raises(HostUnreachable, match="is closed"):
        connection.run("true")


def test_an_unknown_host_key_is_refused(loopback: Loopback, connect: Connect) -> None:
    server = loopback.serve()
    connection = connect(f"127.0.0.1:{server.port}", ssh_config=loopback.config())
    with pytest.raises(HostUnreachable, match="is not known here, and nobody can be asked") as refused:
        connection.run("true")
    assert f"ssh -p {server.port} 127.0.0.1" in refused.value.remedy


def test_a_changed_host_key_is_refused(loopback: Loopback, connect: Connect) -> None:
    server = loopback.serve()
    loopback.make_key("other")
    connection = connect(
        f"127.0.0.1:{server.port}", ssh_config=loopback.config(known=((server.port, "other"),))
    )
    with pytest.raises(HostUnreachable, match="is not the one that is known"):
        connection.run("true")


def test_a_wrong_key_is_refused(loopback: Loopback, connect: Connect) -> None:
    server = loopback.serve()
    wrong = loopback.make_key("wrong")
    connection = connect(
        f"127.0.0.1:{server.port}",
        ssh_config=loopback.config(
            "IdentitiesOnly yes", "IdentityAgent none", known=((server.port, "host"),)
        ),
        ssh_identity_file=str(wrong),
    )
    with pytest.raises(HostUnreachable, match="refused the key") as refused:
        connection.run("true")
    assert "authorized_keys" in refused.value.remedy


def test_a_closed_port_and_an_unknown_name_say_so(loopback: Loopback, connect: Connect) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with pytest.raises(HostUnreachable, match="refused the connection"):
        connect(f"127.0.0.1:{port}", ssh_config=loopback.config()).run("true")
    with pytest.raises(HostUnreachable, match=r"the name gpu1\.invalid is not known"):
        connect("gpu1.invalid", ssh_config=loopback.config()).run("true")


def test_a_port_that_is_no_sshd_says_so(loopback: Loopback, connect: Connect) -> None:
    with echo_server() as port, pytest.raises(HostUnreachable, match="before anybody could log in"):
        connect(f"127.0.0.1:{port}", ssh_config=loopback.config()).run("true")


def test_a_user_without_a_shell_says_so(
    loopback: Loopback, connect: Connect, new_user: Callable[[str], str]
) -> None:
    server = loopback.serve()
    user = new_user(shutil.which("nologin", path="/usr/sbin:/sbin") or "/usr/sbin/nologin")
    connection = connect(
        f"{user}@127.0.0.1:{server.port}", ssh_config=loopback.config(known=((server.port, "host"),))
    )
    with pytest.raises(HostUnreachable, match="has no shell"):
        Collector(connection, "a.service").collect([ECHO])


def test_a_forced_command_says_so(loopback: Loopback, connect: Connect) -> None:
    server = loopback.serve("ForceCommand echo only this")
    connection = connect(
        f"127.0.0.1:{server.port}", ssh_config=loopback.config(known=((server.port, "host"),))
    )
    with pytest.raises(HostUnreachable, match=r"did not run a shell for us \(it said: only this") as refused:
        Collector(connection, "a.service").collect([ECHO])
    assert "forced command" in refused.value.remedy


@pytest.mark.parametrize("shell", ["bash", "tcsh", "fish", "zsh", "noisy"])
def test_any_login_shell_and_its_noise_are_borne(
    loopback: Loopback, connect: Connect, new_user: Callable[[str], str], shell: str
) -> None:
    path = shutil.which(shell)
    if shell == "noisy":
        noisy = loopback.folder / "noisy"
        noisy.write_text(
            '#!/bin/sh\necho "Welcome!\n::dflash:: end echo 0 -"; printf "no newline"; exec /bin/sh "$@"\n'
        )
        noisy.chmod(0o755)
        path = str(noisy)
    if path is None:
        pytest.skip(f"needs {shell}: apt-get install {shell}")
    server = loopback.serve("Banner /etc/hostname")
    user = new_user(path)
    Path(loopback.folder, f"home-{user}", ".bashrc").write_text("echo; echo more noise\n")
    connection = connect(
        f"{user}@127.0.0.1:{server.port}", ssh_config=loopback.config(known=((server.port, "host"),))
    )
    read = Collector(connection, "a.service").collect([ECHO])
    assert (read.reading(ECHO), read.cut) == (Value("its here\n"), "")
    # And so is testinfra's own command, whatever characters it holds.
    assert connection.host.run("printf '%s\n' 'a!b\\c' | grep a").stdout == "a!b\\c\n"


def test_sudo_that_asks_for_a_password_says_so(
    loopback: Loopback, connect: Connect, new_user: Callable[[str], str]
) -> None:
    if not shutil.which("sudo"):
        pytest.skip("needs sudo: apt-get install sudo")
    server = loopback.serve()
    user = new_user("/bin/sh")
    config = loopback.config(known=((server.port, "host"),))
    connection = connect(f"{user}@127.0.0.1:{server.port}", ssh_config=config, sudo=True)
    with pytest.raises(HostUnreachable, match=r"asks for a password|may not use sudo") as refused:
        Collector(connection, "a.service").collect([ECHO])
    assert "NOPASSWD" in refused.value.remedy


def test_the_user_is_specs_else_the_configs_else_root(
    loopback: Loopback, connect: Connect, new_user: Callable[[str], str]
) -> None:
    server = loopback.serve()
    user, other = new_user("/bin/sh"), new_user("/bin/sh")
    known = ((server.port, "host"),)
    place = f"127.0.0.1:{server.port}"
    config = loopback.config(
        "Host box", "    HostName 127.0.0.1", f"    User {user}", f"    Port {server.port}", known=known
    )
    assert connect("box", ssh_config=config).run("id -un").stdout.decode() == f"{user}\n"
    assert connect(f"{other}@box", ssh_config=config).run("id -un").stdout.decode() == f"{other}\n"
    assert connect(place, ssh_config=loopback.config(known=known)).run("id -un").stdout == b"root\n"


def test_a_bastion_of_the_ssh_config_leads_there_and_the_tunnel_goes_through_it(
    loopback: Loopback, connect: Connect
) -> None:
    bastion, inner = loopback.serve(), loopback.serve()
    config = loopback.config(
        f"Host gpu\n    HostName 127.0.0.1\n    Port {inner.port}\n    ProxyJump bastion",
        f"Host bastion\n    HostName 127.0.0.1\n    User root\n    Port {bastion.port}",
        f"Host *\n    IdentityFile {loopback.key}",
        known=((bastion.port, "host"), (inner.port, "host")),
    )
    connection = connect("gpu", ssh_config=config)
    with echo_server() as port:
        assert through(connection.forward("127.0.0.1", port)) == b"reached\n"
    assert connection.run("echo $SSH_CONNECTION").stdout.split()[3] == str(inner.port).encode()
    assert (bastion.accepted, inner.accepted, connection.connections) == (1, 1, 1)


def test_a_bastion_whose_key_is_unknown_is_refused_without_a_question(
    loopback: Loopback, connect: Connect
) -> None:
    bastion, inner = loopback.serve(), loopback.serve()
    config = loopback.config(
        f"Host gpu\n    HostName 127.0.0.1\n    Port {inner.port}\n    ProxyJump bastion",
        f"Host bastion\n    HostName 127.0.0.1\n    Port {bastion.port}",
        known=((inner.port, "host"),),
    )
    with pytest.raises(HostUnreachable, match="the host key of gpu is not known here"):
        connect("gpu", ssh_config=config).run("true")


def test_an_sshd_that_allows_one_session_is_enough(loopback: Loopback, connect: Connect) -> None:
    server = loopback.serve("MaxSessions 1")
    connection = connect(
        f"127.0.0.1:{server.port}", ssh_config=loopback.config(known=((server.port, "host"),))
    )
    assert [connection.run("echo in").stdout for _ in range(3)] == [b"in\n"] * 3
    assert server.accepted == 1


def test_an_sshd_that_allows_no_session_says_so(loopback: Loopback, connect: Connect) -> None:
    server = loopback.serve("MaxSessions 0")
    connection = connect(
        f"127.0.0.1:{server.port}", ssh_config=loopback.config(known=((server.port, "host"),))
    )
    with pytest.raises(HostUnreachable, match="allows no session over a shared connection"):
        connection.run("true")


def test_a_master_that_was_killed_is_opened_anew_by_the_next_command(
    loopback: Loopback, connect: Connect
) -> None:
    server = loopback.serve()
    connection = connect(
        f"127.0.0.1:{server.port}", ssh_config=loopback.config(known=((server.port, "host"),))
    )
    connection.run("true")
    for pid in _processes_with(connection._route.socket):  # type: ignore[attr-defined]
        os.kill(pid, signal.SIGKILL)
    with pytest.raises(HostUnreachable, match="was lost"):
        connection.run("true")
    assert connection.run("echo again").stdout == b"again\n"
    assert connection.connections == 2


def test_a_forbidden_tunnel_is_told_by_the_master(loopback: Loopback, connect: Connect) -> None:
    server = loopback.serve("AllowTcpForwarding no")
    connection = connect(
        f"127.0.0.1:{server.port}", ssh_config=loopback.config(known=((server.port, "host"),))
    )
    assert through(connection.forward("127.0.0.1", 9)) == b""
    assert "prohibited" in connection.said()  # type: ignore[attr-defined]


def test_containers_and_the_like_cannot_tunnel(connect: Connect) -> None:
    with pytest.raises(HostError, match="by docker cannot tunnel"):
        connect("docker://c").forward("127.0.0.1", 30000)


def test_a_connection_that_drops_keeps_what_was_complete(loopback: Loopback, connect: Connect) -> None:
    server = loopback.serve()
    connection = connect(
        f"127.0.0.1:{server.port}", ssh_config=loopback.config(known=((server.port, "host"),))
    )
    connection.run("true")
    drop = Probe(
        "drop",
        f"kill -9 $(ps -o pid= --ppid {server.process.pid}); sleep 20",
        lambda reply: Value(reply.text),
    )
    read = Collector(connection, "a.service").collect([ECHO, drop, SLOW])
    assert read.reading(ECHO) == Value("its here\n")
    assert "the connection to" in read.cut
    assert "was lost" in read.cut
    assert read.reading(SLOW) == Silent(read.cut, "slow")
    assert connection.run("echo again").stdout == b"again\n"
    assert connection.connections == 2


def test_a_command_that_hangs_ends_at_its_deadline_on_both_sides(
    loopback: Loopback, connect: Connect
) -> None:
    server = loopback.serve()
    connection = connect(
        f"127.0.0.1:{server.port}", ssh_config=loopback.config(known=((server.port, "host"),))
    )
    started = time.monotonic()
    with pytest.raises(CommandTimeout, match="did not come to its end within 1 s") as late:
        connection.run("echo so far; sleep 987", 1)
    assert late.value.partial == b"so far\n"
    assert time.monotonic() - started < 5
    assert not _processes_with("sleep\0987")


def test_ctrl_c_leaves_no_process_and_no_folder(loopback: Loopback, tmp_path: Path) -> None:
    server = loopback.serve()
    config = loopback.config(known=((server.port, "host"),))
    program = (
        "from pytest_dflash.facts.connection import open_connection\n"
        "from pytest_dflash.facts.target import parse_spec\n"
        f"c = open_connection(parse_spec('127.0.0.1:{server.port}'), ssh_config={config!r}, "
        f"ssh_identity_file={str(loopback.key)!r})\n"
        "c.run('true'); print(c._route.socket, flush=True); c.run('sleep 986')\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as child:
        assert child.stdout
        folder = Path(child.stdout.readline().decode().strip()).parent
        until = time.monotonic() + 10
        while not _processes_with("exec timeout") and time.monotonic() < until:
            time.sleep(0.02)
        child.send_signal(signal.SIGINT)
        child.wait(15)
        assert b"KeyboardInterrupt" in (child.stderr.read() if child.stderr else b"")
    assert not folder.exists()
    assert not _processes_with(str(folder))


def _processes_with(words: str) -> list[int]:
    """Live processes, ourselves left out, in whose argv `words` stand."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                argv = (entry / "cmdline").read_bytes()
            except OSError:
                continue
            if words.encode() in argv:
                found.append(int(entry.name))
    return found
