"""A real host: Debian with systemd, journald and sshd in a container of its own, thrown away at the end.

Law: boots a copy of the tree, reaches it over ssh, ends it. What runs in it is the business of `units`.

The container shares this machine's network: sshd listens on a free loopback port, and so do the engines. It has its
own cgroup, so that several machines at once do not share one. It dies with the process that made it, however that
ends; what a killed process could not remove, the next machine does.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import shlex
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from .tree import HOST, tree

NAME = "inferhost"
PREFIX = "dflash-machine-"
BOOT_S = 60.0
BOOT_ID = "[0-9a-f-]{36}"
# The container's systemd needs a cgroup that it does not share with another machine's. Hierarchies: v2; v1 hybrid.
CGROUPS = ("/sys/fs/cgroup", "/sys/fs/cgroup/systemd", "/sys/fs/cgroup/unified")
# Mounts of its own over the tree, which outlive a reboot and go with the last process. 133: systemd-nspawn's status for
# a reboot where no systemd is there to do it.
LAUNCH = """
lower=$1; shift
mount -t tmpfs -o mode=755 tmpfs . && cd . && mkdir upper work root &&
    mount -t overlay -o "lowerdir=$lower,upperdir=upper,workdir=work" overlay root || exit
boot='for procs in "$@"; do
    [ "$procs" != -- ] || break
    mkdir -p "${procs%/*}" && echo $$ >"$procs"
    shift
done
shift
exec setpriv --pdeathsig TERM "$@"'
while sh -c "$boot" sh "$@"; [ $? = 133 ]; do :; done
"""
SSHD = """\
Port {port}
ListenAddress 127.0.0.1
HostKey /etc/ssh/run/host_key
AuthorizedKeysFile /etc/ssh/run/authorized_keys
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin prohibit-password
UseDNS no
"""
SSH = """\
Host {name} 127.0.0.1
    HostName 127.0.0.1
    Port {port}
    IdentityFile {folder}/user_key
    IdentitiesOnly yes
    UserKnownHostsFile {folder}/known_hosts
    GlobalKnownHostsFile /dev/null
    StrictHostKeyChecking yes
    LogLevel ERROR
"""


def free_port() -> int:
    """A TCP port of 127.0.0.1 on which nobody listens now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class Machine:
    """One running real host; `with Machine() as machine:`.

    Args:
        mounts: Folders of this machine by their place in the container, mounted read-only.

    Attributes:
        name: The alias of the host in `ssh_config`. Its users: root, `admin` (sudo without password), `auditor`
            (group systemd-journal), `visitor` (neither), `guest` (no shell).
        port: sshd's TCP port on 127.0.0.1.
        ssh_config: For `ssh -F` and `--ssh-config`: keys and known hosts of this run only.

    Raises:
        RuntimeError: It did not boot, or a command in it failed; the message says with which words.
    """

    def __init__(self, mounts: Mapping[str, Path] | None = None) -> None:
        self.name = NAME
        self.port = free_port()
        _sweep()
        # Its name is the machine's too, so it holds no underscore. Others may pass: the container's users do.
        self.folder = Path(tempfile.gettempdir(), f"{PREFIX}{os.getpid()}-{secrets.token_hex(4)}")
        self.folder.mkdir(mode=0o755)
        self.ssh_config = self.folder / "ssh_config"
        self._cgroups = [
            Path(hierarchy, self.folder.name)
            for hierarchy in CGROUPS
            if Path(hierarchy, "cgroup.procs").exists()
        ]
        self._container: subprocess.Popen[bytes] | None = None
        try:
            self._keys()
            self._boot(tree(HOST), mounts or {})
            self._wait()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def sh(
        self,
        script: str,
        *,
        user: str = "root",
        check: bool = True,
        deadline_s: float = 120.0,
        given: bytes = b"",
    ) -> str:
        """Runs a shell script over ssh, with `given` as its stdin.

        Returns:
            Its stdout, with stderr behind it.

        Raises:
            RuntimeError: It exited other than 0 and `check`.
            subprocess.TimeoutExpired: It took more than `deadline_s` seconds.
        """
        command = ["ssh", "-F", str(self.ssh_config), "-o", "BatchMode=yes", "-o", "ConnectTimeout=5"]
        command += ["-l", user, self.name, f"sh -c {shlex.quote(script)}"]
        run = subprocess.run(command, input=given, capture_output=True, timeout=deadline_s, check=False)
        said = (run.stdout + run.stderr).decode("utf-8", "replace")
        if check and run.returncode:
            raise RuntimeError(f"{user}@{self.name} answered {run.returncode} to {script!r}:\n{said}")
        return said

    def put(self, path: str, text: str, *, mode: int = 0o644) -> None:
        """Writes a file in the machine, its folders made where they are missing."""
        here = shlex.quote(path)
        self.sh(
            f'mkdir -p -m 755 "$(dirname {here})" && cat >{here} && chmod {mode:o} {here}',
            given=text.encode(),
        )

    def copy(self, folder: Path, place: str) -> None:
        """Copies what is in a folder of this machine to `place`, owned by root, readable by all."""
        packed = subprocess.run(
            ["tar", "-c", "--owner=root", "--group=root", "--mode=a+rX", "-C", str(folder), "."],
            capture_output=True,
            check=True,
        )
        here = shlex.quote(place)
        self.sh(f"mkdir -p {here} && tar -x -C {here}", given=packed.stdout)

    def close(self) -> None:
        """Ends the container and all in it at once, and removes what belonged to it. May be called again."""
        container, self._container = self._container, None
        if container is not None:
            # The container's pid 1 is its end; systemd-nspawn then tidies its own mounts.
            pids = [pid for nspawn in _children(container.pid) for pid in _children(nspawn)]
            subprocess.run(["kill", "-KILL", *map(str, pids)], check=False, stderr=subprocess.DEVNULL)
            try:
                container.wait(10)
            except subprocess.TimeoutExpired:
                container.kill()
                container.wait()
        _remove(self.folder)

    def _keys(self) -> None:
        inside = self.folder / "sshd"
        inside.mkdir()
        for key in (self.folder / "user_key", inside / "host_key"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
        shutil.copy(self.folder / "user_key.pub", inside / "authorized_keys")
        host_key = (inside / "host_key.pub").read_text("ascii")
        (self.folder / "known_hosts").write_text(f"[127.0.0.1]:{self.port} {host_key}", "ascii")
        (self.folder / "sshd.conf").write_text(SSHD.format(port=self.port), "ascii")
        self.ssh_config.write_text(SSH.format(name=self.name, port=self.port, folder=self.folder), "utf-8")

    def _boot(self, root: Path, mounts: Mapping[str, Path]) -> None:
        binds = {
            "/etc/ssh/run": self.folder / "sshd",
            "/etc/ssh/sshd_config.d/run.conf": self.folder / "sshd.conf",
            **mounts,
        }
        managed = Path("/run/systemd/system").is_dir()
        disk = self.folder / "disk"
        disk.mkdir()
        command = ["setpriv", "--pdeathsig", "TERM", "unshare", "--mount", "--propagation", "private"]
        command += ["sh", "-c", LAUNCH, "sh", _escaped(root)]
        command += [*(str(cgroup / "cgroup.procs") for cgroup in self._cgroups), "--"]
        command += ["systemd-nspawn", "--quiet", "--boot", "--register=no"]
        command += [] if managed else ["--keep-unit"]
        command += [f"--directory={disk}/root", f"--machine={self.folder.name}", f"--hostname={self.name}"]
        command += ["--resolv-conf=off", "--timezone=off", "--link-journal=no", "--console=pipe"]
        command += [f"--bind-ro={_escaped(path)}:{_escaped(place)}" for place, path in binds.items()]
        with (self.folder / "console").open("wb") as console:
            self._container = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=console,
                stderr=console,
                start_new_session=True,
                cwd=disk,
                env={"PATH": os.environ.get("PATH", os.defpath), "SYSTEMD_COLORS": "0"},
            )

    def boot_id(self) -> str:
        """The kernel's name for the boot that runs; "" while nobody answers."""
        return self.sh("cat /proc/sys/kernel/random/boot_id 2>/dev/null", check=False).strip()

    def reboot(self) -> None:
        """Reboots it, and waits until it has started all that it starts at boot. Its disk stays, /run does not."""
        before = self.boot_id()
        self.sh("systemctl reboot", check=False)
        deadline = time.monotonic() + BOOT_S
        while not re.fullmatch(BOOT_ID, now := self.boot_id()) or now == before:
            if time.monotonic() > deadline:
                raise RuntimeError(f"the machine did not reboot within {BOOT_S:.0f} s: {now}")
            time.sleep(0.2)
        self._wait()

    def _wait(self) -> None:
        """Until pid 1 has started all that it starts at boot, and ssh answers."""
        deadline = time.monotonic() + BOOT_S
        said = ""
        while time.monotonic() < deadline:
            if self._container is None or self._container.poll() is not None:
                break
            said = self.sh("systemctl is-system-running --wait", check=False, deadline_s=BOOT_S)
            if said.strip() in {"running", "degraded"}:
                return
            time.sleep(0.1)
        console = (self.folder / "console").read_text("utf-8", "replace")[-2000:]
        raise RuntimeError(f"the machine did not boot within {BOOT_S:.0f} s. ssh: {said}\nconsole: {console}")


def _children(pid: int) -> list[int]:
    """The processes that a process has started; none where it is gone."""
    with contextlib.suppress(OSError):
        return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text("ascii").split()]
    return []


def _remove(folder: Path) -> None:
    """What a machine that has ended leaves: its folder, and cgroups of its name."""
    for hierarchy in CGROUPS:
        for inner in sorted(Path(hierarchy, folder.name).glob("**/"), reverse=True):
            with contextlib.suppress(OSError):
                inner.rmdir()
    shutil.rmtree(folder, ignore_errors=True)


def _sweep() -> None:
    """Removes what is left of machines whose process was killed."""
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        owner = folder.name.removeprefix(PREFIX).split("-")[0]
        if not Path("/proc", owner).exists():
            _remove(folder)


def _escaped(path: Path | str) -> str:
    return str(path).replace("\\", "\\\\").replace(":", "\\:")
