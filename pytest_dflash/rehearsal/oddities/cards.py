"""Unusual cards, drivers and disks that are as healthy as any.

Law: a table.
"""

from __future__ import annotations

from pytest_dflash.rehearsal.faults import command, stages
from pytest_dflash.rehearsal.oddities.oddity import Oddity

NOT_THERE = "[N/A]"
GIB = 1024**3
ELSEWHERE = (
    "Memory cgroup out of memory: Killed process 9177 (stress) total-vm:412860kB, anon-rss:104857kB, file-rss:0kB, "
    "shmem-rss:0kB, UID:1000 pgtables:2058kB oom_score_adj:0"
)

CARDS = (
    Oddity(
        "cells-not-there",
        "cards that tell neither power, temperature nor utilization",
        before=stages.cards(
            power__draw=NOT_THERE,
            utilization__gpu=NOT_THERE,
            temperature__gpu=NOT_THERE,
            clocks__sm=NOT_THERE,
        ),
    ),
    Oddity(
        "no-mig",
        "cards without MIG",
        before=stages.cards(mig__mode__current=NOT_THERE, mig__mode__pending=NOT_THERE),
    ),
    Oddity(
        "no-ecc",
        "cards that count no memory errors",
        before=stages.cards(
            ecc__mode__current=NOT_THERE,
            ecc__errors__uncorrected__volatile__total=NOT_THERE,
            remapped_rows__uncorrectable=NOT_THERE,
            remapped_rows__pending=NOT_THERE,
            remapped_rows__failure=NOT_THERE,
        ),
    ),
    Oddity(
        "corrected-errors",
        "memory errors that were corrected, and a row that was remapped for them",
        before=stages.card(
            2,
            ecc__errors__corrected__volatile__total="12",
            remapped_rows__correctable="3",
            remapped_rows__uncorrectable="0",
        ),
    ),
    Oddity(
        "older-field-names",
        "an nvidia-smi that knows fields by their older names, and some not at all",
        before=stages.cards_without(
            "clocks_event_reasons.active",
            "pcie.link.gen.gpumax",
            "pcie.link.gen.hostmax",
            "remapped_rows.pending",
        ),
        places=("cards",),
    ),
    Oddity(
        "power-cap-when-idle",
        "cards whose clocks are low because they are idle, by a cap that somebody chose, and for a reason yet unknown",
        before=stages.cards(
            clocks_event_reasons__active="0x0000000000000305",
            clocks_throttle_reasons__active="0x0000000000000305",
        ),
    ),
    Oddity(
        "one-card",
        "a host with one card",
        before=stages.both(stages.only_cards(1), stages.replace("--tp-size 8", "--tp-size 1")),
        expects=("gpu.count=1", "flags.tp-size=1"),
        places=("cards", "tp"),
    ),
    Oddity(
        "thirty-two-cards",
        "a host with thirty-two cards, of which the service uses eight",
        before=stages.many_cards(32),
        expects=("gpu.count=32",),
        places=("cards",),
    ),
    Oddity(
        "no-process-table",
        "an nvidia-smi that lists no processes, as in a container",
        before=stages.unlisted(),
        places=("cards",),
    ),
    Oddity(
        "subset-of-cards",
        "two services on one host, each with half of the cards by CUDA_VISIBLE_DEVICES",
        before=stages.both(
            stages.in_file(
                "etc/sglang/k26.env", "OMP_NUM_THREADS", "CUDA_VISIBLE_DEVICES=0,1,2,3\nOMP_NUM_THREADS"
            ),
            stages.replace("--tp-size 8", "--tp-size 4"),
            stages.other_on_card(6, 31337, "VLLM::Worker_TP2"),
            stages.written(
                "etc/systemd/system/vllm-other.service", "[Service]\nExecStart=/opt/vllm/bin/vllm serve /m\n"
            ),
        ),
        expects=("flags.tp-size=4",),
        places=("cards", "tp"),
    ),
    Oddity(
        "cards-by-uuid",
        "the cards of the service are chosen by the beginnings of their UUIDs",
        before=stages.both(
            stages.in_file(
                "etc/sglang/k26.env",
                "OMP_NUM_THREADS",
                "CUDA_VISIBLE_DEVICES=GPU-6f1c0a20,GPU-6f1c0a21\nOMP_NUM_THREADS",
            ),
            stages.replace("--tp-size 8", "--tp-size 2"),
            stages.other_on_card(6, 31337, "python"),
        ),
        expects=("flags.tp-size=2",),
        places=("cards", "tp"),
    ),
    Oddity(
        "shared-server",
        "NVIDIA's own process for sharing computes on a card",
        before=stages.other_on_card(0, 999, "nvidia-cuda-mps-server"),
        places=("cards",),
    ),
    Oddity(
        "remark-of-nvidia-smi",
        "an nvidia-smi that prints a warning beside its rows",
        before=stages.cards_remark("WARNING: infoROM is corrupted at gpu 0000:03:00.0"),
    ),
    Oddity(
        "closed-kernel-module",
        "NVIDIA's closed kernel module",
        before=stages.in_file(
            "proc/driver/nvidia/version", "Open Kernel Module for x86_64", "x86_64 Kernel Module"
        ),
    ),
    Oddity(
        "newer-driver",
        "a driver of a branch that nobody has heard of",
        before=stages.in_file("proc/driver/nvidia/version", "580.95.05", "1595.58.03"),
    ),
    Oddity(
        "newer-toolkit",
        "a toolkit of a release that nobody has heard of",
        before=stages.toolkit("13.9"),
    ),
    Oddity(
        "toolkit-on-path",
        "a service that finds its toolkit by PATH, without CUDA_HOME",
        before=command.without_line("Environment="),
        places=("environment",),
    ),
    Oddity(
        "killed-elsewhere",
        "the kernel killed a process of somebody else for lack of memory",
        after=stages.both(
            stages.tool(
                "control",
                "kernel",
                "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,mems_allowed=0-1,oom_memcg=/user.slice,"
                "task_memcg=/user.slice/user-1000.slice,task=stress,pid=9177,uid=1000",
            ),
            stages.tool("control", "kernel", ELSEWHERE),
        ),
    ),
    Oddity(
        "error-of-an-earlier-boot",
        "a GPU error (Xid 79) before the last boot",
        after=stages.tool(
            "control",
            "earlier",
            "NVRM: Xid (PCI:0000:63:00): 79, pid='<unknown>', GPU has fallen off the bus.",
        ),
    ),
    Oddity(
        "no-inodes",
        "a file system without a fixed number of inodes",
        before=stages.mount("/", "/dev/nvme0n1p2", (1880 * GIB, 312 * GIB), (0, 0)),
    ),
    Oddity(
        "large-disk",
        "a disk that is 99.5 % full and has 40 GiB left",
        before=stages.mount("/srv", "/dev/nvme1n1p1", (8000 * GIB, 7960 * GIB), (476_000_000, 310_000)),
    ),
    Oddity(
        "swap-in-use",
        "a host that swaps",
        before=stages.in_file("proc/meminfo", "SwapTotal:             0 kB", "SwapTotal:       8388604 kB"),
    ),
    Oddity(
        "other-distribution",
        "a distribution without os-release",
        before=stages.gone("etc/os-release"),
    ),
    Oddity(
        "other-kernel-command-line",
        "a kernel that was booted with words that nobody knows",
        before=stages.written(
            "proc/cmdline", "root=ZFS=rpool/ROOT ro intel_iommu=off pci=noacs \u00fcber=alles\n"
        ),
    ),
)
