"""Faults below the service and beside the cards: disks, memory, kernel module, toolkit, packages.

Law: a table.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_dflash.rehearsal import venv
from pytest_dflash.rehearsal.faults import stages
from pytest_dflash.rehearsal.faults.fault import Fault

if TYPE_CHECKING:
    from pytest_dflash.rehearsal.host import StandInHost

GIB = 1024**3
VICTIM = (
    "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=sglang-k26-ddtree.service,mems_allowed=0-1,"
    "oom_memcg=/system.slice/sglang-k26-ddtree.service,task_memcg=/system.slice/sglang-k26-ddtree.service,"
    "task=python,pid=4177,uid=998"
)
KILLED = (
    "Memory cgroup out of memory: Killed process 4177 (python) total-vm:412316860kB, anon-rss:104857600kB, "
    "file-rss:0kB, shmem-rss:0kB, UID:998 pgtables:205824kB oom_score_adj:0"
)
NVCC = """\
#!/bin/sh
echo 'nvcc: error while loading shared libraries: libnvvm.so.4: cannot open shared object file' >&2
exit 127
"""


def _second_metadata(host: StandInHost) -> None:
    venv.install(host.site_packages, "sglang", "0.5.19")


MACHINE = (
    Fault(
        "package-version",
        "read",
        ("stack.package[flashinfer-python]", "stack.companions"),
        "a package of the serving interpreter is older than expected",
        layer="python",
        severity="silent-slow",
        says="package flashinfer-python: expected >=0.6, found 0.5.3",
        before=stages.package("flashinfer-python", "0.5.3"),
    ),
    Fault(
        "package-twice",
        "read",
        ("stack.package[sglang]",),
        "an interrupted upgrade left the metadata of two versions of a package",
        layer="python",
        severity="silent-wrong",
        says="is installed 2 times in one folder",
        before=_second_metadata,
    ),
    Fault(
        "companion-left-behind",
        "read",
        ("stack.companions",),
        "a package was upgraded, and the one with its kernels was not",
        layer="python",
        severity="down",
        says="flashinfer-python 0.7.2, flashinfer-cubin 0.6.9",
        before=stages.package("flashinfer-cubin", "0.6.9"),
    ),
    Fault(
        "version-check-off",
        "read",
        ("stack.companions",),
        "the check that packages fit each other was turned off",
        layer="python",
        severity="silent-wrong",
        says="FLASHINFER_DISABLE_VERSION_CHECK",
        before=stages.in_file(
            "etc/sglang/k26.env", "OMP_NUM_THREADS", "FLASHINFER_DISABLE_VERSION_CHECK=1\nOMP_NUM_THREADS"
        ),
    ),
    Fault(
        "torch-for-older-cards",
        "read",
        ("stack.built_for_gpus", "stack.torch_and_toolkit"),
        "torch was installed in a build for an older CUDA, which knows no such card",
        layer="python",
        severity="down",
        says="12.0 (CUDA 12.8 and later)",
        before=stages.package("torch", "2.14.1+cu126"),
    ),
    Fault(
        "old-driver",
        "read",
        ("stack.driver",),
        "the loaded kernel module is older than expected",
        layer="driver",
        severity="down",
        says="driver version: expected >=580.65, found 570.124.06",
        before=stages.in_file("proc/driver/nvidia/version", "580.95.05", "570.124.06"),
    ),
    Fault(
        "broken-toolkit",
        "read",
        ("stack.cuda_toolkit", "stack.torch_and_toolkit"),
        "the service finds an nvcc that does not run",
        layer="toolkit",
        severity="down",
        says="error while loading shared libraries",
        before=stages.written("usr/local/cuda/bin/nvcc", NVCC, mode=0o755),
    ),
    Fault(
        "old-toolkit",
        "read",
        ("stack.cuda_toolkit", "stack.torch_and_toolkit"),
        "the service finds the nvcc of an older release",
        layer="toolkit",
        severity="down",
        says="found 12.4",
        before=stages.toolkit("12.4"),
    ),
    Fault(
        "disk-full",
        "read",
        ("host.disk_space",),
        "the disk of the models has no room left",
        layer="machine",
        severity="down",
        says="free space on /srv",
        before=stages.mount("/srv", "/dev/nvme1n1p1", (7600 * GIB, 7599 * GIB), (476_000_000, 310_000)),
    ),
    Fault(
        "inodes-used-up",
        "read",
        ("host.disk_space",),
        "the disk of the system has room and no inodes",
        layer="machine",
        severity="down",
        says="12 inodes",
        before=stages.mount("/", "/dev/nvme0n1p2", (1880 * GIB, 312 * GIB), (117_000_000, 116_999_988)),
    ),
    Fault(
        "shared-memory-small",
        "read",
        ("host.shared_memory",),
        "shared memory has a container's default size",
        layer="machine",
        severity="down",
        says="free shared memory: expected at least 0.5 GiB for 8 GPUs",
        before=stages.mount("/dev/shm", "shm", (64 * 1024**2, 0), (16_384, 1)),  # noqa: S108 - a mount's name
    ),
    Fault(
        "memory-short",
        "read",
        ("host.memory",),
        "the machine has almost no memory left",
        layer="machine",
        severity="down",
        says="available memory: expected at least 2%",
        before=stages.in_file("proc/meminfo", "MemAvailable:   921546752 kB", "MemAvailable:     9215467 kB"),
    ),
    Fault(
        "killed-for-memory",
        "read",
        ("host.memory",),
        "the kernel killed a process of the unit for lack of memory",
        layer="machine",
        severity="down",
        says="the kernel killed a process of the unit for lack of memory",
        after=stages.both(stages.tool("control", "kernel", VICTIM), stages.tool("control", "kernel", KILLED)),
    ),
)
