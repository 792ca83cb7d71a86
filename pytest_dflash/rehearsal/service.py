"""The unit's process and its states: start, exit, restart, stop.

Law: what systemd 252 does for Type=simple, as recorded; real processes, no shell. Nothing here knows what
the process is, nor how states are printed.
"""

from __future__ import annotations

import ctypes
import os
import pwd
import signal
import subprocess
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pytest_dflash.rehearsal import journal, unit_file
from pytest_dflash.rehearsal.announcements import ERROR, Announcements

_LIBC = ctypes.CDLL(None, use_errno=True)
_PR_SET_PDEATHSIG = 1
EXITED, KILLED = 1, 2
EXEC_FAILED = 203


def die_with_parent() -> None:
    """Runs in the child: it is killed when its parent is gone, however that happened."""
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def user_name() -> str:
    """Who this runs as; empty for a uid without a name, as containers have."""
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return ""


@dataclass(slots=True)
class Service:
    """One unit of the stand-in.

    Attributes:
        stamps: Realtime and monotonic microseconds by property name without suffix, e.g. "ActiveEnter".
        on_change: Called after a process came or went.
        exec_code: 1 when the last main process exited, 2 when a signal ended it; `exec_status` says which.
    """

    name: str
    search: tuple[Path, ...]
    log: journal.Journal
    on_change: Callable[[], None]
    loaded: unit_file.Loaded = field(init=False)
    process: subprocess.Popen[bytes] | None = None
    command: tuple[str, ...] = ()
    invocation: str = ""
    active: str = "inactive"
    sub: str = "dead"
    result: str = "success"
    restarts: int = 0
    exec_pid: int = 0
    exec_code: int = 0
    exec_status: int = 0
    stamps: dict[str, tuple[int, int]] = field(default_factory=dict)
    restart_at: float | None = None
    starts: list[float] = field(default_factory=list)
    stopping: bool = False

    def __post_init__(self) -> None:
        self.reload()

    def reload(self) -> None:
        """daemon-reload: what is on disk now is what is loaded."""
        self.loaded = unit_file.load(self.search, self.name)

    @property
    def control_group(self) -> str:
        """Where its processes are; instances of a template have a slice of their own."""
        if self.log.by_user:
            uid = os.getuid()
            return f"/user.slice/user-{uid}.slice/user@{uid}.service/app.slice/{self.name}"
        prefix, at, _ = self.name.partition("@")
        return f"/system.slice/system-{prefix}.slice/{self.name}" if at else f"/system.slice/{self.name}"

    @property
    def needs_reload(self) -> bool:
        """As systemd 252 sees it: changed or vanished files, a new file in a folder already known."""
        known = [file for file in (self.loaded.fragment, *self.loaded.drop_ins) if file is not None]
        for file in known:
            path = Path(file.path)
            if not path.exists() or path.stat().st_mtime_ns > file.mtime_ns:
                return True
        folders = {Path(file.path).parent for file in self.loaded.drop_ins}
        # A drop-in folder that is new since the reload goes unnoticed, there as here.
        now = {path for path in unit_file.drop_in_paths(self.search, self.name) if path.parent in folders}
        return bool(folders) and now != {Path(file.path) for file in self.loaded.drop_ins}

    @property
    def announce(self) -> Announcements:
        """The manager's voice about the present invocation."""
        title = f"{self.name} - {self.loaded.last('Description', self.name)}"
        invocation = self.invocation

        def say(message: str, priority: int, fields: dict[str, str]) -> None:
            self.log.manager(self.name, invocation, message, priority, **fields)

        return Announcements(self.name, title, say)

    def stamp(self, *names: str) -> None:
        """Now is when `names` happened."""
        now = (time.time_ns() // 1000, time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000)
        self.stamps.update(dict.fromkeys((*names, "StateChange"), now))

    def environment(self) -> dict[str, str]:
        """What the process is started with.

        Raises:
            OSError: For an EnvironmentFile that is not there and has no dash.
        """
        made = {
            "LANG": "C.UTF-8",
            "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            "INVOCATION_ID": self.invocation,
            "JOURNAL_STREAM": "8:24681",
        }
        if name := user_name():
            made |= {"USER": name, "LOGNAME": name, "HOME": pwd.getpwnam(name).pw_dir}
        made |= dict(pair.split("=", 1) for pair in self.loaded.assignments())
        for path, optional in self.loaded.environment_files():
            if Path(path).exists() or not optional:
                made |= unit_file.environment_file(Path(path).read_text("utf-8"))
        return made

    def start(self) -> str:
        """Starts the process.

        Returns:
            "" or systemctl's complaint.
        """
        if self.process is not None:
            return ""
        if self.loaded.load_state != "loaded":
            return f"Failed to start {self.name}: Unit {self.name} is {self.loaded.load_state}."
        self.restart_at = None
        self.invocation = uuid.uuid4().hex
        self.starts.append(time.monotonic())
        self.result, self.exec_code, self.exec_status, self.stopping = "success", 0, 0, False
        self.stamps.pop("ExecMainExit", None)
        try:
            environment = self.environment()
        except OSError as missing:
            self.announce.complain(f"Failed to load environment files: {missing.strerror}")
            self._fail("resources")
            return f"Job for {self.name} failed because of unavailable resources or another system error."
        self.command = self.loaded.commands(environment)[0]
        self.stamp("ActiveEnter", "InactiveExit", "ExecMainStart")
        self.active, self.sub = "active", "running"
        self.announce.started()
        try:
            # The manager has no threads, so preexec_fn is safe here.
            self.process = subprocess.Popen(  # noqa: S603 - what the unit file of our own folder says
                self.command,
                env=environment,
                cwd=self.loaded.last("WorkingDirectory", "/"),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=die_with_parent,  # noqa: PLW1509 - see above
            )
        except OSError as error:
            self.announce.complain(f"Failed to execute {self.command[0]}: {error.strerror}", ERROR)
            self._ended(EXITED, EXEC_FAILED)
            return ""
        assert self.process.stdout is not None
        os.set_blocking(self.process.stdout.fileno(), False)
        self.exec_pid = self.process.pid
        self.on_change()
        return ""

    def who(self) -> Mapping[str, str]:
        """The journal fields of a line that the process prints."""
        name = Path(self.command[0]).name
        return {
            "_TRANSPORT": "stdout",
            "_STREAM_ID": self.invocation,  # one pipe an invocation; any id that stays the same will do
            "_PID": str(self.exec_pid),
            "_UID": str(os.getuid()),
            "_GID": str(os.getgid()),
            "_COMM": name,
            "_EXE": os.path.realpath(self.command[0]),
            "_CMDLINE": " ".join(self.command),
            "_SYSTEMD_CGROUP": self.control_group,
            "_SYSTEMD_UNIT": f"user@{os.getuid()}.service" if self.log.by_user else self.name,
            **({"_SYSTEMD_USER_UNIT": self.name} if self.log.by_user else {}),
            "_SYSTEMD_SLICE": "system.slice",
            "_SYSTEMD_INVOCATION_ID": self.invocation,
            "SYSLOG_IDENTIFIER": name,
            "SYSLOG_FACILITY": "3",
            "PRIORITY": "6",
        }

    @property
    def has_exited(self) -> bool:
        """Whether the main process is gone, and nobody has dealt with it yet."""
        return self.process is not None and self.process.poll() is not None

    def reap(self) -> None:
        """Deals with a main process that is gone."""
        if self.process is None or self.process.returncode is None:
            return
        status = self.process.returncode
        self.kill_rest()
        assert self.process.stdout is not None
        self.process.stdout.close()
        self.process = None
        self._ended(*((EXITED, status) if status >= 0 else (KILLED, -status)))
        self.on_change()

    def kill_rest(self) -> None:
        """Ends what is left of the process group."""
        try:
            os.killpg(self.exec_pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            return

    def _fail(self, result: str) -> None:
        self.active, self.sub, self.result = "failed", "failed", result
        self.announce.failed(result)

    def _ended(self, code: int, status: int) -> None:
        clean = (code, status) in ((EXITED, 0), (KILLED, signal.SIGTERM))
        self.exec_code, self.exec_status = code, status
        self.stamp("ActiveExit", "InactiveEnter", "ExecMainExit")
        if clean:
            self.active, self.sub, self.result = "inactive", "dead", "success"
            self.announce.done()
        else:
            self.announce.exited(code, status)
            self._fail("exit-code" if code == EXITED else "signal")
        wanted = self.loaded.last("Restart", "no")
        if not self.stopping and (wanted == "always" or (wanted == "on-failure" and not clean)):
            self.active, self.sub = "activating", "auto-restart"
            self.restart_at = time.monotonic() + float(
                self.loaded.last("RestartSec", "0.1").removesuffix("s")
            )

    def tick(self) -> None:
        """Restarts when it is time, unless it was tried too often."""
        if self.restart_at is None or time.monotonic() < self.restart_at:
            return
        self.restart_at = None
        burst = int(self.loaded.last("StartLimitBurst", "5"))
        interval = float(self.loaded.last("StartLimitIntervalSec", "10"))
        if len([start for start in self.starts if time.monotonic() - start < interval]) >= burst:
            self.active, self.sub = "failed", "failed"  # the result stays the first cause's
            self.announce.complain("Start request repeated too quickly.")
            self.announce.failed(self.result)
            return
        self.restarts += 1
        self.announce.restart_scheduled(self.restarts)
        self.start()

    def begin_stop(self) -> None:
        """Asks the process to end; `reap` sees it end."""
        self.restart_at, self.stopping = None, True
        if self.process is None:
            if self.active == "activating":
                self.active, self.sub = "inactive", "dead"
            return
        self.active, self.sub = "deactivating", "stop-sigterm"
        self.announce.stopping()
        os.killpg(self.process.pid, signal.SIGTERM)
