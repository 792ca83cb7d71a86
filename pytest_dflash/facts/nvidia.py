"""GPUs as nvidia-smi tells of them, who computes on them, and the kernel's driver.

Law: one query with all fields, mapped by position (header names differ between drivers). A cell is a number
or a word, or it is Absent ("[N/A]": this GPU has no such thing), or Silent ("[Unknown Error]").
No expectation is known here, and nothing is judged: an idle GPU may lower its link, its clocks, its power.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from pytest_dflash.facts import smi
from pytest_dflash.facts.digits import whole
from pytest_dflash.facts.probe import Probe, Reply
from pytest_dflash.facts.reading import Absent, Reading, Silent, Value

T = TypeVar("T")

FIELDS: Mapping[str, str] = {
    "index": "",
    "uuid": "",
    "name": "",
    "pci.bus_id": "",
    "driver_version": "",
    "compute_cap": "",
    "pcie.link.gen.current": "pcie.link.gen.gpucurrent",
    "pcie.link.gen.max": "",
    "pcie.link.gen.gpumax": "",
    "pcie.link.gen.hostmax": "",
    "pcie.link.width.current": "",
    "pcie.link.width.max": "",
    "power.draw": "power.draw.average",
    "power.limit": "",
    "power.max_limit": "",
    "persistence_mode": "",
    "ecc.mode.current": "",
    "ecc.errors.uncorrected.volatile.total": "",
    "remapped_rows.uncorrectable": "",
    "remapped_rows.pending": "",
    "remapped_rows.failure": "",
    "mig.mode.current": "",
    "clocks_event_reasons.active": "clocks_throttle_reasons.active",
    "temperature.gpu": "",
    "utilization.gpu": "",
    "memory.total": "",
    "memory.used": "",
    "pstate": "",
    "clocks.current.sm": "clocks.sm",
}
"""What is asked, to the name that another driver knows it by ("": none, then it is left out)."""

THROTTLE_REASONS: Mapping[int, str] = {
    0x1: "GPU idle",
    0x2: "applications clocks setting",
    0x4: "software power cap",
    0x8: "hardware slowdown",
    0x10: "sync boost",
    0x20: "software thermal slowdown",
    0x40: "hardware thermal slowdown",
    0x80: "hardware power brake",
    0x100: "display clocks setting",
}
"""Bits of clocks_event_reasons.active. Source: NVML, nvmlClocksEventReasons."""

INNOCENT_REASONS = 0x1 | 0x100
"""Idle and display clocks: no throttling."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gpu:
    """One row of nvidia-smi. Watts, MiB, MHz, degrees Celsius, per cent, as the names say.

    Attributes:
        pcie_generation_max: What GPU *and* host can do together: a board that forces generation 3 shows 3.
        pcie_generation_gpu_max: What the GPU alone can do.
        pcie_generation_host_max: What the root port can do.
        throttle_bits: clocks_event_reasons.active; see `throttle_reasons`.
    """

    index: Reading[int]
    uuid: Reading[str]
    name: Reading[str]
    bus_id: Reading[str]
    driver_version: Reading[str]
    compute_capability: Reading[str]
    pcie_generation: Reading[int]
    pcie_generation_max: Reading[int]
    pcie_generation_gpu_max: Reading[int]
    pcie_generation_host_max: Reading[int]
    pcie_width: Reading[int]
    pcie_width_max: Reading[int]
    power_draw_w: Reading[float]
    power_limit_w: Reading[float]
    power_max_limit_w: Reading[float]
    persistence: Reading[bool]
    ecc: Reading[bool]
    ecc_uncorrected: Reading[int]
    rows_remapped_uncorrectable: Reading[int]
    rows_remap_pending: Reading[bool]
    rows_remap_failed: Reading[bool]
    mig: Reading[bool]
    throttle_bits: Reading[int]
    temperature_c: Reading[int]
    utilization_percent: Reading[int]
    memory_total_mib: Reading[int]
    memory_used_mib: Reading[int]
    pstate: Reading[str]
    clock_sm_mhz: Reading[int]

    @property
    def label(self) -> str:
        """What to call it: its UUID, else its bus address, else its index."""
        for reading in (self.uuid, self.bus_id):
            if isinstance(reading, Value):
                return reading.value
        return f"GPU {self.index.value}" if isinstance(self.index, Value) else "a GPU without a name"


@dataclass(frozen=True, slots=True)
class GpuProcess:
    """One process that computes on a GPU."""

    gpu_uuid: str
    pid: int
    used_mib: Reading[int]
    name: str = ""


@dataclass(frozen=True, slots=True)
class Driver:
    """The loaded kernel module. `open_module`: NVIDIA's open flavour, which Blackwell needs."""

    version: str
    open_module: bool
    line: str


def throttle_reasons(bits: int) -> tuple[str, ...]:
    """The reasons in `bits` that slow a GPU down (idle and display clocks do not); an unknown bit by its number."""
    rest = bits & ~INNOCENT_REASONS
    known = [name for bit, name in THROTTLE_REASONS.items() if rest & bit]
    unknown = rest & ~sum(THROTTLE_REASONS)
    return (*known, *([f"unknown reason {unknown:#x}"] if unknown else ()))


_GPUS_SCRIPT = (
    smi.ASK
    + f"fields={','.join(FIELDS)}\n"
    + "other_name() { case $1 in\n"
    + "".join(f"    {name}) echo {other} ;;\n" for name, other in FIELDS.items() if other)
    + r"""esac; }
tries=0
while :; do
    said=$(ask 15 nvidia-smi "--query-gpu=$fields" --format=csv,noheader,nounits)
    case $said in *'is not a valid field to query'*) ;; *) break ;; esac
    tries=$((tries + 1))
    [ "$tries" -lt 12 ] || break
    refused=${said#*Field \"}
    refused=${refused%%\"*}
    kept= changed=
    for field in $(printf '%s' "$fields" | tr ',' ' '); do
        if [ "$field" = "$refused" ]; then
            field=$(other_name "$field") changed=yes
        fi
        kept=$kept${field:+${kept:+,}$field}
    done
    [ -n "$changed" ] || break
    fields=$kept
done
printf 'fields=%s\n%s\n' "$fields" "$said"
case $said in *ended=[0-9]*) ;; *) echo 'ended=124'; stuck ;; esac
"""
)

_PROCESSES_SCRIPT = (
    smi.ASK
    + r"""
fields=gpu_uuid,pid,used_memory,process_name
said=$(ask 8 nvidia-smi "--query-compute-apps=$fields" --format=csv,noheader,nounits)
printf '%s\n' "$said"
case $said in *ended=[0-9]*) ;; *) echo 'ended=124' ;; esac
"""
)


def _gpu(row: Mapping[str, str]) -> Gpu:
    def cell(field: str, read: Callable[[str], T | None]) -> Reading[T]:
        other = FIELDS[field]
        return smi.cell(row.get(field, row.get(other)), field, read)

    return Gpu(
        index=cell("index", whole),
        uuid=cell("uuid", smi.word),
        name=cell("name", smi.word),
        bus_id=cell("pci.bus_id", smi.word),
        driver_version=cell("driver_version", smi.word),
        compute_capability=cell("compute_cap", smi.word),
        pcie_generation=cell("pcie.link.gen.current", whole),
        pcie_generation_max=cell("pcie.link.gen.max", whole),
        pcie_generation_gpu_max=cell("pcie.link.gen.gpumax", whole),
        pcie_generation_host_max=cell("pcie.link.gen.hostmax", whole),
        pcie_width=cell("pcie.link.width.current", whole),
        pcie_width_max=cell("pcie.link.width.max", whole),
        power_draw_w=cell("power.draw", smi.real),
        power_limit_w=cell("power.limit", smi.real),
        power_max_limit_w=cell("power.max_limit", smi.real),
        persistence=cell("persistence_mode", smi.switch),
        ecc=cell("ecc.mode.current", smi.switch),
        ecc_uncorrected=cell("ecc.errors.uncorrected.volatile.total", whole),
        rows_remapped_uncorrectable=cell("remapped_rows.uncorrectable", whole),
        rows_remap_pending=cell("remapped_rows.pending", smi.switch),
        rows_remap_failed=cell("remapped_rows.failure", smi.switch),
        mig=cell("mig.mode.current", smi.switch),
        throttle_bits=cell("clocks_event_reasons.active", smi.bits_of),
        temperature_c=cell("temperature.gpu", whole),
        utilization_percent=cell("utilization.gpu", whole),
        memory_total_mib=cell("memory.total", whole),
        memory_used_mib=cell("memory.used", whole),
        pstate=cell("pstate", smi.word),
        clock_sm_mhz=cell("clocks.current.sm", whole),
    )


def _parse_gpus(reply: Reply) -> Reading[tuple[Gpu, ...]]:
    command = "nvidia-smi --query-gpu"
    if reply.text.startswith(smi.NO_DEVICE):
        return Absent(smi.NO_DEVICE)
    lines = reply.text.splitlines()
    asked = (
        lines.pop(0).removeprefix("fields=").split(",") if lines and lines[0].startswith("fields=") else []
    )
    answer = smi.take_apart(lines, max(len(asked), 2))
    remarks = "; ".join(answer.remarks)
    if len(asked) > 1 and answer.rows:
        gpus = tuple(_gpu(dict(zip(asked, row, strict=True))) for row in answer.rows)
        return Value(gpus, f"{command} (it also said: {remarks})" if remarks else command)
    if "No devices were found" in remarks:
        return Absent(f"{command}: No devices were found")
    return smi.silence(reply, answer, command)


def _parse_processes(reply: Reply) -> Reading[tuple[GpuProcess, ...]]:
    command = "nvidia-smi --query-compute-apps"
    if reply.text.startswith(smi.NO_DEVICE):
        return Absent(smi.NO_DEVICE)
    answer = smi.take_apart(reply.text.splitlines(), 4)
    if reply.rc or answer.rc:
        return smi.silence(reply, answer, command)
    # A card that fell off the bus has a row without its name; that it did is told where the cards are.
    rows = [row for row in answer.rows if row[0].startswith(("GPU-", "MIG-"))]
    if hidden := [pid for _, pid, _, _ in rows if not re.fullmatch(r"\d{1,10}", pid)]:
        return Silent(
            f"the pid of {len(hidden)} processes is not told but {hidden[0]!r}; try --sudo", command
        )
    return Value(
        tuple(
            GpuProcess(uuid, int(pid), smi.cell(used, "used_memory", whole, "--query-compute-apps"), name)
            for uuid, pid, used, name in rows
        ),
        f"{command} (it also said: {'; '.join(answer.remarks)})" if answer.remarks else command,
    )


def _parse_driver(reply: Reply) -> Reading[Driver]:
    where = "/proc/driver/nvidia/version"
    line = next((line for line in reply.text.splitlines() if line.startswith("NVRM version")), "")
    if version := re.search(r"\s(\d{2,4}\.\d{1,4}(?:\.\d{1,4})?)\s", line + " "):
        return Value(Driver(version[1], "Open Kernel Module" in line, line.strip()), where)
    if b"No such file" in reply.stderr:
        return Absent(f"{where}: the NVIDIA kernel module is not loaded")
    return (
        reply.silence(f"cat {where}")
        if reply.rc
        else Silent(f"{where} names no version: {line[:120]!r}", where)
    )


GPUS: Probe[tuple[Gpu, ...]] = Probe("gpus", _GPUS_SCRIPT, _parse_gpus)
"""All GPUs. Absent: nvidia-smi was heard and has none. Whatever it said beside its rows stands in `where`."""

GPU_PROCESSES: Probe[tuple[GpuProcess, ...]] = Probe("gpu-processes", _PROCESSES_SCRIPT, _parse_processes)
"""Who computes on them, in the host's pids."""

DRIVER: Probe[Driver] = Probe("driver", 'cat "$R/proc/driver/nvidia/version"', _parse_driver)
"""The kernel module that is loaded: after an upgrade without a reboot, not the one that is installed."""
