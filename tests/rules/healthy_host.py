"""Readings of a healthy host, to be changed one at a time."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from pytest_dflash.facts.disks import Disk
from pytest_dflash.facts.journal import Entry
from pytest_dflash.facts.kernel import KernelJournal
from pytest_dflash.facts.nvidia import Gpu
from pytest_dflash.facts.platform import Clock, Memory
from pytest_dflash.facts.procfs import Process
from pytest_dflash.facts.reading import Absent, Silent, Value
from pytest_dflash.facts.systemd import DiskFile, LoadedCommand, Unit, UnitFiles

NAME = "llm.service"
PATH = f"/etc/systemd/system/{NAME}"
ARGV = ("/opt/engine", "--draft-window", "32", "--port", "30000")
GIB = 1024**3
DAY_US = 86_400_000_000
NA = Absent("nvidia-smi: [N/A]")
NOT_HEARD = Silent("`tool` is not there", "tool")


def gpu(index: int = 0, **changes: Any) -> Gpu:
    """One idle card."""
    cells: dict[str, Any] = {
        "index": index,
        "uuid": f"GPU-{index}",
        "name": "NVIDIA RTX PRO 6000",
        "bus_id": f"00000000:{index:02x}:00.0",
        "driver_version": "580.95.05",
        "compute_capability": "12.0",
        "pcie_generation": 1,
        "pcie_generation_max": 5,
        "pcie_generation_gpu_max": 5,
        "pcie_generation_host_max": 5,
        "pcie_width": 16,
        "pcie_width_max": 16,
        "power_draw_w": 33.0,
        "power_limit_w": 600.0,
        "power_max_limit_w": 600.0,
        "persistence": True,
        "ecc": True,
        "ecc_uncorrected": 0,
        "rows_remapped_uncorrectable": 0,
        "rows_remap_pending": False,
        "rows_remap_failed": False,
        "mig": False,
        "throttle_bits": 1,
        "temperature_c": 29,
        "utilization_percent": 0,
        "memory_total_mib": 97887,
        "memory_used_mib": 88214,
        "pstate": "P8",
        "clock_sm_mhz": 180,
    } | changes
    return Gpu(
        **{
            name: cell if isinstance(cell, Value | Absent | Silent) else Value(cell, "nvidia-smi")
            for name, cell in cells.items()
        }
    )


def gpus(number: int = 2, **changes: Any) -> Value[tuple[Gpu, ...]]:
    """Several cards; the changes are the first one's."""
    return Value((gpu(0, **changes), *(gpu(index) for index in range(1, number))), "nvidia-smi --query-gpu")


def unit(**changes: Any) -> Value[Unit]:
    """A running unit, up for ten days since one day after boot."""
    properties = changes.pop("properties", {})
    healthy = Unit(
        name=NAME,
        load_state="loaded",
        active_state="active",
        sub_state="running",
        result="success",
        unit_file_state="enabled",
        fragment_path=PATH,
        drop_in_paths=(),
        need_daemon_reload=False,
        invocation_id="a" * 32,
        main_pid=4121,
        exec_main_code=0,
        exec_main_status=0,
        exec_main_start_monotonic_us=DAY_US,
        n_restarts=0,
        control_group=f"/system.slice/{NAME}",
        user="llm",
        restart="on-failure",
        properties=properties,
    )
    return Value(replace(healthy, **changes), "systemctl show")


def clock(days: float = 11) -> Value[Clock]:
    """So many days after boot."""
    return Value(Clock(1.7e9, days * 86_400), "date; /proc/uptime")


def process(argv: tuple[str, ...] = ARGV, pid: int = 4121, environ: Any = None) -> Value[Process]:
    """The serving process."""
    return Value(
        Process(
            pid,
            1,
            argv,
            Value(argv[0]),
            Value(environ or {}, f"/proc/{pid}/environ") if not isinstance(environ, Silent) else environ,
            1,
            1000,
            f"/system.slice/{NAME}",
            {},
        ),
        f"/proc/{pid}",
    )


def processes(*pids: int) -> Value[tuple[Process, ...]]:
    """Processes of the unit."""
    return Value(tuple(process(pid=pid).value for pid in pids), "/proc")


def text(*lines: str, command: str = " ".join(ARGV)) -> str:
    """A unit file."""
    return "\n".join(("[Service]", *lines, f"ExecStart={command}", ""))


def files(*lines: str, command: str = " ".join(ARGV), **rest: Any) -> Value[UnitFiles]:
    """The unit on disk."""
    return Value(UnitFiles(DiskFile(PATH, text(*lines, command=command)), **rest), PATH)


def loaded(
    *argvs: tuple[str, ...],
    environment: dict[str, str] | None = None,
    environment_files: tuple[str, ...] = (),
) -> Value[LoadedCommand]:
    """The unit as the manager holds it."""
    return Value(LoadedCommand(argvs or (ARGV,), environment or {}, environment_files), "busctl")


def drop_in(name: str, *lines: str, folder: str = f"{PATH}.d") -> DiskFile:
    """A drop-in on disk."""
    return DiskFile(f"{folder}/{name}", "\n".join(("[Service]", *lines, "")))


def disk(**changes: Any) -> Disk:
    """A file system with room."""
    return replace(Disk("/", "/dev/sda1", 1000 * GIB, 400 * GIB, 10**6, 9 * 10**5, {"root": "/"}), **changes)


def kernel(*messages: str, reaches_boot: bool = True, oldest_us: int | None = 0) -> Value[KernelJournal]:
    """The kernel's lines."""
    entries = tuple(Entry(at, at, None, 3, message) for at, message in enumerate(messages))
    return Value(KernelJournal(entries, reaches_boot, "journal", oldest_us), "journal of this boot")


def memory(available: float = 0.5) -> Value[Memory]:
    """Main memory of which this share is available."""
    return Value(Memory(1000 * GIB, int(available * 1000 * GIB), 0, 0), "/proc/meminfo")
