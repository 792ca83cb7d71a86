"""The stand-in's pid 1: one process that owns the unit, the journal and what the tools answer.

Law: one thread, one loop. It ends, and its unit with it, as soon as its standard input does: so nothing
is left when the test run is killed.
"""

from __future__ import annotations

import json
import os
import selectors
import signal
import socket
import sys
import time
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path

from pytest_dflash.rehearsal import client, journal, proc_tree, service, transient
from pytest_dflash.rehearsal.tools import (
    Answer,
    busctl,
    journalctl,
    machine,
    nvidia,
    sockets,
    systemctl,
    systemd_run,
    unknown,
)

Tool = Callable[[Sequence[str], "Manager"], Answer]
TOOLS: dict[str, Tool] = {
    "systemctl": systemctl.answer,
    "systemd-run": systemd_run.answer,
    "busctl": busctl.answer,
    "journalctl": journalctl.answer,
    "nvidia-smi": nvidia.smi,
    "nvcc": nvidia.nvcc,
    "ptxas": nvidia.ptxas,
    "ss": sockets.answer,
    "df": machine.df,
    "systemd-detect-virt": machine.detect_virt,
}
CONTAINERS = "containers"
"""A folder of the stand-in: the leading pid of each container by the container's name."""
TICK_S = 0.02
STOP_TIMEOUT_S = 30.0
BOOT_LINES = (
    "Linux version 6.12.48+deb13-amd64 (debian-kernel@lists.debian.org) (x86_64-linux-gnu-gcc-14)",
    "NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  580.95.05  Release Build",
    "nvidia-modeset: Loading NVIDIA UNIX Open Kernel Mode Setting Driver for x86_64  580.95.05",
)


class Manager:
    """One stand-in host's manager, in `folder`."""

    def __init__(self, folder: Path, unit: str, scope: str) -> None:
        self.folder = folder
        self.root = folder / "root"
        self.log = journal.Journal(by_user=scope == "user")
        search = tuple(self.root / f"{part}/systemd/{scope}" for part in ("etc", "run", "usr/lib"))
        self.service = service.Service(unit, search, self.log, self.refresh)
        self.transients = transient.Transients()
        self.selector = selectors.DefaultSelector()
        self.partial = b""
        self.ending = False
        self.log.earlier_boot(days=3)
        for line in BOOT_LINES:
            self.log.kernel(line)

    def pids(self) -> list[int]:
        """The unit's processes: those of the main process's session."""
        return proc_tree.session(self.service.exec_pid) if self.service.process else []

    def contained(self) -> dict[str, list[int]]:
        """Processes of containers by their control groups: not the unit's, a daemon starts them."""
        leaders = (int(path.read_text("ascii")) for path in self.folder.glob(f"{CONTAINERS}/*"))
        found = {leader: proc_tree.session(leader) for leader in leaders}
        return {f"/system.slice/docker-{leader:064x}.scope": pids for leader, pids in found.items() if pids}

    def everybody(self) -> list[int]:
        """All processes that this host shows."""
        return [*self.pids(), *(pid for pids in self.contained().values() for pid in pids)]

    def refresh(self) -> None:
        """Makes root/proc show the processes of this moment."""
        proc_tree.refresh(self.root / "proc", {self.service.control_group: self.pids(), **self.contained()})

    def drain(self) -> None:
        """Takes the service's output into the journal, line by line."""
        process = self.service.process
        if process is None or process.stdout is None:
            return
        who = self.service.who()
        while True:
            try:
                data = os.read(process.stdout.fileno(), 1 << 16)
            except BlockingIOError:
                return
            if not data:
                return
            *lines, self.partial = (self.partial + data).split(b"\n")
            for line in lines:
                self.log.line(who, line.decode("utf-8", "surrogateescape"))

    def reap(self) -> None:
        """Deals with an end of the main process, after its last words are in the journal."""
        if self.service.has_exited:
            self.drain()
            if self.partial:
                self.log.line(self.service.who(), self.partial.decode("utf-8", "surrogateescape"))
            self.partial = b""
            self.service.reap()

    def step(self, timeout: float = TICK_S) -> None:
        """One round: output, an exit, a restart that is due, one client."""
        ready = self.selector.select(timeout)
        self.drain()
        self.reap()
        self.service.tick()
        self.transients.reap()
        for key, _events in ready:
            key.data()

    def stop_and_wait(self) -> None:
        """Stops the unit as `systemctl stop` does: waits, then kills."""
        deadline = time.monotonic() + STOP_TIMEOUT_S
        running = self.service.process is not None
        self.service.begin_stop()
        while self.service.process is not None:
            time.sleep(0.005)
            self.drain()
            self.reap()
            if time.monotonic() > deadline:
                self.service.kill_rest()
        if running:
            self.service.announce.stopped()

    def serve(self) -> None:
        """Listens and answers until standard input ends."""
        listener = socket.socket(socket.AF_UNIX)
        os.chdir(self.folder)
        listener.bind(client.SOCKET)
        listener.listen(64)
        self.selector.register(listener, selectors.EVENT_READ, lambda: self._accept(listener))
        self.selector.register(sys.stdin.buffer, selectors.EVENT_READ, self._input)
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        while not self.ending:
            self.step()
        self.service.kill_rest() if self.service.process else None
        self.transients.close()

    def _input(self) -> None:
        if not os.read(sys.stdin.fileno(), 4096):
            self.ending = True

    def _accept(self, listener: socket.socket) -> None:
        connection, _ = listener.accept()
        with connection:
            connection.settimeout(10)
            try:
                question = b""
                while not question.endswith(b"\n"):
                    part = connection.recv(1 << 16)
                    if not part:
                        return
                    question += part
                asked = json.loads(question)
                answer = self.ask(asked["tool"], asked["argv"])
                connection.sendall(json.dumps([answer.status, answer.stdout, answer.stderr]).encode())
            except OSError:
                return  # a client that went away is no reason to stop serving others

    def ask(self, tool: str, argv: Sequence[str]) -> Answer:
        """What `tool argv` prints; "control" is the stand-in host's own."""
        self.refresh()
        if tool == "control":
            return self.control(argv)
        if tool not in TOOLS:
            return unknown(tool, "tool")
        return TOOLS[tool](argv, self)

    def control(self, argv: Sequence[str]) -> Answer:
        """Questions and wishes of the rehearsal itself: what is logged, and what shall have happened."""
        match list(argv):
            case ["logged", text]:
                mine = self.log.select([f"_SYSTEMD_INVOCATION_ID={self.service.invocation}"])
                return Answer(status=0 if any(text in entry["MESSAGE"] for entry in mine) else 1)
            case ["age" | "put_off" as what, seconds]:
                getattr(self.log, what)(float(seconds))
                return Answer()
            case ["suppress", until]:
                self._suppress(until)
                return Answer()
            case ["kernel", line]:
                self.log.kernel(line, priority=3)
                return Answer()
            case ["earlier", line]:
                self.log.kernel(line, priority=3)
                self.log.entries[-1]["_BOOT_ID"] = uuid.uuid4().hex
                return Answer()
            case ["chatter", number]:
                for at in range(int(number)):
                    self.log.line(
                        self.service.who(), f"Prefill batch, #new-seq: 1, #new-token: {at}, #queue-req: 0"
                    )
                return Answer()
            case ["line", text]:
                self.log.line(self.service.who(), text)
                return Answer()
            case ["kill", name] if self.service.process is not None:
                self.service.process.send_signal(signal.Signals[name])
                self.service.process.wait()
                self.reap()
                return Answer()
        return unknown("control", argv)

    def _suppress(self, until: str) -> None:
        """What a rate limit leaves of a start: its lines up to the one with `until` are gone, and journald says so."""
        mine = self.service.invocation
        lines = list(self.log.select([f"_SYSTEMD_INVOCATION_ID={mine}"]))
        last = next(at for at, entry in enumerate(lines) if until in entry["MESSAGE"])
        gone = {entry["__CURSOR"] for entry in lines[:last]}
        dropped = self.log.forget(lambda entry: entry["__CURSOR"] in gone)
        self.log.write(
            {
                "_TRANSPORT": "driver",
                "_PID": "301",
                "_UID": "0",
                "_COMM": "systemd-journal",
                "_SYSTEMD_UNIT": "systemd-journald.service",
                "SYSLOG_IDENTIFIER": "systemd-journald",
                "PRIORITY": "6",
                "OBJECT_PID": str(self.service.exec_pid),
                "OBJECT_SYSTEMD_UNIT": self.service.name,
                "OBJECT_SYSTEMD_INVOCATION_ID": mine,
                "MESSAGE_ID": journal.SUPPRESSED,
                "N_DROPPED": str(dropped),
                "MESSAGE": f"Suppressed {dropped} messages from {self.service.name}",
            }
        )


def main() -> None:
    """`python -m pytest_dflash.rehearsal.manager FOLDER UNIT SCOPE`: "system" or "user"."""
    signal.signal(
        signal.SIGINT, signal.SIG_IGN
    )  # Ctrl-C in the terminal is the test run's; its end ends this
    Manager(Path(sys.argv[1]), *sys.argv[2:4]).serve()


if __name__ == "__main__":
    main()
