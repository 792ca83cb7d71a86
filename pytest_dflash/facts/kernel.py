"""What the kernel said in this boot about GPUs and memory.

Law: lines and their readers; whether an Xid matters is judged elsewhere, what it means is told here.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from pytest_dflash.facts.journal import ASK, Entry, read_lines
from pytest_dflash.facts.probe import Probe, Reply
from pytest_dflash.facts.reading import Reading, Silent, Value


@dataclass(frozen=True, slots=True)
class KernelJournal:
    """This boot's kernel lines about NVIDIA's driver and about memory, oldest first.

    Attributes:
        reaches_boot: The oldest kept line is from the first seconds of the boot, so nothing was pushed out.
        oldest_us: The time of the oldest kept line, in microseconds since boot: what is told reaches back to it.
        source: "journal", or "dmesg" where journald keeps no kernel lines.
    """

    entries: tuple[Entry, ...]
    reaches_boot: bool
    source: str = "journal"
    oldest_us: int | None = None


@dataclass(frozen=True, slots=True)
class Xid:
    """One fault report of NVIDIA's driver. `device` is the PCI address, domain:bus:device."""

    code: int
    device: str
    text: str
    entry: Entry

    @property
    def meaning(self) -> str:
        """What this Xid stands for."""
        return XIDS.get(self.code, "see NVIDIA's Xid catalogue")


@dataclass(frozen=True, slots=True)
class OomKill:
    """One kill by the kernel for want of memory. `cgroup` is empty where the kernel did not name it."""

    pid: int
    name: str
    cgroup: str
    entry: Entry


XIDS = {
    13: "graphics engine exception: usually a faulty kernel or an illegal access",
    31: "GPU memory page fault: usually a faulty kernel",
    32: "invalid or corrupted push buffer",
    43: "a GPU channel was reset after a fault of the application",
    45: "work was preempted, mostly after an earlier Xid or a killed process",
    48: "double-bit ECC error: uncorrectable memory error",
    61: "internal micro-controller breakpoint",
    62: "internal micro-controller halt: the GPU needs a reset",
    63: "a memory row was remapped, or a page retired",
    64: "a memory row could not be remapped: the GPU needs a reset or a replacement",
    68: "video processor exception",
    69: "graphics engine class error",
    74: "NVLink error",
    79: "the GPU has fallen off the bus: power, heat, riser or link",
    92: "high rate of single-bit ECC errors",
    94: "contained memory error: the application was ended",
    95: "uncontained memory error: the GPU needs a reset",
    109: "context switch timed out",
    119: "the GPU's system processor (GSP) did not answer",
    120: "the GPU's system processor (GSP) failed",
    121: "C2C link error",
    140: "unrecovered ECC error",
    143: "the GPU could not be initialised",
    144: "NVLink: SAW error",
    145: "NVLink: RLW error",
    149: "NVLink: NETIR error",
    154: "the driver says which recovery action the GPU needs",
}
"""Source: NVIDIA's "XID Errors" document, shortened."""

_SCRIPT = rf"""{ASK}
wanted='s/\(NVRM\|Xid\|[Oo]ut of memory\|oom-kill\|Killed process\)/&/p'
ask -k -b -a @NEWEST@ --output-fields=MESSAGE,PRIORITY | sed -n "1p;2,\$$wanted" | head -c 2000000
echo
echo end
timeout 5 dmesg | sed -n "1p;2,\$$wanted" | head -c 500000
"""

_DMESG = re.compile(r"\[\s*(\d{1,12})\.(\d{6})\] ?(.*)")
_AT_BOOT_US = 60_000_000


def _read_kernel(reply: Reply) -> Reading[KernelJournal]:
    journal, found, ring = reply.text.partition("\nend\n")
    if not found:
        return reply.silence("journalctl -k")
    lines, _ = read_lines(raw for raw in journal.split("\n") if raw.startswith("{"))
    entries = tuple(line.entry for line in lines)
    source = "journal"
    if not entries:
        entries = tuple(
            Entry(0, int(match[1]) * 1_000_000 + int(match[2]), None, None, match[3])
            for match in map(_DMESG.match, ring.split("\n"))
            if match
        )
        source = "dmesg"
    if not entries:
        return Silent(
            "neither the kernel's journal nor dmesg can be read by this user: "
            "put the user into the group systemd-journal, or read with sudo (--sudo)",
            "journalctl -k",
        )
    first = entries[0].monotonic_us
    reaches = first is not None and first <= _AT_BOOT_US
    told = tuple(filter(_tells, entries))
    return Value(KernelJournal(told, reaches, source, first), f"{source} of this boot")


def _tells(entry: Entry) -> bool:
    return bool(re.search(r"NVRM|Xid|[Oo]ut of memory|oom-kill|Killed process", entry.message))


KERNEL: Probe[KernelJournal] = Probe("kernel-journal", _SCRIPT.replace("@NEWEST@", ""), _read_kernel)
"""The first line comes along as the proof that the kernel's lines can be read."""

RECENT_KERNEL: Probe[KernelJournal] = Probe(
    "recent-kernel-journal", _SCRIPT.replace("@NEWEST@", "-n 300"), _read_kernel
)
"""The newest lines only: cheap enough to be asked every second while the host is under load."""

_XID = re.compile(r"NVRM: Xid \((?:PCI:)?([0-9A-Fa-f:.]+)[^)]*\): (\d{1,6}),?\s*(.*)")
_OOM = re.compile(r"(?:Out of memory|Memory cgroup out of memory).*?Killed process (\d{1,10}) \(([^)]*)\)")
_VICTIM = re.compile(r"oom-kill:.*?task_memcg=([^,]*),task=([^,]*),pid=(\d{1,10})")


def xids(entries: Sequence[Entry]) -> tuple[Xid, ...]:
    """Every Xid, in order."""
    found = ((_XID.search(entry.message), entry) for entry in entries)
    return tuple(Xid(int(match[2]), match[1], match[3], entry) for match, entry in found if match)


def oom_kills(entries: Sequence[Entry]) -> tuple[OomKill, ...]:
    """Every kill for want of memory, with the control group where the kernel named it."""
    groups = {int(match[3]): match[1] for entry in entries if (match := _VICTIM.search(entry.message))}
    found = ((_OOM.search(entry.message), entry) for entry in entries)
    return tuple(
        OomKill(int(match[1]), match[2], groups.get(int(match[1]), ""), entry)
        for match, entry in found
        if match
    )
