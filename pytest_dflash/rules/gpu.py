"""What is right about the GPUs.

Law: pure. One judgement a GPU, named by its UUID. An idle sample gives no verdict on links, clocks or power
drawn: those are judged under load.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from typing import TypeVar

from pytest_dflash.facts.nvidia import Gpu, GpuProcess, throttle_reasons
from pytest_dflash.facts.procfs import Process
from pytest_dflash.facts.reading import Absent, Reading, Silent, Value
from pytest_dflash.findings import Judgement, Outcome, failed, not_applicable, passed, unproven
from pytest_dflash.profile import schema
from pytest_dflash.rules.judge import Expectation, compare, evidence

T = TypeVar("T")
Gpus = Reading[tuple[Gpu, ...]]

NO_GPUS = "nvidia-smi lists no GPU"
HELD_BACK = (
    "hardware slowdown",
    "hardware thermal slowdown",
    "hardware power brake",
    "software thermal slowdown",
)
"""Throttle reasons that are wrong on an idle GPU too: heat and power supply."""


def count(gpus: Gpus, expected: schema.Gpu) -> Judgement:
    """As many GPUs as expected, by distinct UUID."""
    if expected.count is None:
        return not_applicable("no gpu.count is expected")
    if isinstance(gpus, Absent):
        gpus = Value((), gpus.where)
    return compare(
        "nvidia-smi",
        gpus,
        Expectation[tuple[Gpu, ...]](
            "number of GPUs",
            expected.count,
            holds=lambda found: len({gpu.label for gpu in found}) == expected.count,
            shown=lambda found: len({gpu.label for gpu in found}),
            cause="a GPU that fell off the bus, or is bound to another driver, is missing without an error",
            remedy="`nvidia-smi -L` and `journalctl -k -b -g NVRM` on the host show which one; a lost GPU needs a power cycle",
        ),
    )


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
    judgements: list[Judgement] = []
    if expected.pcie_generation is not None:
        generation = expected.pcie_generation
        judgements += each(
            gpus,
            lambda gpu: gpu.pcie_generation_max,
            Expectation(
                "highest PCIe generation",
                generation,
                lambda found: found >= generation,
                cause="GPU and slot together reach no more: a BIOS setting, a riser or the slot",
                remedy="compare `pcie.link.gen.gpumax` with `hostmax` in nvidia-smi; set the slot to its generation in the BIOS",
            ),
        )
    if expected.pcie_width is not None:
        width = expected.pcie_width
        judgements += each(
            gpus,
            lambda gpu: gpu.pcie_width_max,
            Expectation(
                "widest PCIe link",
                width,
                lambda found: found >= width,
                cause="the card sits in a narrower slot, or the slot is split",
                remedy="move the card, or turn off bifurcation for its slot",
            ),
        )
    return judgements or [not_applicable("no gpu.pcie_generation or gpu.pcie_width is expected")]


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
        silent = next((cell for cell in cells.values() if isinstance(cell, Silent)), None)
        heard = {key: cell.value for key, cell in cells.items() if isinstance(cell, Value)}
        if any(heard.values()) or (heard and silent is None):
            return Value(heard, "nvidia-smi")
        return silent or Absent("nvidia-smi: this GPU counts no memory errors")

    return each(
        gpus,
        state,
        Expectation(
            "memory errors",
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
            "reasons that hold the clocks back",
            "none of heat or power supply",
            lambda bits: not held_back(bits),
            shown=lambda bits: ", ".join(held_back(bits)) or "none",
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


def foreign_processes(
    gpus: Gpus, users: Reading[tuple[GpuProcess, ...]], processes: Reading[tuple[Process, ...]]
) -> list[Judgement]:
    """Only the unit's processes compute on the GPUs."""
    if isinstance(gpus, Absent):
        return [not_applicable(NO_GPUS)]
    for source, reading in (("nvidia-smi", users), ("processes", processes)):
        if not isinstance(reading, Value):
            why = reading.why if isinstance(reading, Silent) else "the unit has no process to compare with"
            return [
                unproven(f"who uses the GPUs could not be told: {why}", evidence=(evidence(source, reading),))
            ]
    assert isinstance(users, Value)  # the loop above has looked
    assert isinstance(processes, Value)  # as above
    ours: Collection[int] = {process.pid for process in processes.value}
    foreign = [user for user in users.value if user.pid not in ours]
    if not foreign:
        return [passed("only the unit's own processes use the GPUs", expected=[], observed=[])]
    return [
        failed(
            f"pid {user.pid} ({user.name or 'no name'}) uses this GPU and is not of the unit",
            param=user.gpu_uuid,
            expected=[],
            observed=user.pid,
            cause="a worker left over from a killed predecessor, or another service on the same GPU",
            remedy=f"look at `ps -fp {user.pid}` on the host; end it if nobody needs it",
        )
        for user in foreign
    ]


def each(gpus: Gpus, cell: Callable[[Gpu], Reading[T]], expectation: Expectation[T]) -> list[Judgement]:
    """One judgement a GPU; one for all where there is no list of GPUs."""
    if isinstance(gpus, Absent):
        return [not_applicable(NO_GPUS)]
    if isinstance(gpus, Silent):
        return [compare("nvidia-smi", Silent(gpus.why, gpus.where), expectation)]
    return [compare("nvidia-smi", cell(gpu), replace(expectation, param=gpu.label)) for gpu in gpus.value]
