"""What is right about the machine below the service.

Law: pure. Nothing here needs an expectation: a full disk is wrong on every host. Limits stand in tables.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from pytest_dflash.facts.disks import Disk
from pytest_dflash.facts.kernel import KernelJournal, oom_kills, xids
from pytest_dflash.facts.platform import Clock, Memory
from pytest_dflash.facts.procfs import Process
from pytest_dflash.facts.reading import Reading, Silent, Value
from pytest_dflash.facts.starts import Previous
from pytest_dflash.facts.systemd import Unit
from pytest_dflash.findings import Judgement, Outcome, failed, not_applicable, unproven
from pytest_dflash.rules import driver
from pytest_dflash.rules.gpu import Gpus, visible
from pytest_dflash.rules.judge import HEAR, Expectation, compare, evidence
from pytest_dflash.rules.systemd import spell

GIB = 1024**3
DISK_FREE = 0.02
"""A file system with less than this share free, and less than DISK_FREE_GIB, is full for an engine that caches kernels."""
DISK_FREE_GIB = 5
INODES_FREE = 0.01
SHARED_MEMORY_PER_GPU = 64 * 1024**2
"""NCCL takes tens of MiB of /dev/shm for each rank (33 MiB a segment was seen); docker's default is 64 MiB in all."""
MEMORY_AVAILABLE = 0.02
DAY_S = 86_400


def xid(kernel: Reading[KernelJournal], gpus: Gpus, unit: Reading[Unit], clock: Reading[Clock]) -> Judgement:
    """No Xid line since boot. A host without an NVIDIA GPU has no driver that could report one.

    Where the log was rotated and tells of no Xid, it must reach back to the start of the running service, or a
    day: a host that has been up for long is not accused, and it is said since when nothing was reported.
    """
    if mute := driver.untold(kernel, gpus, "since boot"):
        return mute
    judgement = compare(
        "kernel journal",
        kernel,
        Expectation[KernelJournal](
            "GPU errors (Xid) since boot",
            "none",
            lambda log: not reported(log),
            shown=lambda log: "; ".join(reported(log)) or "none",
            cause="the driver reported GPU errors since the machine was booted",
            remedy="look the numbers up in NVIDIA's Xid catalogue; after 48, 62, 64, 79, 95, 119, 120 or 154 "
            "the GPU needs a reset",
            measures=lambda log: {"xids": len(xids(log.entries))},
        ),
    )
    if judgement.outcome is not Outcome.PASS or not isinstance(kernel, Value) or kernel.value.reaches_boot:
        return judgement
    oldest = kernel.value.oldest_us
    now_us = clock.value.uptime_s * 1e6 if isinstance(clock, Value) else None
    if oldest is not None and now_us is not None:
        covered_s = (now_us - oldest) / 1e6
        begin = unit.value.exec_main_start_monotonic_us if isinstance(unit, Value) else None
        since = f"none in the last {spell(covered_s)}; older lines of the kernel were rotated away"
        if begin is not None and oldest <= begin:
            return replace(
                judgement,
                summary=f"GPU errors (Xid): {since}, from before the start of the service",
            )
        if covered_s >= DAY_S:
            return replace(judgement, summary=f"GPU errors (Xid): {since}, and with them the service's start")
    return unproven(
        "no GPU error (Xid) is in the kernel's log, but its lines reach back neither to the boot, nor to the start "
        "of the service, nor a day",
        expected=judgement.expected,
        evidence=judgement.evidence,
        remedy="keep more of the journal (SystemMaxUse= in journald.conf), or judge right after a boot",
    )


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
    judgements = [
        compare(
            "df",
            Silent(disk.unread, "df") if disk.unread else Value(disk, disks.where),
            Expectation[Disk](
                f"free space on {disk.mount}",
                f"at least {DISK_FREE:.0%} or {DISK_FREE_GIB} GiB, and {INODES_FREE:.0%} of the inodes",
                has_room,
                shown=room,
                cause=f"it is used for {', '.join(disk.used_for) or 'the system'}; a full disk leaves models incomplete",
                remedy=f"make room on {disk.mount}: old models, caches and journals (`journalctl --disk-usage`)",
                param=disk.mount,
                measures=lambda found: {"free_bytes": found.available_bytes, "size_bytes": found.size_bytes},
            ),
        )
        for disk in disks.value
        if disk.size_bytes or disk.unread
    ]
    return judgements or [
        unproven("no file system of the service has a size", evidence=(evidence("df", disks),), remedy=HEAR)
    ]


def has_room(disk: Disk) -> bool:
    """Whether a file system has room, in bytes and in inodes; what is read-only has nothing to run out of."""
    if disk.read_only:
        return True
    bytes_free = disk.available_bytes >= min(DISK_FREE * disk.size_bytes, DISK_FREE_GIB * GIB)
    return bytes_free and not (disk.inodes and (disk.inodes_free or 0) < INODES_FREE * disk.inodes)


def room(disk: Disk) -> str:
    """The free room in words."""
    if disk.read_only:
        return f"read-only, {disk.size_bytes / GIB:.1f} GiB: nothing can fill it up"
    inodes = f", {disk.inodes_free} inodes" if disk.inodes else ""
    return f"{disk.available_bytes / GIB:.1f} GiB of {disk.size_bytes / GIB:.0f} GiB{inodes}"


def shared_memory(shm: Reading[Disk], gpus: Gpus, process: Reading[Process]) -> Judgement:
    """Shared memory, as the service sees it, is large enough for the ranks on the GPUs that it may use."""
    if isinstance(gpus, Silent):
        return unproven(
            f"how many ranks share memory could not be told: {gpus.why}",
            evidence=(evidence("nvidia-smi", gpus),),
            remedy=HEAR,
        )
    number = len(visible(gpus, process)) if isinstance(gpus, Value) else 0
    if number < 2:
        return not_applicable("fewer than two GPUs: the ranks share no memory")
    needed = number * SHARED_MEMORY_PER_GPU
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
            measures=lambda found: {"free_bytes": found.available_bytes},
        ),
    )


def memory(
    memory: Reading[Memory], kernel: Reading[KernelJournal], unit: Reading[Unit], previous: Reading[Previous]
) -> Judgement:
    """Main memory is available, and the kernel has killed nothing of the unit for it since boot.

    Where the kernel's log cannot be read, systemd speaks for it: it notes the kill of a unit's process.
    """
    killed = kills(kernel, unit) or noted(unit, previous)
    if killed:
        return failed(
            f"the kernel killed a process of the unit for lack of memory: {killed[-1]}",
            expected=[],
            observed=[*killed],
            evidence=(
                evidence("kernel journal", kernel, [*killed]),
                evidence("previous invocation", previous),
            ),
            cause="the unit's MemoryMax, or the machine itself, is too small for what it loads",
            remedy="raise MemoryMax= or lower what is pinned (--mem-fraction-static, hierarchical cache); then restart",
            measures={"oom_kills": len(killed)},
        )
    judgement = compare(
        "/proc/meminfo",
        memory,
        Expectation[Memory](
            "available memory",
            f"at least {MEMORY_AVAILABLE:.0%}",
            lambda found: found.available_bytes >= MEMORY_AVAILABLE * found.total_bytes,
            shown=lambda found: f"{found.available_bytes / GIB:.1f} GiB of {found.total_bytes / GIB:.0f} GiB",
            remedy="find what holds it: `ps -eo rss,pid,args --sort -rss | head`",
            absent=Outcome.UNPROVEN,
            measures=lambda found: {"available_bytes": found.available_bytes},
        ),
    )
    if judgement.outcome is not Outcome.PASS or not isinstance(kernel, Silent):
        return judgement
    if isinstance(unit, Silent) or isinstance(previous, Silent):
        return unproven(
            f"{judgement.summary}; whether the kernel killed anything for lack of memory could not be told: "
            f"{kernel.why}",
            expected=judgement.expected,
            evidence=(*judgement.evidence, evidence("kernel journal", kernel)),
            remedy=HEAR,
        )
    return replace(
        judgement,
        summary=f"{judgement.summary}; systemd noted no kill for lack of memory (the kernel's log cannot be read)",
        evidence=(*judgement.evidence, evidence("kernel journal", kernel)),
    )


def noted(unit: Reading[Unit], previous: Reading[Previous]) -> list[str]:
    """What systemd says of kills for lack of memory: of this invocation, and of the one before."""
    now = isinstance(unit, Value) and unit.value.result == "oom-kill"
    before = isinstance(previous, Value) and previous.value.result == "oom-kill"
    return ["this run ended by oom-kill, says systemd"] * now + [
        "the run before ended by oom-kill, says systemd"
    ] * before


def kills(kernel: Reading[KernelJournal], unit: Reading[Unit]) -> list[str]:
    """What the kernel's OOM killer killed of the unit."""
    if not isinstance(kernel, Value) or not isinstance(unit, Value) or not unit.value.control_group:
        return []
    return [
        each.entry.message
        for each in oom_kills(kernel.value.entries)
        if unit.value.control_group in each.cgroup
    ]
