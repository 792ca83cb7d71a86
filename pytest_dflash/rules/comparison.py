"""A load of now against the same load in an earlier findings.json.

Law: pure; what was measured then is read from that document and never believed to be whole. Only like is compared
with like; what is not is said. Each measure is compared with its own noise, then and now.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from pytest_dflash.engines.shapes import LARGEST, listed, number, table
from pytest_dflash.findings import Json, Judgement, failed, not_applicable, passed, unproven
from pytest_dflash.load.comparison import FEWEST, chance
from pytest_dflash.load.floors import DECODE, MEASURES, TOTAL
from pytest_dflash.load.measurement import Measurement
from pytest_dflash.rules.measured import crowded, finish, moved

ALPHA = 0.01
"""The chance of calling a load worse that is not, all its measures together."""
MATTERS = 0.02
"""Less than this lies between two starts of one and the same service, and no repeats show it."""
LIKE = ("concurrency", "prompt_tokens", "output_tokens")
ACCEPTANCE = "acceptance"


@dataclass(frozen=True, slots=True)
class Earlier:
    """An earlier run on a host, as its findings.json tells.

    Attributes:
        host: Its entry of the host. findings: all of that host.
        where: The file.
    """

    host: Mapping[str, Any]
    findings: Sequence[Mapping[str, Any]]
    where: str

    def of(self, name: str, load: str) -> Mapping[str, Any] | None:
        """The finding of `throughput.NAME` for this load."""
        wanted = (f"throughput.{name}", load)
        return next(
            (each for each in self.findings if (each.get("check"), each.get("param")) == wanted), None
        )


@dataclass(frozen=True, slots=True)
class Identity:
    """What a comparison has to be about on both sides. None: not known."""

    engine: str | None
    version: str | None
    gpus: str | None


def earlier(document: Mapping[str, Any], host: str, where: str) -> Earlier | None:
    """What an earlier document says of the host of this name, else of its only host; None where there is no such."""
    hosts = [each for each in listed(document.get("hosts")) if isinstance(each, Mapping)]
    mine = [each for each in hosts if each.get("name") == host] or (hosts if len(hosts) == 1 else [])
    if not mine:
        return None
    name = mine[0].get("name")
    findings = [
        each
        for each in listed(document.get("findings"))
        if isinstance(each, Mapping) and each.get("host") == name
    ]
    return Earlier(mine[0], findings, where)


def compared(found: Measurement, then: Earlier | None, now: Identity) -> Judgement:
    """No measure of the load is worse than it was, beyond its noise."""
    load = found.load
    if then is None:
        return finish(
            not_applicable("nothing to compare with: --dflash-compare names no earlier run of this host"),
            found,
        )
    unlike = _unlike(found, then, now)
    if unlike:
        return finish(not_applicable(f"not compared with {then.where}: {unlike}"), found)
    if why := moved(found) or crowded(found) or found.result.bottleneck:
        return finish(unproven(f"not compared with {then.where}: {why}"), found)
    rows = [
        row
        for name, values, higher in _measured(found)
        if (row := _row(name, values, then.of(name, load.name), higher=higher)) is not None
    ]
    if not rows:
        return finish(
            not_applicable(f"not compared: {then.where} tells too few repeats of the load {load.name!r}"),
            found,
        )
    version = then.host.get("engine_version")
    about = f" ({version} then, {now.version} now)" if version and version != now.version else ""
    measures = {f"{row.name}_change_percent": 100 * row.change for row in rows}
    series: dict[str, Json] = {row.name: {"then": list(row.then), "now": list(row.now)} for row in rows}
    worse = [row for row in rows if row.worse(ALPHA / len(rows))]
    if worse:
        return finish(
            failed(
                f"worse than in {then.where}{about}: {'; '.join(map(str, worse))}",
                remedy="compare engine version, flags and GPU clocks of both runs; repeat the load to be sure",
                measures=measures,
                series=series,
            ),
            found,
        )
    told = "; ".join(map(str, rows))
    return finish(
        passed(f"not worse than in {then.where}{about}: {told}", measures=measures, series=series), found
    )


@dataclass(frozen=True, slots=True)
class _Row:
    name: str
    now: tuple[float, ...]
    then: tuple[float, ...]
    higher: bool

    @property
    def change(self) -> float:
        """Relative to then."""
        before = fmean(self.then)
        return fmean(self.now) / before - 1 if before else 0.0

    def worse(self, alpha: float) -> bool:
        """Beyond noise, and by so much that it matters."""
        sign = 1 if self.higher else -1
        lower = chance([sign * each for each in self.now], [sign * each for each in self.then])
        return lower <= alpha and sign * self.change < -MATTERS

    def __str__(self) -> str:
        name = self.name.replace("_", " ")
        return f"{name} {fmean(self.now):.4g} after {fmean(self.then):.4g} ({100 * self.change:+.1f} %)"


def _measured(found: Measurement) -> list[tuple[str, tuple[float, ...], bool]]:
    rates = (TOTAL, DECODE)
    each = [(measure.name, found.values(measure), measure in rates) for measure in MEASURES]
    return [*each, (ACCEPTANCE, found.accept_lengths, True)]


def _row(
    name: str, values: tuple[float, ...], then: Mapping[str, Any] | None, *, higher: bool
) -> _Row | None:
    earlier = listed(table(table(then).get("series")).get("values"))
    before = tuple(value for each in earlier if (value := number(each)) is not None and abs(value) < LARGEST)
    return _Row(name, values, before, higher) if min(len(values), len(before)) >= FEWEST else None


def _unlike(found: Measurement, then: Earlier, now: Identity) -> str:
    """Why the two are not about the same; "" where they are, as far as both tell."""
    names = [*(measure.name for measure in MEASURES), ACCEPTANCE]
    finding = next((each for name in names if (each := then.of(name, found.load.name)) is not None), None)
    if finding is None:
        return f"it has no load {found.load.name!r}"
    measures, series = table(finding.get("measures")), table(finding.get("series"))
    pairs = [(key.replace("_", " "), measures.get(key), getattr(found.load, key)) for key in LIKE]
    pairs += [
        ("class", series.get("class"), found.load.text_class),
        ("engine", then.host.get("engine"), now.engine),
        ("GPUs", then.host.get("gpus"), now.gpus),
    ]
    different = [
        f"{what} {before} then, {after} now"
        for what, before, after in pairs
        if before is not None and after is not None and before != after
    ]
    return "; ".join(different)
