"""What is right about a host while it works: links, clocks, heat, memory errors, the driver's complaints.

Law: pure. Only samples taken while our own requests were in flight give a verdict, each GPU by the best it showed:
a link may sleep between two kernels. An idle sample proves nothing, and a GPU that was not used is not judged.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from statistics import fmean
from typing import TypeVar

from pytest_dflash.facts.nvidia import Gpu, throttle_reasons
from pytest_dflash.facts.reading import Absent, Reading, Silent, Value, known
from pytest_dflash.findings import (
    Evidence,
    Json,
    Judgement,
    Outcome,
    failed,
    not_applicable,
    passed,
    unproven,
)
from pytest_dflash.load.measurement import Measurement
from pytest_dflash.load.phase import Stop
from pytest_dflash.load.sampling import HostSample
from pytest_dflash.profile import schema
from pytest_dflash.rules import driver
from pytest_dflash.rules.gpu import HELD_BACK

T = TypeVar("T")
SOURCE = "nvidia-smi under load"
OFTEN = 0.2
"""A reason that holds clocks back in more of the samples than this is no mere spike."""
LONGER = (
    "running again does not help: give a [[throughput]] load more output_tokens or requests at once, so that it takes "
    "ten seconds or more"
)
CROWDED = 60.0
"""CPU pressure above which the engine's own scheduler waits for a processor more often than not."""


def host_under_load(measured: Sequence[Measurement], expected: schema.Gpu) -> list[Judgement]:
    """One judgement a GPU, and one for the machine around them."""
    if not measured:
        return [not_applicable("no load of the profile was measured: idle looks give no verdict")]
    samples = [sample for each in measured for sample in each.beside.samples]
    loaded = [sample for sample in samples if sample.in_flight > 0]
    deaf = next((why for each in measured for why in each.beside.deaf), "")
    if not loaded:
        longest = max(each.result.took_s for each in measured)
        why = deaf or f"no load ran long enough for a look at the host, the longest {longest:.1f} s"
        if not deaf and any(each.result.stop is Stop.BROKEN or each.result.failed for each in measured):
            return [
                Judgement(
                    outcome=Outcome.BLOCKED,
                    summary=f"the host under load could not be seen: {why}, as requests failed (throughput.errors)",
                )
            ]
        remedy = None if deaf else LONGER
        return [unproven(f"the host under load could not be seen: {why}", remedy=remedy)]
    machine = _machine(samples, loaded, measured)
    seen = [sample.gpus for sample in loaded]
    rows: dict[str, list[Gpu]] = {}
    for reading in seen:
        for gpu in reading.value if isinstance(reading, Value) else ():
            rows.setdefault(gpu.label, []).append(gpu)
    if not rows:
        silent = next((each for each in seen if isinstance(each, Silent)), None)
        if silent is None:
            return [machine]  # there is no GPU to be judged
        heard = Evidence(source=SOURCE, reading="silent", why=silent.why)
        return [unproven(f"the GPUs could not be seen under load: {silent.why}", evidence=(heard,)), machine]
    first, last = _first(samples), [gpus for gpus in seen if isinstance(gpus, Value)][-1]
    there = {gpu.label for gpu in last.value}
    judged = [
        _gpu(label, rows[label], first.get(label), samples, measured, expected)
        if label in there
        else _gone(label)
        for label in {**first, **rows}
    ]
    if deafness := _mostly_silent("nvidia-smi", seen):
        said = f"the GPUs could not be seen under load: {deafness.summary}"
        wrong = (each for each in judged if each.outcome is Outcome.FAIL)
        return [replace(deafness, summary=said), *wrong, machine]
    return [*judged, machine]


def unsound(found: Measurement, expected: schema.Gpu) -> str:
    """What is wrong with the host under this load alone, in words; "" where nothing is, or nothing was seen."""
    judged = (each for each in host_under_load([found], expected) if each.outcome is Outcome.FAIL)
    worst = next(judged, None)
    return "" if worst is None else ": ".join(each for each in (worst.param, worst.summary) if each)


def _gone(label: str) -> Judgement:
    return failed(
        "this GPU was there before, and the last look under load does not see it",
        param=label,
        cause="it fell off the bus or was reset: power, heat, riser, driver",
        remedy="read the kernel's log of that time for Xid 79; `nvidia-smi -L` tells whether it is back",
    )


def _mostly_silent(source: str, readings: Sequence[Reading[T]]) -> Judgement | None:
    """That fewer than half of the looks said something; None where enough did."""
    silent = [each for each in readings if isinstance(each, Silent)]
    if 2 * len(silent) <= len(readings):
        return None
    why = silent[0].why
    return unproven(
        f"{source} was silent in {len(silent)} of {len(readings)} looks: {why}",
        evidence=(Evidence(source=f"{source} under load", reading="silent", why=why),),
        remedy=f"ask it by hand while the host works, and see why it says nothing: {source}",
    )


def _gpu(  # noqa: PLR0913, PLR0917 - one GPU and all that was seen of it
    label: str,
    rows: Sequence[Gpu],
    before: Gpu | None,
    samples: Sequence[HostSample],
    measured: Sequence[Measurement],
    expected: schema.Gpu,
) -> Judgement:
    series = _series(label, samples, measured)
    measures = {
        name: value
        for name, value in (
            ("power_w", _mean(rows, lambda gpu: gpu.power_draw_w)),
            ("clock_sm_mhz", _mean(rows, lambda gpu: gpu.clock_sm_mhz)),
            ("temperature_c", _most(rows, lambda gpu: gpu.temperature_c)),
            ("utilization_percent", _mean(rows, lambda gpu: gpu.utilization_percent)),
            ("pcie_generation", _most(rows, lambda gpu: gpu.pcie_generation)),
            ("pcie_width", _most(rows, lambda gpu: gpu.pcie_width)),
            ("samples", float(len(rows))),
        )
        if value is not None
    }
    if measures.get("utilization_percent") == 0:
        return not_applicable(
            "this GPU was not used by the load", param=label, measures=measures, series=series
        )
    complaints = [*_link(rows, expected), *_throttled(rows), *_failing(rows[-1], before)]
    if complaints:
        return failed(
            "under load: " + "; ".join(complaints),
            param=label,
            observed=list(complaints),
            remedy="links: reseat the card or riser, look at the BIOS; heat and power: fans, air flow, cables, "
            "`nvidia-smi -q -d PERFORMANCE` while it works; memory: have the card replaced",
            measures=measures,
            series=series,
        )
    told = [f"{measures[name]:.0f} {unit}" for name, unit in _TOLD if name in measures]
    return passed(
        f"under load: {', '.join(told) or 'nothing wrong'} ({len(rows)} looks)",
        param=label,
        measures=measures,
        series=series,
    )


_TOLD = (
    ("clock_sm_mhz", "MHz"),
    ("power_w", "W"),
    ("temperature_c", "°C"),
    ("utilization_percent", "% used"),
)


def _link(rows: Sequence[Gpu], expected: schema.Gpu) -> list[str]:
    """The link at its best under load against what is expected, else against what GPU and host can do together."""
    found = []
    for what, seen, able, wanted in (
        ("PCIe generation", lambda gpu: gpu.pcie_generation, lambda gpu: gpu.pcie_generation_max, expected.pcie_generation),
        ("PCIe width", lambda gpu: gpu.pcie_width, lambda gpu: gpu.pcie_width_max, expected.pcie_width),
    ):  # fmt: skip
        best, possible = _most(rows, seen), _most(rows, able)
        limit = wanted if wanted is not None else possible
        if best is not None and limit is not None and best < limit:
            found.append(f"{what} {best:g} of {limit:g}")
    return found


def _throttled(rows: Sequence[Gpu]) -> list[str]:
    """Heat and power supply; a power cap by software is how a card under load keeps its limit."""
    bits = [gpu.throttle_bits.value for gpu in rows if isinstance(gpu.throttle_bits, Value)]
    often = {
        reason: sum(reason in throttle_reasons(each) for each in bits) / len(bits)
        for reason in HELD_BACK
        if bits
    }
    return [
        f"clocks held back by {reason} in {share:.0%} of the looks"
        for reason, share in often.items()
        if share > OFTEN
    ]


def _failing(last: Gpu, before: Gpu | None) -> list[str]:
    if before is None:
        return []
    found = []
    for what, now, then in (
        ("uncorrectable memory errors", last.ecc_uncorrected, before.ecc_uncorrected),
        ("uncorrectable remapped rows", last.rows_remapped_uncorrectable, before.rows_remapped_uncorrectable),
    ):
        if isinstance(now, Value) and isinstance(then, Value) and now.value > then.value:
            found.append(f"{now.value - then.value} new {what}")
    return found


def _machine(
    samples: Sequence[HostSample], loaded: Sequence[HostSample], measured: Sequence[Measurement]
) -> Judgement:
    fresh = [xid for each in measured for xid in each.beside.new_xids]
    waiting = [
        sample.pressure.value.waiting_percent.value
        for sample in loaded
        if isinstance(sample.pressure, Value) and isinstance(sample.pressure.value.waiting_percent, Value)
    ]
    cost = sum(each.beside.cost_s for each in measured)
    took = sum(each.result.took_s for each in measured)
    measures = {
        "samples": float(len(loaded)),
        "sampling_cost_s": cost,
        "sampling_percent": 100 * cost / took if took else 0.0,
        **({"cpu_pressure_percent": fmean(waiting)} if waiting else {}),
    }
    price = f"{len(samples)} looks at the host took {cost:.1f} s in all"
    if fresh:
        return failed(
            f"under load the driver reported Xid {', '.join(str(xid.code) for xid in fresh)}: {fresh[0].entry.message}",
            cause=fresh[0].meaning,
            remedy="look the number up in NVIDIA's Xid catalogue before this host gets traffic",
            measures=measures,
        )
    if mute := driver.untold(_heard([each.kernel for each in loaded]), _seen(loaded), "under load"):
        return replace(mute, measures=measures)
    if deafness := _mostly_silent("kernel log", [each.kernel for each in loaded]):
        said = f"GPU errors (Xid) under load could not be read: {deafness.summary}"
        return replace(deafness, summary=said, measures=measures)
    busy = fmean(waiting) if waiting else 0.0
    crowded = f"; CPUs are crowded: {busy:.0f} % of the time a task waited for one" if busy > CROWDED else ""
    return passed(f"under load no new Xid; {price}{crowded}", measures=measures)


def _heard(readings: Sequence[Reading[T]]) -> Reading[T]:
    """The first that says something, else the first."""
    return next((each for each in readings if isinstance(each, Value)), readings[0])


def _seen(loaded: Sequence[HostSample]) -> Reading[tuple[Gpu, ...]]:
    """Absent only where no look found a GPU, nor failed to look."""
    return next((each.gpus for each in loaded if not isinstance(each.gpus, Absent)), loaded[0].gpus)


def _first(samples: Sequence[HostSample]) -> Mapping[str, Gpu]:
    first = next((each.gpus.value for each in samples if isinstance(each.gpus, Value)), ())
    return {gpu.label: gpu for gpu in first}


def _numbers(rows: Sequence[Gpu], cell: Callable[[Gpu], Reading[float]]) -> list[float]:
    readings = (cell(gpu) for gpu in rows)
    return [float(each.value) for each in readings if isinstance(each, Value)]


def _mean(rows: Sequence[Gpu], cell: Callable[[Gpu], Reading[float]]) -> float | None:
    found = _numbers(rows, cell)
    return fmean(found) if found else None


def _most(rows: Sequence[Gpu], cell: Callable[[Gpu], Reading[float]]) -> float | None:
    return max(_numbers(rows, cell), default=None)


def _series(label: str, samples: Sequence[HostSample], measured: Sequence[Measurement]) -> dict[str, Json]:
    """The GPU over time, as a picture shows it; null where a sample did not tell."""
    origin = min(each.began_at_s for each in measured)
    mine = [
        (sample.at_s - origin, gpu)
        for sample in samples
        if isinstance(sample.gpus, Value)
        for gpu in sample.gpus.value
        if gpu.label == label
    ]
    cells: dict[str, Callable[[Gpu], Reading[float]]] = {
        "power_w": lambda gpu: gpu.power_draw_w,
        "clock_sm_mhz": lambda gpu: gpu.clock_sm_mhz,
        "temperature_c": lambda gpu: gpu.temperature_c,
        "utilization_percent": lambda gpu: gpu.utilization_percent,
        "pcie_generation": lambda gpu: gpu.pcie_generation,
    }
    drawn: dict[str, Json] = {"at_s": [round(at, 2) for at, _ in mine]}
    for name, cell in cells.items():
        drawn[name] = [known(cell(gpu)) for _, gpu in mine]
    drawn["throttle"] = [
        list(throttle_reasons(gpu.throttle_bits.value)) if isinstance(gpu.throttle_bits, Value) else []
        for _, gpu in mine
    ]
    drawn["loads"] = [
        {
            "name": each.load.name,
            "from_s": round(each.began_at_s - origin, 2),
            "to_s": round(each.began_at_s - origin + each.result.took_s, 2),
        }
        for each in measured
    ]
    return drawn
