"""The frame: any bytes in an answer, any noise around it, any end in the middle."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pytest_dflash.facts import transcript
from pytest_dflash.facts.identity import Identity, movement, parse_identity
from pytest_dflash.facts.probe import Probe, Reply
from pytest_dflash.facts.reading import Silent, Value
from pytest_dflash.facts.transcript import compose, read

SHELLS = [shell for shell in ("dash", "bash", "busybox") if shutil.which(shell)]
BOOT = "cdc18086-5107-4d35-a1c8-fe2dc062dc39"
INVOCATION = "cdcf0f389dc54a0b87eff874bded357e"


def raw(name: str, script: str) -> Probe[Reply]:
    return Probe(name, script, Value)


class Host:
    """A folder with a stand-in `systemctl` and a `/proc`, and a shell to run scripts in."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "ro ot"
        self.bin = folder / "bin"
        self.bin.mkdir()
        (self.root / "proc/sys/kernel/random").mkdir(parents=True)
        (self.root / "proc/sys/kernel/random/boot_id").write_text(BOOT + "\n")
        self.process(41, "/system.slice/a.service")
        self.process(42, "/system.slice/a.service/worker")
        self.process(43, "/system.slice/a.service-not")
        self.show(f"InvocationID={INVOCATION}\nMainPID=41\nNRestarts=0\nControlGroup=/system.slice/a.service")

    def process(self, pid: int, cgroup: str, ticks: int = 777) -> None:
        folder = self.root / f"proc/{pid}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "stat").write_text(f"{pid} (a) b\n) S {' '.join(['0'] * 18)} {ticks} 0 0\n")
        (folder / "cgroup").write_text(f"1:name=systemd:/\n0::{cgroup}\n")

    def show(self, text: str, script: str = "") -> None:
        tool = self.bin / "systemctl"
        tool.write_text(f"#!/bin/sh\n{script}\ncat <<'END'\n{text}\nEND\n")
        tool.chmod(0o755)

    def run(self, probes: list[Probe[Any]], shell: str = "sh", **options: Any) -> bytes:
        script = compose(probes, "a.service", str(self.root), **options)
        argv = [shell, "sh", "-s"] if shell == "busybox" else [shell, "-s"]
        environment = {"PATH": f"{self.bin}:/usr/bin:/bin"}
        done = subprocess.run(
            argv, input=script.encode(), capture_output=True, env=environment, timeout=20, check=False
        )
        assert done.stderr == b""
        return done.stdout


@pytest.fixture
def host(tmp_path: Path) -> Host:
    return Host(tmp_path)


@pytest.mark.parametrize("shell", SHELLS)
def test_streams_and_status_come_back_byte_by_byte(host: Host, shell: str) -> None:
    probes = [
        raw("bytes", r"printf 'a\000b\377\n::dflash:: bye\n'; printf 'rc=7 \n complaint' >&2; exit 3"),
        raw("quotes", """echo "it's" '"$HOME"' `echo x` \\\\"""),
        raw("stdin", "cat; echo end"),
        raw("empty", ""),
        raw("variables", 'echo "$R|$UNIT|$MAIN_PID|$CGROUP|$INVOCATION|$PIDS|$LC_ALL"'),
        raw("isolated", "UNIT=other; cd /; exit"),
        raw("again", 'echo "$UNIT"'),
    ]
    taken = read(host.run(probes, shell), probes)
    assert (taken.cut, taken.torn) == ("", "")
    assert taken.reading(probes[0]) == Value(Reply(b"a\x00b\xff\n::dflash:: bye\n", b"rc=7 \n complaint", 3))
    assert taken.reading(probes[1]) == Value(Reply(b'it\'s "$HOME" x \\\n'))
    assert taken.reading(probes[2]) == Value(Reply(b"end\n"))
    assert taken.reading(probes[3]) == Value(Reply(b""))
    assert taken.reading(probes[4]) == Value(
        Reply(f"{host.root}|a.service|41|/system.slice/a.service|{INVOCATION}|41 42 |C.UTF-8\n".encode())
    )
    assert taken.reading(probes[6]) == Value(Reply(b"a.service\n"))
    assert taken.identity == Value(Identity(BOOT, INVOCATION, 41, 0, 777), "systemctl show")


def test_members_come_from_the_cgroup_tree_where_there_is_one(host: Host) -> None:
    for tree, procs in (("worker", "52\n"), (".", "51\n")):
        folder = host.root / "sys/fs/cgroup/systemd/system.slice/a.service" / tree
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "cgroup.procs").write_text(procs)
    probes = [raw("pids", "echo $PIDS")]
    assert read(host.run(probes), probes).reading(probes[0]) == Value(Reply(b"51 52\n"))


def test_without_a_cgroup_the_main_process_and_its_children_count(host: Host) -> None:
    host.show("InvocationID=\nMainPID=41\nNRestarts=0\nControlGroup=")
    (host.root / "proc/41/task/41").mkdir(parents=True)
    (host.root / "proc/41/task/41/children").write_text("42 ")
    probes = [raw("pids", "echo $PIDS")]
    assert read(host.run(probes), probes).reading(probes[0]) == Value(Reply(b"41 42\n"))


@pytest.mark.parametrize(
    "argv, asked",
    [
        (("/usr/bin/docker", "run", "--rm", "--name", "k26", "image:1"), "k26"),
        (("docker", "run", "--name=k26", "image:1", "--name", "other"), "k26"),
        (("/bin/sh", "/usr/bin/podman", "run", "--name", "a b;$(id)", "image:1"), "a b;$(id)"),
        (("/usr/bin/docker", "start", "-a", "k26"), "k26"),
        (("/usr/bin/docker", "run", "image:1"), None),
        (("/usr/bin/vim", "/etc/docker", "--name", "k26"), None),
    ],
)
def test_processes_of_the_container_that_the_unit_starts_are_the_units(
    host: Host, argv: tuple[str, ...], asked: str | None
) -> None:
    (host.root / "proc/41/cmdline").write_bytes("\0".join((*argv, "")).encode())
    host.process(61, "/system.slice/docker-0a.scope")
    host.process(62, "/system.slice/docker-0a.scope")
    client = host.bin / "docker"
    client.write_text('#!/bin/sh\nprintf "%s\\n" "$*" >"$0.asked"; echo 61\n')
    client.chmod(0o755)
    (host.bin / "podman").symlink_to(client)
    probes = [raw("pids", "echo $PIDS")]
    pids = b"41 42 61 62\n" if asked else b"41 42\n"
    assert read(host.run(probes), probes).reading(probes[0]) == Value(Reply(pids))
    said = [each.read_text() for each in host.bin.glob("*.asked")]
    assert said == ([f"inspect --format {{{{.State.Pid}}}} -- {asked}\n"] if asked else [])


def test_a_container_that_its_client_does_not_know_adds_nothing(host: Host) -> None:
    (host.root / "proc/41/cmdline").write_bytes(b"docker\0run\0--name\0k26\0image\0")
    (host.bin / "docker").write_text("#!/bin/sh\necho 'permission denied' >&2; exit 1\n")
    (host.bin / "docker").chmod(0o755)
    probes = [raw("pids", "echo $PIDS")]
    assert read(host.run(probes), probes).reading(probes[0]) == Value(Reply(b"41 42\n"))


def test_a_unit_that_does_not_run_has_no_processes_and_is_heard(host: Host) -> None:
    host.show("InvocationID=\nMainPID=0\nNRestarts=0\nControlGroup=")
    probes = [raw("pids", 'echo "$PIDS"')]
    taken = read(host.run(probes), probes)
    assert taken.reading(probes[0]) == Value(Reply(b"\n"))
    assert taken.identity == Value(Identity(BOOT, None, None, 0, None), "systemctl show")


def test_a_probe_that_hangs_ends_at_its_deadline_and_the_others_answer(host: Host) -> None:
    probes = [raw("slow", "echo so far; sleep 60"), raw("next", "echo next")]
    taken = read(host.run(probes, deadline_s=1), probes)
    assert taken.reading(probes[0]) == Value(Reply(b"so far\n", b"", 124))
    assert taken.reading(probes[1]) == Value(Reply(b"next\n"))


def test_a_probe_that_prints_without_end_is_cut_off_and_not_believed(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transcript, "LARGEST", 100_000)
    probes = [
        raw("endless", "yes"),
        raw("complaining", "yes >&2 & sleep 0.2; kill $!"),
        raw("next", "echo next"),
    ]
    output = host.run(probes, deadline_s=5)
    assert len(output) < 300_000
    taken = read(output, probes)
    assert isinstance(taken.reading(probes[0]), Silent)
    said = taken.reading(probes[1])
    assert isinstance(said, Value)
    assert len(said.value.stderr) <= 2000
    assert taken.reading(probes[2]) == Value(Reply(b"next\n"))


def test_a_process_that_changes_meanwhile_makes_it_torn(host: Host) -> None:
    host.show(
        "",
        f'[ ! -f "{host.bin}/now" ] || {{ cat "{host.bin}/now"; exit; }}; echo InvocationID=first; echo MainPID=41',
    )
    probes = [raw("restart", f"echo MainPID=42 >'{host.bin}/now'")]
    taken = read(host.run(probes), probes)
    assert "the main process changed (main_pid 41 -> 42)" in taken.torn
    assert isinstance(taken.identity, Silent)
    assert taken.identity.why.startswith("the process moved while it was read: the unit was started anew")


def test_without_systemctl_the_identity_is_silent_and_the_rest_answers(host: Host) -> None:
    host.show("", "echo 'System has not been booted with systemd' >&2; exit 1")
    probes = [raw("next", "echo next")]
    taken = read(host.run(probes), probes)
    assert taken.identity == Silent(
        "`systemctl show` ended with 1: System has not been booted with systemd", "systemctl show"
    )
    assert taken.reading(probes[0]) == Value(Reply(b"next\n"))


def test_a_host_without_base64_answers_in_hex(host: Host, tmp_path: Path) -> None:
    bare = tmp_path / "bare"
    bare.mkdir()
    for tool in ("sh", "od", "cat", "sed", "tr", "head", "tail", "grep", "timeout", "find", "sort"):
        (bare / tool).symlink_to(shutil.which(tool) or "")
    probes = [raw("bytes", r"printf 'a\000\377'; echo no >&2")]
    script = compose(probes, "a.service", str(host.root))
    done = subprocess.run(
        ["/bin/sh", "-s"], input=script.encode(), capture_output=True, env={"PATH": str(bare)}, check=True
    )
    if b"hello base64" in done.stdout:
        pytest.skip("base64 lies in /sbin here")
    assert read(done.stdout, probes).reading(probes[0]) == Value(Reply(b"a\x00\xff", b"no\n"))


def test_a_script_that_was_cut_does_nothing(host: Host) -> None:
    script = compose([raw("touch", f"touch '{host.root}/touched'")], "a.service", str(host.root)).encode()
    subprocess.run(["sh", "-s"], input=script[:-8], capture_output=True, check=False)
    assert not (host.root / "touched").exists()


def test_hostile_names_stay_words(host: Host) -> None:
    name = "a';touch x;'$(touch y).service"
    script = compose([raw("unit", 'printf %s "$UNIT"')], name, str(host.root))
    done = subprocess.run(["sh", "-s"], input=script.encode(), capture_output=True, cwd=host.root, check=True)
    assert read(done.stdout, [raw("unit", "")]).reading(raw("unit", "")) == Value(Reply(name.encode()))
    assert not os.path.lexists(host.root / "x")
    assert not os.path.lexists(host.root / "y")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, list[Probe[Reply]]]:
    probes = [raw("one", "echo 1"), raw("two", "seq 1000"), raw("three", "echo 3; echo x >&2")]
    return Host(tmp_path_factory.mktemp("whole")).run(probes), probes


def test_a_transcript_cut_anywhere_keeps_what_was_complete(whole: tuple[bytes, list[Probe[Reply]]]) -> None:
    output, probes = whole
    full = read(output, probes)
    for end in range(0, len(output) - 3, 7):
        part = read(output[:end], probes, cut="the cable was pulled")
        assert part.cut == "the cable was pulled"
        for probe in probes:
            assert part.reading(probe) in (full.reading(probe), Silent("the cable was pulled", probe.name))
    assert read(b"", probes).reading(probes[0]) == Silent(
        "the host's answer ended early: the connection or the shell went away", "one"
    )


def test_a_probe_that_was_not_asked_is_silent(whole: tuple[bytes, list[Probe[Reply]]]) -> None:
    assert read(whole[0], whole[1]).reading(raw("four", "")) == Silent(
        "`four` was not among the questions", "four"
    )


@given(data=st.data())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_damage_is_read_without_an_error(
    whole: tuple[bytes, list[Probe[Reply]]], data: st.DataObject
) -> None:
    output, probes = whole
    place = data.draw(st.integers(0, len(output)))
    noise = data.draw(
        st.binary() | st.sampled_from([b"\n::dflash:: ", b"end one 0 -\n", b"\n::dflash:: begin one\n", b"="])
    )
    read(output[:place] + noise + output[place + data.draw(st.integers(0, 50)) :], probes)


@given(st.binary())
def test_any_bytes_are_read_without_an_error(output: bytes) -> None:
    assert read(output, [raw("one", "")]).cut
    parse_identity(Reply(output))


def test_movement_names_what_moved() -> None:
    before = Identity(BOOT, INVOCATION, 41, 0, 777)
    assert movement(before, before) == ""
    assert (
        movement(before, Identity(BOOT, INVOCATION, 41, 1, 777))
        == "the manager restarted the unit (n_restarts 0 -> 1)"
    )


def test_the_script_is_plain_posix_sh() -> None:
    if not shutil.which("shellcheck"):
        pytest.skip("needs shellcheck: apt-get install shellcheck")
    script = compose([raw("one", "echo 1")], "a.service")
    # 2086: words are meant to be split; 2013: pids hold no blanks.
    subprocess.run(["shellcheck", "-s", "sh", "-e", "SC2086,SC2013", "-"], input=script.encode(), check=True)


@pytest.mark.parametrize(
    "argv", [("start", "llm", "--attach"), ("start", "-a", "llm"), ("run", "--name", "llm", "img")]
)
def test_a_container_is_asked_for_by_its_name_wherever_its_options_stand(
    tmp_path: Path, argv: tuple[str, ...]
) -> None:
    host = Host(tmp_path)
    (host.root / "proc/41/cmdline").write_bytes("\0".join(("/usr/bin/docker", *argv, "")).encode())
    docker = host.bin / "docker"
    docker.write_text(f'#!/bin/sh\necho "$*" >>"{tmp_path}/asked"\n')
    docker.chmod(0o755)
    host.run([raw("one", "echo one")])
    assert (tmp_path / "asked").read_text() == "inspect --format {{.State.Pid}} -- llm\n"


def test_a_users_manager_is_told_from_those_of_other_users(tmp_path: Path) -> None:
    host, probe = Host(tmp_path), raw("manager", 'echo "$MANAGER"')
    owner = pwd.getpwuid(os.getuid()).pw_name
    said = read(host.run([probe], owner=owner), [probe]).reading(probe)
    assert isinstance(said, Value)
    assert said.value.text.strip() == f"_COMM=systemd _UID={os.getuid()}"
