"""What is right about the machine below the service.

Law: pure. Nothing here needs an expectation: a full disk is wrong on every host. Limits stand in tables.
"""

from __future__ import annotations

from collections import Counter

from pytest_dflash.facts.disks import Disk
from pytest_dflash.facts.kernel import KernelJournal, oom_kills, xids
from pytest_dflash.facts.platform import Memory
from pytest_dflash.facts.reading import Absent, Reading, Silent, Value
from pytest_dflash.facts.systemd import Unit
from pytest_dflash.findings import Judgement, Outcome, failed, not_applicable, unproven
from pytest_dflash.rules.gpu import Gpus
from pytest_dflash.rules.judge import Expectation, compare, evidence

GIB = 1024**3
DISK_FREE = 0.02
"""A file system with less than this share free, and less than DISK_FREE_GIB, is full for an engine that caches kernels."""
DISK_FREE_GIB = 5
INODES_FREE = 0.01
SHARED_MEMORY_PER_GPU = 64 * 1024**2
"""NCCL takes tens of MiB of /dev/shm for each rank (33 MiB a segment was seen); docker's default is 64 MiB in all."""
MEMORY_AVAILABLE = 0.02


def xid(kernel: Reading[KernelJournal], gpus: Gpus) -> Judgement:
    """No Xid line since boot. A host without an NVIDIA GPU has no driver that could report one."""
    if isinstance(gpus, Absent):
        return not_applicable(f"no NVIDIA GPU that could report an Xid: {gpus.where}")
    judgement = compare(
        "kernel journal",
        kernel,
        Expectation[KernelJournal](
            "GPU errors (Xid) since boot",
            "none",
            lambda log: not reported(log),
            shown=lambda log: "; ".join(reported(log)) or "none",
            cause="the driver reported GPU errors since the machine was booted",
            remedy="look the numbers up in NVIDIA's Xid catalogue; after 48, 62, 64, 79, 95, 119, 120 or 154 the GPU needs a reset",
        ),
    )
    if judgement.outcome is Outcome.PASS and isinstance(kernel, Value) and not kernel.value.reaches_boot:
        return unproven(
            "no GPU error (Xid) is in the kernel's log, but its lines do not reach back to the boot",
            evidence=judgement.evidence,
            remedy="keep more of the journal (SystemMaxUse= in journald.conf), or judge right after a boot",
        )
    return judgement


def reported(log: KernelJournal) -> list[str]:
    """Each device and Xid once, with its meaning and how often."""
    times = Counter((each.code, each.device, each.meaning) for each in xids(log.entries))
    return [
        f"Xid {code} on {device} ({meaning}), {number} x" for (code, device, meaning), number in times.items()
    ]


def disk_space(disks: Reading[tuple[Disk, ...]]) -> list[Judgement]:
    """No file system that the service uses is full, in bytes or inodes."""
    if not isinstance(disks, Value):
        return [compare("df", disks, Expectation("file systems of the service", "not full", lambda _: True))]
    return [
        compare(
            "df",
            Silent(disk.unread, "df") if disk.unread else Value(disk, disks.where),
            Expectation[Disk](
                f"free space on {disk.mount}",
                f"at least {DISK_FREE:.0%} or {DISK_FREE_GIB} GiB, and {INODES_FREE:.0%} of the inodes",
                has_room,
                shown=room,
                cause=f"it is used for {', '.join(disk.used_for) or 'the system'}; a full disk leaves models incomplete",
                remedy=f"free space on {disk.mount}: old models, caches and journals (`journalctl --disk-usage`)",
                param=disk.mount,
            ),
        )
        for disk in disks.value
        if disk.size_bytes or disk.unread
    ]


def has_room(disk: Disk) -> bool:
    """Whether a file system has room, in bytes and in inodes."""
    bytes_free = disk.available_bytes >= min(DISK_FREE * disk.size_bytes, DISK_FREE_GIB * GIB)
    return bytes_free and not (disk.inodes and (disk.inodes_free or 0) < INODES_FREE * disk.inodes)


def room(disk: Disk) -> str:
    """The free room in words."""
    inodes = f", {disk.inodes_free} inodes" if disk.inodes else ""
    return f"{disk.available_bytes / GIB:.1f} GiB of {disk.size_bytes / GIB:.0f} GiB{inodes}"


def shared_memory(shm: Reading[Disk], gpus: Gpus) -> Judgement:
    """Shared memory, as the service sees it, is large enough for its ranks."""
    number = len(gpus.value) if isinstance(gpus, Value) else 0
    if isinstance(gpus, Absent) or (isinstance(gpus, Value) and number < 2):
        return not_applicable("fewer than two GPUs: the ranks share no memory")
    needed = max(number, 2) * SHARED_MEMORY_PER_GPU
    return compare(
        "df /dev/shm of the service",
        shm,
        Expectation[Disk](
            "free shared memory",
            f"at least {needed / GIB:.1f} GiB for {number} GPUs",
            lambda found: found.available_bytes >= needed,
            shown=room,
            cause="NCCL's segments do not fit: a container's default size, or segments left by killed processes",
            remedy="remount /dev/shm larger (docker: --shm-size), or remove old /dev/shm/nccl-* files of dead processes",
        ),
    )


def memory(memory: Reading[Memory], kernel: Reading[KernelJournal], unit: Reading[Unit]) -> Judgement:
    """Main memory is available, and the kernel has killed nothing of the unit for it since boot."""
    killed = kills(kernel, unit)
    if killed:
        return failed(
            f"the kernel killed a process of the unit for lack of memory: {killed[-1]}",
            expected=[],
            observed=[*killed],
            evidence=(evidence("kernel journal", kernel, [*killed]),),
            cause="the unit's MemoryMax, or the machine itself, is too small for what it loads",
            remedy="raise MemoryMax= or lower what is pinned (--mem-fraction-static, hierarchical cache); then restart",
        )
    return compare(
        "/proc/meminfo",
        memory,
        Expectation[Memory](
            "available memory",
            f"at least {MEMORY_AVAILABLE:.0%}",
            lambda found: found.available_bytes >= MEMORY_AVAILABLE * found.total_bytes,
            shown=lambda found: f"{found.available_bytes / GIB:.1f} GiB of {found.total_bytes / GIB:.0f} GiB",
            remedy="find what holds it: `ps -eo rss,pid,args --sort -rss | head`",
            absent=Outcome.UNPROVEN,
        ),
    )


def kills(kernel: Reading[KernelJournal], unit: Reading[Unit]) -> list[str]:
    """What the kernel's OOM killer killed of the unit."""
    if not isinstance(kernel, Value) or not isinstance(unit, Value) or not unit.value.control_group:
        return []
    return [
        each.entry.message
        for each in oom_kills(kernel.value.entries)
        if unit.value.control_group in each.cgroup
    ]
