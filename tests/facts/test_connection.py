"""Connections that need no sshd: local, the stand-in's, containers; and what a SPEC cannot do."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pytest_dflash.errors import CommandTimeout, HostError, HostUnreachable, UsageError
from pytest_dflash.facts.connection import check_options, local_connection, open_connection
from pytest_dflash.facts.ssh import SshRoute, config_text, remote_shell
from pytest_dflash.facts.target import Target, parse_spec


def tool(folder: Path, name: str, text: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\n{text}\n")
    (folder / name).chmod(0o755)


def test_bytes_status_and_both_streams_come_back() -> None:
    with open_connection(parse_spec("local://")) as connection:
        reply = connection.run("printf 'a\\000\\377'; echo no >&2; exit 7")
    assert (reply.stdout, reply.stderr, reply.rc) == (b"a\x00\xff", b"no\n", 7)


def test_only_passive_commands_are_counted() -> None:
    connection = open_connection(parse_spec("local://"))
    connection.run("true", passive=True)
    connection.run("true")
    connection.host.run("true")
    assert (connection.commands, connection.connections) == (1, 0)


def test_a_long_script_has_no_limit() -> None:
    with open_connection(parse_spec("local://")) as connection:
        assert len(connection.run(f"printf %s '{'x' * 500_000}'").stdout) == 500_000


def test_a_late_command_is_ended_with_all_its_children_and_what_it_said_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pytest_dflash.facts.shell.GRACE_S", 0)
    connection = open_connection(parse_spec("local://"), deadline_s=0.5)
    with pytest.raises(CommandTimeout, match="a command on local did not come to its end within") as late:
        connection.run(f"echo so far; sleep 985 & echo $! >'{tmp_path}/pid'; wait")
    assert late.value.partial == b"so far\n"
    assert "ps -eo stat,wchan" in late.value.remedy
    pid = int((tmp_path / "pid").read_text())
    for _ in range(100):
        if not Path(f"/proc/{pid}").exists() or "Z" in Path(f"/proc/{pid}/stat").read_text().split(")")[1]:
            break
        time.sleep(0.01)
    else:
        pytest.fail(f"process {pid} outlived its deadline")


def test_a_command_that_itself_ends_with_124_is_not_late() -> None:
    assert open_connection(parse_spec("local://")).run("exit 124").rc == 124


def test_the_stand_in_sees_its_tools_first_and_nothing_of_our_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_OF_OURS", "x")
    tool(tmp_path / "b in", "systemctl", "echo stand-in")
    connection = local_connection(tmp_path / "root", tmp_path / "b in")
    assert connection.run("systemctl; env").text.startswith("stand-in\n")
    assert "SECRET_OF_OURS" not in connection.run("env").text
    assert connection.host.check_output("systemctl") == "stand-in"
    assert (connection.root, connection.target.name) == (str(tmp_path / "root"), "rehearsal")


def test_testinfras_host_quotes_formats_and_reads_as_everywhere(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")
    host = open_connection(parse_spec("local://")).host
    assert host.run("echo %s; cat", "it's").stdout == "it's\n"
    assert host.run("printf '\\377'").stdout == "\ufffd"
    assert host.run("exit 9").rc == 9
    assert host.file("/etc/passwd").exists
    assert host.backend.get_pytest_id() == "local"
    assert "it's" not in caplog.text


def test_a_local_port_needs_no_tunnel_and_a_container_has_none() -> None:
    assert open_connection(parse_spec("local://")).forward("127.0.0.1", 30000) == 30000
    with pytest.raises(HostError, match=r"by docker cannot tunnel to 127\.0\.0\.1:30000 of web") as refused:
        open_connection(parse_spec("docker://web")).forward("127.0.0.1", 30000)
    assert "[endpoint] url" in refused.value.remedy


def test_containers_are_entered_by_their_own_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tool(tmp_path, "docker", f'echo "$@" >{tmp_path}/asked; shift 5; exec "$@"')
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    assert open_connection(parse_spec("docker://app@web")).run("echo in").stdout == b"in\n"
    assert (tmp_path / "asked").read_text() == "exec -i -u app web /bin/sh -s\n"


def test_a_container_that_is_not_there_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tool(
        tmp_path,
        "podman",
        "echo 'Error: no container with name or ID \"web\" found: no such container' >&2; exit 125",
    )
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    with pytest.raises(HostUnreachable, match="there is no container web"):
        open_connection(parse_spec("podman://web")).run("true")
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    with pytest.raises(HostUnreachable, match="`podman` is not installed here"):
        open_connection(parse_spec("podman://web")).run("true")
    with pytest.raises(HostUnreachable, match="no `ssh` here"):
        open_connection(parse_spec("gpu1")).run("true")


@pytest.mark.parametrize("name", ["-x", "a b", "a;id", "$(id)"])
def test_a_sudo_user_that_is_no_name_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match="is no user name"):
        open_connection(parse_spec("local://"), sudo=True, sudo_user=name)


def test_an_ssh_config_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such file, or not readable"):
        open_connection(parse_spec("gpu1"), ssh_config=str(tmp_path / "none"))
    with pytest.raises(UsageError, match=r"--ssh-identity-file=.*none: no such file, or not readable"):
        check_options(ssh_identity_file=str(tmp_path / "none"))


def test_an_own_ssh_config_that_others_can_write_is_refused_as_ssh_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".ssh").mkdir()
    (tmp_path / ".ssh/config").write_text("")
    (tmp_path / ".ssh/config").chmod(0o666)
    with pytest.raises(HostUnreachable, match="bad owner or permissions"):
        open_connection(parse_spec("gpu1"))


def test_ssh_is_called_without_a_shell_and_its_options_end_before_the_host() -> None:
    route = SshRoute(
        target=Target(scheme="ssh", name="gpu1", host="gpu1", user="me", port=2222),
        socket="/tmp/d/m",
        config="/c",
        log="/l",
    )
    assert route.open_master()[-6:] == ["-l", "me", "-p", "2222", "--", "gpu1"]
    assert "BatchMode=yes" in route.open_master()
    assert not any("StrictHostKeyChecking" in word for word in route.open_master())
    assert route.command("x")[-3:] == ["--", "gpu1", "x"]
    assert route.control("forward", "-L", "1:h:2")[-6:] == ["-O", "forward", "-L", "1:h:2", "--", "gpu1"]


def test_whatever_reaches_ssh_runs_no_command_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Even a target that the reader of SPEC would refuse stays one word of an argument list.
    monkeypatch.chdir(tmp_path)
    for evil in (
        "-oProxyCommand=touch evil",
        "$(touch evil)",
        "`touch evil`",
        "x;touch evil",
        "x\ntouch evil",
    ):
        connection = open_connection(Target(scheme="ssh", name="x", host=evil))
        with pytest.raises(HostUnreachable):
            connection.run("true")
        connection.close()
    assert list(tmp_path.iterdir()) == []


def test_the_fallback_to_root_stands_behind_every_included_config() -> None:
    assert config_text(["/a b/config", "/etc/ssh/ssh_config"], "gpu1").splitlines() == [
        'Include "/a b/config"',
        'Include "/etc/ssh/ssh_config"',
        "Host gpu1",  # and not the bastions
        "    User root",
        "Host *",
        "    BatchMode yes",
        "    ConnectTimeout 10",
        "    ConnectionAttempts 1",
    ]
    assert "User" not in config_text([], "a\n*")


def test_the_remote_command_is_one_line_that_any_login_shell_reads() -> None:
    command = remote_shell(2.4, ["sudo", "-n", "-u", "svc", "--"])
    assert command.startswith("exec sudo -n -u svc -- /bin/sh -c '")
    assert "timeout -k 5 2 /bin/sh -s" in command
    assert not set(command) & set('!\\\n"`$')


def test_a_connection_that_was_never_closed_leaves_nothing(tmp_path: Path) -> None:
    program = (
        "from pytest_dflash.facts.connection import open_connection\n"
        "from pytest_dflash.facts.target import parse_spec\n"
        "c = open_connection(parse_spec('gpu1.invalid')); print(c._route.config)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    folder = Path(done.stdout.strip()).parent
    assert len(str(folder / "m")) < 60
    assert not folder.exists()


def test_the_private_folder_is_private() -> None:
    with open_connection(parse_spec("gpu1.invalid")) as connection:
        folder = Path(connection._route.config).parent  # type: ignore[attr-defined]
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert not folder.exists()


def test_ctrl_c_ends_what_runs() -> None:
    program = (
        "from pytest_dflash.facts.connection import open_connection\n"
        "from pytest_dflash.facts.target import parse_spec\n"
        "print('ready', flush=True); open_connection(parse_spec('local://')).run('echo $$ >&2; sleep 984')\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as child:
        assert child.stdout
        assert child.stderr
        child.stdout.readline()
        until = time.monotonic() + 10
        while not _sleepers() and time.monotonic() < until:
            time.sleep(0.02)
        child.send_signal(signal.SIGINT)
        assert b"KeyboardInterrupt" in child.stderr.read()
    until = time.monotonic() + 5
    while _sleepers() and time.monotonic() < until:
        time.sleep(0.02)
    assert not _sleepers()


def _sleepers() -> list[str]:
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                argv = (entry / "cmdline").read_bytes()
            except OSError:
                continue
            if argv == b"sleep\x00984\x00":
                found.append(entry.name)
    return found
