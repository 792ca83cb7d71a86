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

_LIBC = ctypes.CDLL(None, use_errno=True)
_PR_SET_PDEATHSIG = 1
EXIT_MEANING = {1: "FAILURE", 2: "INVALIDARGUMENT", 3: "NOTIMPLEMENTED", 203: "EXEC"}


def monotonic_us() -> int:
    """The clock of systemd's Monotonic properties."""
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000


def die_with_parent() -> None:
    """Runs in the child: it is killed when its parent is gone, however that happened."""
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


@dataclass(slots=True)
class Service:
    """One unit of the stand-in.

    Attributes:
        stamps: Realtime and monotonic microseconds by property name without suffix, e.g. "ActiveEnter".
        on_change: Called after a process came or went.
    """

    name: str
    search: tuple[Path, ...]
    log: journal.Journal
    on_change: Callable[[], None]
    loaded: unit_file.Loaded = field(init=False)
    loaded_at_ns: int = 0
    process: subprocess.Popen[bytes] | None = None
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
        self.loaded_at_ns = time.time_ns()

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
    def title(self) -> str:
        """`UNIT - description`, as the manager's messages name it."""
        return f"{self.name} - {self.loaded.last('Description', self.name)}"

    def stamp(self, *names: str) -> None:
        """Now is when `names` happened."""
        now = (time.time_ns() // 1000, monotonic_us())
        self.stamps.update(dict.fromkeys(names, now))

    def environment(self) -> dict[str, str]:
        """What the process is started with.

        Raises:
            FileNotFoundError: For an EnvironmentFile that is not there and has no dash.
        """
        user = pwd.getpwuid(os.getuid())
        made = {
            "LANG": "C.UTF-8",
            "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            "USER": user.pw_name,
            "LOGNAME": user.pw_name,
            "HOME": user.pw_dir,
            "INVOCATION_ID": self.invocation,
            "JOURNAL_STREAM": "8:24681",
            "SYSTEMD_EXEC_PID": "0",
        }
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
        try:
            environment = self.environment()
        except OSError as missing:
            return self._fail("resources", f"Failed to load environment files: {missing.strerror}")
        command = self.loaded.commands(environment)[0]
        self.starts.append(time.monotonic())
        self.result, self.exec_code, self.exec_status, self.stopping = "success", 0, 0, False
        self.stamps.pop("ExecMainExit", None)
        try:
            # The only child of a manager without threads, so preexec_fn is safe here.
            self.process = subprocess.Popen(  # noqa: S603 - what the unit file of our own folder says
                command,
                env=environment,
                cwd=self.loaded.last("WorkingDirectory", "/"),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=die_with_parent,  # noqa: PLW1509 - see above
            )
        except OSError as error:
            self.stamp("ActiveEnter", "InactiveExit", "StateChange", "ExecMainStart")
            self._started()
            self._exited(1, 203, f"Failed to execute {command[0]}: {error.strerror}")
            return ""
        assert self.process.stdout is not None
        os.set_blocking(self.process.stdout.fileno(), False)
        self.exec_pid = self.process.pid
        self.active, self.sub = "active", "running"
        self.stamp("ActiveEnter", "InactiveExit", "StateChange", "ExecMainStart")
        self._started()
        self.on_change()
        return ""

    def _started(self) -> None:
        self.log.manager(
            self.name, self.invocation, f"Started {self.title}.",
            MESSAGE_ID=journal.STARTED, JOB_TYPE="start", JOB_RESULT="done", CODE_FUNC="job_emit_done_message",
        )  # fmt: skip

    def _fail(self, result: str, why: str) -> str:
        self.active, self.sub, self.result = "failed", "failed", result
        self.log.manager(self.name, self.invocation, f"{self.name}: {why}", 4)
        self.log.manager(
            self.name, self.invocation, f"{self.name}: Failed with result '{result}'.", 4,
            MESSAGE_ID=journal.UNIT_FAILED, UNIT_RESULT=result,
        )  # fmt: skip
        return f"Job for {self.name} failed."

    def who(self) -> Mapping[str, str]:
        """The journal fields of a line that the process prints."""
        return {
            "_TRANSPORT": "stdout",
            "_PID": str(self.exec_pid),
            "_UID": str(os.getuid()),
            "_GID": str(os.getgid()),
            "_COMM": "python",
            "_EXE": os.path.realpath(self.loaded.argument_lists()[0][0])
            if self.loaded.argument_lists()
            else "",
            "_CMDLINE": self.command_line,
            "_SYSTEMD_CGROUP": f"/system.slice/{self.name}",
            "_SYSTEMD_UNIT": self.name,
            "_SYSTEMD_SLICE": "system.slice",
            "_SYSTEMD_INVOCATION_ID": self.invocation,
            "SYSLOG_IDENTIFIER": "python",
            "SYSLOG_FACILITY": "3",
            "PRIORITY": "6",
        }

    @property
    def command_line(self) -> str:
        """What runs, joined by blanks, by the process itself rather than by what is loaded."""
        return (
            " ".join(str(word) for word in self.process.args)
            if self.process and isinstance(self.process.args, tuple)
            else ""
        )

    def reap(self) -> None:
        """Notices that the process has ended."""
        if self.process is None or self.process.poll() is None:
            return
        status = self.process.returncode
        self.kill_rest()
        assert self.process.stdout is not None
        self.process.stdout.close()
        self.process = None
        self._exited(1, status) if status >= 0 else self._exited(2, -status)
        self.on_change()

    def kill_rest(self) -> None:
        """Ends what is left of the process group."""
        try:
            os.killpg(self.exec_pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            return

    def _exited(self, code: int, status: int, why: str = "") -> None:
        clean = (code == 1 and status == 0) or (code == 2 and status == signal.SIGTERM)
        self.exec_code, self.exec_status = code, status
        self.stamp("ActiveExit", "InactiveEnter", "StateChange", "ExecMainExit")
        if why:
            self.log.manager(self.name, self.invocation, f"{self.name}: {why}", 3)
        if clean:
            self.result = "success"
            self.log.manager(
                self.name,
                self.invocation,
                f"{self.name}: Deactivated successfully.",
                MESSAGE_ID=journal.UNIT_DONE,
            )
        else:
            said = "exited" if code == 1 else "killed"
            meaning = (
                EXIT_MEANING.get(status, "n/a")
                if code == 1
                else signal.Signals(status).name.removeprefix("SIG")
            )
            self.result = "exit-code" if code == 1 else "signal"
            self.log.manager(
                self.name, self.invocation,
                f"{self.name}: Main process exited, code={said}, status={status}/{meaning}", 5 if code == 1 else 4,
                MESSAGE_ID=journal.PROCESS_EXIT, COMMAND="ExecStart", EXIT_CODE=said, EXIT_STATUS=str(status),
            )  # fmt: skip
            self.log.manager(
                self.name, self.invocation, f"{self.name}: Failed with result '{self.result}'.", 4,
                MESSAGE_ID=journal.UNIT_FAILED, UNIT_RESULT=self.result,
            )  # fmt: skip
        wanted = self.loaded.last("Restart", "no")
        again = not self.stopping and (wanted == "always" or (wanted == "on-failure" and not clean))
        if again:
            self.active, self.sub = "activating", "auto-restart"
            self.restart_at = time.monotonic() + float(
                self.loaded.last("RestartSec", "0.1").removesuffix("s")
            )
        else:
            self.active, self.sub = ("inactive", "dead") if clean else ("failed", "failed")

    def tick(self) -> None:
        """Restarts when it is time, unless it was tried too often."""
        if self.restart_at is None or time.monotonic() < self.restart_at:
            return
        self.restart_at = None
        burst = int(self.loaded.last("StartLimitBurst", "5"))
        interval = float(self.loaded.last("StartLimitIntervalSec", "10"))
        if len([start for start in self.starts if time.monotonic() - start < interval]) >= burst:
            self.active, self.sub = "failed", "failed"
            self.log.manager(
                self.name, self.invocation, f"{self.name}: Start request repeated too quickly.", 4
            )
            return
        self.restarts += 1
        self.log.manager(
            self.name, self.invocation,
            f"{self.name}: Scheduled restart job, restart counter is at {self.restarts}.",
            MESSAGE_ID=journal.RESTART_SCHEDULED, N_RESTARTS=str(self.restarts),
        )  # fmt: skip
        self.start()

    def begin_stop(self) -> None:
        """Asks the process to end; `reap` sees it end."""
        self.restart_at, self.stopping = None, True
        if self.process is None:
            self.active, self.sub = (
                ("inactive", "dead") if self.active == "activating" else (self.active, self.sub)
            )
            return
        self.active, self.sub = "deactivating", "stop-sigterm"
        self.log.manager(
            self.name, self.invocation, f"Stopping {self.title}...",
            MESSAGE_ID=journal.STOPPING, JOB_TYPE="stop", CODE_FUNC="job_emit_start_message",
        )  # fmt: skip
        os.killpg(self.process.pid, signal.SIGTERM)

    def end_stop(self) -> None:
        """The last word of a stop."""
        self.log.manager(
            self.name, self.invocation, f"Stopped {self.title}.",
            MESSAGE_ID=journal.STOPPED, JOB_TYPE="stop", JOB_RESULT="done", CODE_FUNC="job_emit_done_message",
        )  # fmt: skip
