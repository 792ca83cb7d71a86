"""The machine below the service: kernel, memory, clock, system.

Law: questions to /proc and a few tools, and readers of their answers. Numbers carry their unit in the name.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from pytest_dflash.facts.probe import Probe, Reply
from pytest_dflash.facts.reading import Absent, Reading, Silent, Value


@dataclass(frozen=True, slots=True)
class Memory:
    """/proc/meminfo, in bytes. `available_bytes` is the kernel's own estimate of what can still be had."""

    total_bytes: int
    available_bytes: int
    swap_total_bytes: int
    swap_free_bytes: int


@dataclass(frozen=True, slots=True)
class Clock:
    """The host's clocks at one moment. `ticks_per_s` makes /proc/PID/stat's start time seconds."""

    epoch_s: float
    uptime_s: float
    ticks_per_s: int = 100


@dataclass(frozen=True, slots=True)
class System:
    """What machine this is, and as whom we look at it.

    Attributes:
        virtualization: As systemd-detect-virt says ("kvm", "docker"); Absent on bare metal.
    """

    kernel: str
    machine: str
    name: str
    hostname: str
    uid: int
    user: str
    shell: str
    virtualization: Reading[str]


def _command_line(reply: Reply) -> Reading[str]:
    if reply.rc or not reply.text.strip():
        return (
            reply.silence("cat /proc/cmdline")
            if reply.rc
            else Silent("/proc/cmdline is empty", "/proc/cmdline")
        )
    return Value(reply.text.strip(), "/proc/cmdline")


def _memory(reply: Reply) -> Reading[Memory]:
    kib = {key: int(n) for key, n in re.findall(r"^(\w+):\s+(\d{1,18}) kB$", reply.text, re.MULTILINE)}
    missing = [key for key in ("MemTotal", "MemAvailable") if key not in kib]
    if missing:
        return (
            reply.silence("cat /proc/meminfo")
            if reply.rc
            else Silent(f"/proc/meminfo has no {missing[0]}", "/proc/meminfo")
        )
    return Value(
        Memory(
            total_bytes=kib["MemTotal"] * 1024,
            available_bytes=kib["MemAvailable"] * 1024,
            swap_total_bytes=kib.get("SwapTotal", 0) * 1024,
            swap_free_bytes=kib.get("SwapFree", 0) * 1024,
        ),
        "/proc/meminfo",
    )


def _fields(reply: Reply) -> dict[str, str]:
    pairs = (line.partition("=") for line in reply.text.splitlines())
    return {key: value.strip() for key, equals, value in pairs if equals}


_NUMBER = re.compile(r"\d{1,18}(\.\d{1,18})?")


def _clock(reply: Reply) -> Reading[Clock]:
    said = _fields(reply)
    epoch, uptime = said.get("EPOCH", ""), said.get("UPTIME", "").split(" ")[0]
    epoch = epoch.removesuffix(".%N").removesuffix(".N")  # a date without nanoseconds prints the format
    if not _NUMBER.fullmatch(epoch) or not _NUMBER.fullmatch(uptime):
        return Silent(
            f"`date +%s.%N` said {epoch[:40]!r}, /proc/uptime {uptime[:40]!r}: no clock", "date; /proc/uptime"
        )
    ticks = said.get("TICKS", "")
    return Value(
        Clock(float(epoch), float(uptime), int(ticks) if re.fullmatch(r"[1-9]\d{0,5}", ticks) else 100),
        "date; /proc/uptime",
    )


def _system(reply: Reply) -> Reading[System]:
    said = _fields(reply)
    if not said.get("KERNEL") or not re.fullmatch(r"\d{1,10}", said.get("UID", "")):
        return reply.silence("uname -r; id -u")
    virtual = said.get("VIRT", "")
    hint: Reading[str] = Value(virtual, "systemd-detect-virt")
    if virtual in ("none", ""):
        hint = (
            Absent("systemd-detect-virt")
            if virtual
            else Silent("`systemd-detect-virt` is not there or told nothing")
        )
    return Value(
        System(
            kernel=said["KERNEL"],
            machine=said.get("MACHINE", ""),
            name=said.get("PRETTY_NAME", "").strip("\"'"),
            hostname=said.get("HOSTNAME", ""),
            uid=int(said["UID"]),
            user=said.get("USER", ""),
            shell=said.get("SHELL", ""),
            virtualization=hint,
        ),
        "uname; /etc/os-release; id",
    )


KERNEL_COMMAND_LINE: Probe[str] = Probe("kernel-command-line", 'cat "$R/proc/cmdline"', _command_line)
"""What the kernel was booted with (iommu=, amd_iommu=, pci=)."""

MEMORY: Probe[Memory] = Probe("memory", 'cat "$R/proc/meminfo"', _memory)
"""Main memory and swap."""

CLOCK: Probe[Clock] = Probe(
    "clock",
    r"""
printf 'EPOCH=%s\n' "$(date +%s.%N)"
read -r uptime < "$R/proc/uptime" && printf 'UPTIME=%s\n' "$uptime"
printf 'TICKS=%s\n' "$(getconf CLK_TCK 2>/dev/null)"
""",
    _clock,
)
"""Wall clock and uptime, read together."""

SYSTEM: Probe[System] = Probe(
    "system",
    r"""
printf 'KERNEL=%s\nMACHINE=%s\nHOSTNAME=%s\n' "$(uname -r)" "$(uname -m)" "$(uname -n)"
printf 'UID=%s\nUSER=%s\nSHELL=%s\n' "$(id -u)" "$(id -un 2>/dev/null)" "${SHELL:-}"
printf 'VIRT=%s\n' "$(timeout 5 systemd-detect-virt 2>/dev/null)"
release=$R/etc/os-release
[ -r "$release" ] || release=$R/usr/lib/os-release
grep -m1 '^PRETTY_NAME=' "$release" 2>/dev/null
exit 0
""",
    _system,
)
"""Kernel, distribution, and the user who looks."""
