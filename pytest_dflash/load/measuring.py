"""Measures the loads of a profile, each once, however many checks ask.

Law: wires runner, watch and statistics together; asks host and engine only by what it was handed. A load that broke
is broken for all who ask.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from pytest_dflash.endpoint.door import Door
from pytest_dflash.endpoint.trouble import EndpointTrouble
from pytest_dflash.engines.dialect import Load
from pytest_dflash.engines.scoring import Drafting
from pytest_dflash.errors import LoadBroken
from pytest_dflash.facts.identity import Identity
from pytest_dflash.facts.reading import Reading
from pytest_dflash.facts.transcript import Transcript
from pytest_dflash.findings import Judgement, not_applicable
from pytest_dflash.load import floors, runner
from pytest_dflash.load.limit import Decision, Standing
from pytest_dflash.load.measurement import Measurement, decisions
from pytest_dflash.load.phase import PhaseResult, Repeat, Stop
from pytest_dflash.load.transport import clock
from pytest_dflash.load.watching import Watch
from pytest_dflash.profile.schema import Profile, Throughput

UNLIMITED_REPEATS = 3
"""Of a load without limits: it is only shown."""
COMPARED_REPEATS = 8
"""Of such a load where it is compared with another process: fewer than six have no bounds."""

Enough = Callable[[Sequence[Repeat]], bool]


def _nobody(_said: object) -> None:
    """Tells nobody."""


@dataclass
class Loads:
    """The loads of one profile on one host.

    Attributes:
        door: The service. look: how busy its engine is. counters: of its speculation.
        sample: The host, a transcript of `sampling.SAMPLED`. pulse: of its kernel's newest lines alone. identity: who serves.
        run: Names this run in every prompt.
        compared: Whether other processes are measured too, so that loads without limits need bounds.
        passing: Takes a line that is worth showing for a moment. kept: takes each measurement.
    """

    profile: Profile
    door: Callable[[], Door]
    look: Callable[[], Reading[Load]]
    counters: Callable[[], Reading[Drafting]]
    sample: Callable[[], Transcript]
    identity: Callable[[], Reading[Identity]]
    run: str
    compared: bool = False
    pulse: Callable[[], Transcript] | None = None
    passing: Callable[[str], None] = _nobody
    kept: Callable[[Measurement], None] = _nobody
    _made: dict[str, Measurement | LoadBroken] = field(default_factory=dict)
    _seen: list[Measurement] = field(default_factory=list)

    def measure(self, name: str) -> Measurement:
        """The load of this name, measured when it is first asked for.

        Raises:
            LoadBroken: Nothing was answered, or not to the end; for everybody who asks.
        """
        if name not in self._made:
            load = next(each for each in self.profile.throughput if each.name == name)
            try:
                self._made[name] = self._measure(load)
            except LoadBroken as error:
                self._made[name] = error
            except EndpointTrouble as trouble:
                self._made[name] = not_begun(load, trouble)
        found = self._made[name]
        if isinstance(found, LoadBroken):
            raise found
        return found

    def judge(self, name: str | None, rule: Callable[[Measurement], Judgement]) -> Judgement:
        """What a rule says of the load; None is the parameter of a check in a profile without loads.

        Raises:
            LoadBroken: As `measure`.
        """
        if name is None:
            return not_applicable("the profile has no [[throughput]] load")
        return rule(self.measure(name))

    @property
    def tried(self) -> frozenset[str]:
        """The loads that were measured, or that broke."""
        return frozenset(self._made)

    def all(self) -> tuple[Measurement, ...]:
        """Every load of the profile that could be measured, also those that broke after a while."""
        for load in self.profile.throughput:
            with suppress(LoadBroken):
                self.measure(load.name)
        return tuple(self._seen)

    def afresh(self, name: str, label: str, enough: Enough | None = None) -> Measurement:
        """The load once more, of the process that runs now; `enough` is asked instead of the limits.

        Raises:
            LoadBroken: As `measure`.
        """
        load = next(each for each in self.profile.throughput if each.name == name)
        try:
            return self._measure(load, label, enough)
        except EndpointTrouble as trouble:
            raise not_begun(load, trouble) from None

    def _measure(self, load: Throughput, label: str = "", enough: Enough | None = None) -> Measurement:
        error, before, began = floors.error_of_each(self.profile), self.identity(), clock()
        watch = Watch(self.look, self.sample, self.profile.traffic.abort_when_foreign, self.pulse)
        counters: list[Reading[Drafting]] = [self.counters()]
        compared = self.compared or load.starts > 1

        def decided(repeats: Sequence[Repeat]) -> bool:
            counters.append(self.counters())
            found = decisions(load, repeats, counters, error)
            self.passing(progress(load, len(repeats), found, clock() - began))
            if enough is not None:
                return enough(repeats)
            fewest = COMPARED_REPEATS if compared else 1 if found else UNLIMITED_REPEATS
            if len(repeats) < fewest:
                return False
            return all(each.standing is not Standing.OPEN for each in found)

        self.passing(f"{load.name}: warm-up, {load.concurrency} at once")
        # Other prompts in each process: a cache may outlive it.
        plan = floors.plan_of(load, f"{self.run} {label}".rstrip())
        with watch:
            result = runner.run(self.door(), plan, decided=decided, abort=watch.reason)
        measurement = Measurement(
            load=load,
            result=result,
            counters=tuple(counters),
            beside=watch.beside,
            before=before,
            after=self.identity(),
            error=error,
            began_at_s=began,
            label=label,
        )
        if not label:
            self._seen.append(measurement)
        self.kept(measurement)
        if result.stop is Stop.BROKEN:
            raise broken(load, result, replaced=measurement.replaced)
        return measurement


def not_begun(load: Throughput, trouble: EndpointTrouble) -> LoadBroken:
    """That the first request of a load was refused, as an error."""
    return LoadBroken(load.name, f"the load {load.name!r} was not begun: {trouble}", trouble.remedy)


def broken(load: Throughput, result: PhaseResult, *, replaced: bool) -> LoadBroken:
    """That a load was not answered to its end, as an error."""
    many = len(result.repeats)
    when = f"in repeat {many}" if many else "while warming up"
    moved = "; another process serves now than at the beginning" if replaced else ""
    return LoadBroken(
        load.name,
        f"the load {load.name!r} broke {when}, {result.took_s:.0f} s after its first request: {result.why}{moved}",
        "the unit's journal of this minute says more: `journalctl -u UNIT -n 100` on the host",
    )


def progress(load: Throughput, repeats: int, found: Sequence[Decision], took_s: float) -> str:
    """Where a load is: the estimate and the bound of each limit."""
    said = [
        f"{each.limit.what} {each.interval.mean:.4g} {each.limit.unit}".rstrip()
        + f" ({bound(each)}; {each.limit.kind} {each.limit.wanted:g}, {each.standing})"
        for each in found
    ]
    time = f"{took_s:.0f} s of at most {load.time_budget_s:g} s"
    return f"{load.name}: repeat {repeats}, {'; '.join(said) or 'no limits'}; {time}"


def bound(decision: Decision) -> str:
    """The bound that matters for this limit, in words."""
    low, high = decision.interval.low, decision.interval.high
    if decision.limit.kind == "floor":
        return f"at least {low:.4g}" if low > float("-inf") else "no bound yet"
    return f"at most {high:.4g}" if high < float("inf") else "no bound yet"
