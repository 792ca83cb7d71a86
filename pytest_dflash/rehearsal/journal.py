"""The stand-in's journal: entries in memory, and the selection that journalctl makes of them.

Law: fields as journald 252 names them; who asks and how it is printed is `tools.journalctl`'s.
"""

from __future__ import annotations

import os
import re
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

Fields = dict[str, str]
LINE_MAX = 49_152  # bytes; longer lines are split, the first part marked
HOSTNAME = "inferhost"
SUPPRESSED = "a596d6fe7bfa4994828e72309e95d61e"
_MANAGER = {
    "_TRANSPORT": "journal",
    "_PID": "1",
    "_UID": "0",
    "_GID": "0",
    "_COMM": "systemd",
    "_EXE": "/usr/lib/systemd/systemd",
    "_CMDLINE": "/usr/lib/systemd/systemd",
    "_SYSTEMD_CGROUP": "/init.scope",
    "_SYSTEMD_UNIT": "init.scope",
    "_SYSTEMD_SLICE": "-.slice",
    "SYSLOG_IDENTIFIER": "systemd",
    "SYSLOG_FACILITY": "3",
}
_STAMP = re.compile(r"^\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d")


def boot_id() -> str:
    """This boot, as the journal writes it."""
    return Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip().replace("-", "")


@dataclass(slots=True)
class Journal:
    """All entries, oldest first.

    Attributes:
        off_us: How far the host's clock is off.
        by_user: The unit is one of a user's own manager, which speaks of it under other names.
    """

    entries: list[Fields] = field(default_factory=list)
    boot: str = field(default_factory=boot_id)
    machine: str = field(default_factory=lambda: uuid.uuid4().hex)
    written: int = 0
    off_us: int = 0
    by_user: bool = False

    def write(self, fields: Mapping[str, str], *, ago_us: int = 0) -> None:
        """One entry, now or `ago_us` earlier."""
        realtime = time.time_ns() // 1000 + self.off_us - ago_us
        monotonic = max(time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000 - ago_us, 0)
        self.written += 1
        self.entries.append(
            {
                "__CURSOR": f"s={self.machine};i={self.written:x};b={self.boot};m={monotonic:x};t={realtime:x};x=0",
                "__REALTIME_TIMESTAMP": str(realtime),
                "__MONOTONIC_TIMESTAMP": str(monotonic),
                "_BOOT_ID": self.boot,
                "_MACHINE_ID": self.machine,
                "_HOSTNAME": HOSTNAME,
                "_RUNTIME_SCOPE": "system",
                **fields,
            }
        )

    def manager(self, unit: str, invocation: str, message: str, priority: int = 6, **more: str) -> None:
        """What the manager says about `unit`."""
        prefix = "USER_" if self.by_user else ""
        uid = os.getuid()
        theirs = {"_PID": "917", "_UID": str(uid), "_SYSTEMD_UNIT": f"user@{uid}.service"}
        speaker = theirs if self.by_user else {}
        self.write(
            {
                **_MANAGER,
                **speaker,
                "PRIORITY": str(priority),
                f"{prefix}UNIT": unit,
                f"{prefix}INVOCATION_ID": invocation,
                "MESSAGE": message,
                **more,
            }
        )

    def line(self, who: Mapping[str, str], text: str) -> None:
        """One line of a service's output, split where journald splits."""
        data = text.encode("utf-8", "surrogateescape")
        while len(data) > LINE_MAX:
            part, data = data[:LINE_MAX], data[LINE_MAX:]
            self.write({**who, "MESSAGE": part.decode("utf-8", "surrogateescape"), "_LINE_BREAK": "line-max"})
        self.write({**who, "MESSAGE": data.decode("utf-8", "surrogateescape")})

    def kernel(self, message: str, priority: int = 6) -> None:
        """One line of the kernel, as if from boot."""
        since_boot = int(time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000)
        self.write(
            {
                "_TRANSPORT": "kernel",
                "SYSLOG_IDENTIFIER": "kernel",
                "PRIORITY": str(priority),
                "MESSAGE": message,
            },
            ago_us=max(since_boot - 2_000_000, 0),
        )

    def earlier_boot(self, days: int) -> None:
        """A line of pid 1 from a boot before this one, so that the journal reaches back further than a day."""
        self.write(
            {**_MANAGER, "PRIORITY": "6", "MESSAGE": "systemd 252.39-1~deb12u1 running in system mode"}
        )
        entry = self.entries[-1]
        entry["_BOOT_ID"] = uuid.uuid4().hex
        entry["__REALTIME_TIMESTAMP"] = str(int(entry["__REALTIME_TIMESTAMP"]) - days * 86_400_000_000)
        entry["__MONOTONIC_TIMESTAMP"] = "3141592"

    def age(self, seconds: float) -> None:
        """Moves the service's past further into the past, the engine's own time stamps with it; not the boot."""
        for entry in self.entries:
            if entry["_TRANSPORT"] == "kernel" or entry["_BOOT_ID"] != self.boot:
                continue
            for name in ("__REALTIME_TIMESTAMP", "__MONOTONIC_TIMESTAMP"):
                entry[name] = str(max(int(entry[name]) - int(seconds * 1e6), 0))
            then = time.strftime(
                "[%Y-%m-%d %H:%M:%S", time.localtime(int(entry["__REALTIME_TIMESTAMP"]) / 1e6)
            )
            entry["MESSAGE"] = _STAMP.sub(then, entry["MESSAGE"])

    def put_off(self, seconds: float) -> None:
        """Puts the clock off by which entries are stamped from now on."""
        self.off_us = int(seconds * 1e6)

    def forget(self, condition: Callable[[Fields], bool]) -> int:
        """Drops entries, as a rate limit or a rotation does; says how many."""
        kept = [entry for entry in self.entries if not condition(entry)]
        dropped = len(self.entries) - len(kept)
        self.entries[:] = kept
        return dropped

    def select(self, matches: Sequence[str]) -> Iterator[Fields]:
        """Entries by `FIELD=VALUE`: one field's values are alternatives, fields are joined, `+` starts over."""
        groups: list[dict[str, set[str]]] = [{}]
        for match in matches:
            if match == "+":
                groups.append({})
            else:
                name, _, value = match.partition("=")
                groups[-1].setdefault(name, set()).add(value)
        for entry in self.entries:
            if any(all(entry.get(name) in values for name, values in group.items()) for group in groups):
                yield entry
