"""What is right about the GPUs.

Law: pure. One judgement a GPU, named by its UUID. An idle sample gives no verdict on links, clocks or power
drawn: those are judged under load.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

from pytest_dflash.facts.nvidia import Gpu, GpuProcess, throttle_reasons
from pytest_dflash.facts.procfs import ONLY_STARTS, Process, starts_container
from pytest_dflash.facts.reading import Absent, Reading, Silent, Value
from pytest_dflash.findings import Judgement, Outcome, failed, not_applicable, passed, unproven
from pytest_dflash.profile import schema
from pytest_dflash.rules.judge import HEAR, Expectation, compare, evidence

T = TypeVar("T")
Gpus = Reading[tuple[Gpu, ...]]

UNKNOWN_FIELD = "does not know the field"
NO_GPUS = "nvidia-smi lists no GPU"
HELD_BACK = (
    "hardware slowdown",
    "hardware thermal slowdown",
    "hardware power brake",
    "software thermal slowdown",
)
"""Throttle reasons that are wrong on an idle GPU too: heat and power supply."""


LOST = ("Unable to determine the device handle", "GPU is lost", "fallen off the bus")
"""How nvidia-smi speaks of a GPU that the driver knows and cannot reach."""
SHARED_SERVER = "nvidia-cuda-mps-server"
"""NVIDIA's own: it computes for the processes behind it, which are listed beside it."""


def count(gpus: Gpus, expected: schema.Gpu) -> Judgement:
    """As many GPUs as expected, by distinct UUID.

    A driver that cannot be asked is unproven. That one GPU is lost is an answer, also where nvidia-smi lists
    none of the others for it: the host has not what is expected.
    """
    if expected.count is None:
        return not_applicable("no gpu.count is expected")
    cause = "a GPU that fell off the bus, or is bound to another driver, is missing without an error"
    remedy = "`nvidia-smi -L` and `journalctl -k -b -g NVRM` on the host show which one; a lost GPU needs a power cycle"
    if isinstance(gpus, Silent) and any(word in gpus.why for word in LOST):
        return failed(
            f"number of GPUs: expected {expected.count}, and nvidia-smi cannot reach one: {gpus.why}",
            expected=expected.count,
            evidence=(evidence("nvidia-smi", gpus),),
            cause="a GPU fell off the bus, and nvidia-smi stops at it",
            remedy=remedy,
        )
    if isinstance(gpus, Absent):
        gpus = Value((), gpus.where)
    judgement = compare(
        "nvidia-smi",
        gpus,
        Expectation[tuple[Gpu, ...]](
            "number of GPUs",
            expected.count,
            holds=lambda found: len({gpu.label for gpu in found}) == expected.count,
            shown=lambda found: len({gpu.label for gpu in found}),
            cause=cause,
            remedy=remedy,
            measures=lambda found: {"gpus": len({gpu.label for gpu in found})},
        ),
    )
    lost = isinstance(gpus, Value) and any(word in gpus.where for word in LOST)
    return replace(judgement, summary=f"{judgement.summary}; {gpus.where}") if lost else judgement


def name(gpus: Gpus, expected: schema.Gpu) -> list[Judgement]:
    """Each GPU is the expected model."""
    if expected.name is None:
        return [not_applicable("no gpu.name is expected")]
    wanted = expected.name
    remedy = "the profile is for another machine, or a card was swapped: see `nvidia-smi -L`"
    return each(
        gpus, lambda gpu: gpu.name, Expectation("model", wanted, lambda found: found == wanted, remedy=remedy)
    )


def pcie_link(gpus: Gpus, expected: schema.Gpu) -> list[Judgement]:
    """Each GPU can use the expected link. What it uses now is judged under load only: idle links are slow."""
    wanted = {
        word: number
        for word, number in (("generation", expected.pcie_generation), ("width", expected.pcie_width))
        if number is not None
    }
    if not wanted:
        return [not_applicable("no gpu.pcie_generation or gpu.pcie_width is expected")]

    def link(gpu: Gpu) -> Reading[dict[str, int]]:
        cells = {"generation": gpu.pcie_generation_max, "width": gpu.pcie_width_max}
        cells = {word: cells[word] for word in wanted}
        heard = {word: cell.value for word, cell in cells.items() if isinstance(cell, Value)}
        if any(number < wanted[word] for word, number in heard.items()) or len(heard) == len(wanted):
            return Value(heard, "nvidia-smi")
        return next(
            (cell for cell in cells.values() if isinstance(cell, Silent)), Absent("nvidia-smi says [N/A]")
        )

    return each(
        gpus,
        link,
        Expectation(
            "best possible PCIe link",
            spelled(wanted),
            lambda found: all(number >= wanted[word] for word, number in found.items()),
            shown=spelled,
            cause="GPU and slot together reach no more: a BIOS setting, a riser, a narrower or split slot",
            remedy="compare `pcie.link.gen.gpumax` with `hostmax` in nvidia-smi; set the slot's generation in the BIOS, "
            "turn off bifurcation, or move the card",
            absent=Outcome.NOT_APPLICABLE,
        ),
    )


def spelled(link: dict[str, int]) -> str:
    """A link in words."""
    return ", ".join(f"{word} {number}" for word, number in link.items())


def power_limit(gpus: Gpus, expected: schema.Gpu) -> list[Judgement]:
    """Each GPU may draw the expected power."""
    if expected.power_limit_w is None:
        return [not_applicable("no gpu.power_limit_w is expected")]
    limit = expected.power_limit_w
    return each(
        gpus,
        lambda gpu: gpu.power_limit_w,
        Expectation(
            "power limit in W",
            limit,
            lambda found: abs(found - limit) < 1,
            remedy=f"`nvidia-smi -pl {limit:g}` as root, and make it permanent",
            absent=Outcome.NOT_APPLICABLE,
            measures=lambda found: {"power_limit_w": found},
        ),
    )


def ecc(gpus: Gpus) -> list[Judgement]:
    """No uncorrected error since boot, no row remapping that waits or failed."""

    def state(gpu: Gpu) -> Reading[dict[str, int | bool]]:
        cells: dict[str, Reading[int] | Reading[bool]] = {
            "uncorrected": gpu.ecc_uncorrected,
            "remap pending": gpu.rows_remap_pending,
            "remap failed": gpu.rows_remap_failed,
        }
        # An older nvidia-smi knows no remapped rows; its error counter speaks for the memory then, also with [N/A].
        counted = not isinstance(gpu.ecc_uncorrected, Silent)
        silent = next(
            (
                cell
                for cell in cells.values()
                if isinstance(cell, Silent) and not (counted and UNKNOWN_FIELD in cell.why)
            ),
            None,
        )
        heard = {key: cell.value for key, cell in cells.items() if isinstance(cell, Value)}
        if any(heard.values()) or (heard and silent is None):
            return Value(heard, "nvidia-smi")
        return silent or Absent("nvidia-smi: this GPU counts no memory errors")

    return each(
        gpus,
        state,
        Expectation(
            "memory errors that were not corrected",
            "none",
            lambda found: not any(found.values()),
            shown=lambda found: (
                ", ".join(f"{key} {value:d}" for key, value in found.items() if value) or "none"
            ),
            cause="memory cells of the GPU are failing; results may already be wrong",
            remedy="reset the GPU to let pending rows be remapped; if errors return, have the card replaced",
            absent=Outcome.NOT_APPLICABLE,
        ),
    )


def persistence_mode(gpus: Gpus) -> list[Judgement]:
    """The driver stays loaded while nobody uses the GPU."""
    return each(
        gpus,
        lambda gpu: gpu.persistence,
        Expectation(
            "persistence mode",
            "on",
            lambda found: found,
            shown=lambda found: "on" if found else "off",
            cause="without it the driver unloads when the last client leaves, and the next start pays for it",
            remedy="`systemctl enable --now nvidia-persistenced`",
            absent=Outcome.NOT_APPLICABLE,
        ),
    )


def throttling(gpus: Gpus) -> list[Judgement]:
    """Nothing but idleness and chosen caps holds a GPU back."""
    return each(
        gpus,
        lambda gpu: gpu.throttle_bits,
        Expectation(
            "clocks held back",
            "not by heat or power supply",
            lambda bits: not held_back(bits),
            shown=lambda bits: ", ".join(held_back(bits)) or "not by heat or power supply",
            cause="cooling or power supply is at its limit, even without load",
            remedy="look at `nvidia-smi -q -d PERFORMANCE,TEMPERATURE,POWER`, then at fans, air flow and cables",
            absent=Outcome.NOT_APPLICABLE,
        ),
    )


def held_back(bits: int) -> list[str]:
    """The throttle reasons that are wrong on an idle GPU too."""
    return [reason for reason in throttle_reasons(bits) if reason in HELD_BACK]


def mig(gpus: Gpus) -> list[Judgement]:
    """MIG is off: a slice is not the card that the engine was tuned for."""
    return each(
        gpus,
        lambda gpu: gpu.mig,
        Expectation(
            "MIG mode",
            "off",
            lambda found: not found,
            shown=lambda found: "on" if found else "off",
            remedy="`nvidia-smi -mig 0` as root, or expect the slice in the profile and waive this check",
            absent=Outcome.NOT_APPLICABLE,
        ),
    )


CHOOSING = ("NVIDIA_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES")
"""What a container is given, and of that what CUDA may see: the second counts within the first."""


def foreign_processes(
    gpus: Gpus,
    users: Reading[tuple[GpuProcess, ...]],
    processes: Reading[tuple[Process, ...]],
    serving: Reading[Process],
) -> list[Judgement]:
    """Only the unit's processes compute on the GPUs that it uses. Other GPUs of the host are others' affair."""
    if isinstance(gpus, Absent):
        return [not_applicable(NO_GPUS)]
    for source, reading in (("nvidia-smi", gpus), ("nvidia-smi", users), ("processes", processes)):
        if isinstance(reading, Silent):
            return [
                unproven(
                    f"who uses the GPUs could not be told: {reading.why}",
                    evidence=(evidence(source, reading),),
                    remedy=HEAR,
                )
            ]
    assert isinstance(gpus, Value)  # the loop above has looked
    if isinstance(serving, Value) and starts_container(serving.value.argv):
        return [
            unproven(
                f"who uses the GPUs could not be told: pid {serving.value.pid} {ONLY_STARTS}", remedy=HEAR
            )
        ]
    seen = users.value if isinstance(users, Value) else ()
    ours = {process.pid for process in processes.value} if isinstance(processes, Value) else set()
    of_us = {gpu.label for gpu in visible(gpus, serving)} | {
        user.gpu_uuid for user in seen if user.pid in ours
    }
    of_others = {gpu.label for gpu in gpus.value} - of_us
    foreign: dict[str, list[GpuProcess]] = {}
    for user in seen:
        if user.pid not in ours and user.gpu_uuid not in of_others and SHARED_SERVER not in user.name:
            foreign.setdefault(user.gpu_uuid, []).append(user)
    if not foreign:
        summary = (
            "only the unit's own processes use its GPUs"
            if seen
            else "nvidia-smi lists no process on the GPUs"
        )
        return [passed(summary, expected=[], observed=[])]
    return [
        failed(
            f"{', '.join(map(who, found))}: computes on this GPU and is not of the unit",
            param=uuid,
            expected=[],
            observed=[user.pid for user in found],
            evidence=(evidence("nvidia-smi", users, [user.pid for user in found]),),
            cause="a worker left over from a killed predecessor, or another service on the same GPU",
            remedy=f"look at `ps -fp {','.join(str(user.pid) for user in found)}` on the host; end it if nobody needs it",
            measures={"foreign_processes": len(found)},
        )
        for uuid, found in foreign.items()
    ]


def who(user: GpuProcess) -> str:
    """A process in words."""
    return f"pid {user.pid} ({user.name or 'no name'})"


def visible(gpus: Value[tuple[Gpu, ...]], process: Reading[Process]) -> tuple[Gpu, ...]:
    """The GPUs that a process may use, by what its variables choose; all where they say nothing understood."""
    environ = process.value.environ if isinstance(process, Value) else process
    said = environ.value if isinstance(environ, Value) else {}
    found = gpus.value
    for variable in CHOOSING:
        found = _chosen(found, said.get(variable, "")) or found
    return found


def _chosen(gpus: Sequence[Gpu], said: str) -> tuple[Gpu, ...]:
    words = [word.strip() for word in said.split(",") if word.strip()]
    return tuple(
        gpu
        for at, gpu in enumerate(gpus)
        if any(word == str(at) or (not word.isdigit() and gpu.label.startswith(word)) for word in words)
    )


def each(gpus: Gpus, cell: Callable[[Gpu], Reading[T]], expectation: Expectation[T]) -> list[Judgement]:
    """One judgement a GPU; one for all where there is no list of GPUs."""
    if isinstance(gpus, Absent):
        return [not_applicable(NO_GPUS)]
    if isinstance(gpus, Silent):
        return [compare("nvidia-smi", Silent(gpus.why, gpus.where), expectation)]
    return [
        located(compare("nvidia-smi", cell(gpu), replace(expectation, param=gpu.label)), gpu)
        for gpu in gpus.value
    ]


def located(judgement: Judgement, gpu: Gpu) -> Judgement:
    """What is wrong with a GPU says which card it is for who stands before the machine: number and PCI address."""
    if judgement.outcome not in {Outcome.FAIL, Outcome.UNPROVEN}:
        return judgement
    number = f"GPU {gpu.index.value}" if isinstance(gpu.index, Value) else ""
    address = gpu.bus_id.value if isinstance(gpu.bus_id, Value) else ""
    where = ", ".join(filter(None, (number, address)))
    return replace(judgement, summary=f"{judgement.summary} ({where})") if where else judgement
