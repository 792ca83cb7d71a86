"""From the first look at a unit to the facts that checks are judged by.

Law: decides what is looked at and when; the world is handed in as functions. A unit that is loading is waited
for, and a unit whose own words do not prove that it serves is asked.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from pytest_dflash.engines.dialect import Dialect
from pytest_dflash.facts.host_facts import Facts
from pytest_dflash.facts.journal import Entry
from pytest_dflash.facts.reading import Value
from pytest_dflash.lifecycle.explaining import explaining
from pytest_dflash.lifecycle.observing import forgotten, in_order, observe
from pytest_dflash.lifecycle.phase import Observation, Phase, standing
from pytest_dflash.lifecycle.readiness import Settled, wait_until_settled

ASK_AGAIN = 6
"""Where the log cannot be read, a passive route is asked at every so many looks."""


@dataclass(frozen=True, slots=True)
class Answered:
    """Whether it answered as it should; None where that cannot be told. `why` says what came instead."""

    answers: bool | None
    why: str = ""


@dataclass(slots=True)
class Settling:
    """Waits for one unit.

    Attributes:
        everything: Asks the host for all facts.
        alive: Asks only for what tells how the unit stands. pulse: likewise, and of the journal for its newest lines.
        answered: Asks the service on a passive route, given where the facts say that it listens.
        dialect: The engine's.
        wait: `wait_until_settled` with the limits of this run.
        completes: Asks a process that was just started for one short completion; None where none may be asked for.
    """

    everything: Callable[[], Facts]
    alive: Callable[[], Facts]
    pulse: Callable[[], Facts]
    answered: Callable[[Facts], Answered]
    dialect: Dialect
    wait: Callable[[Callable[[], Observation]], Settled] = field(
        default=lambda look: wait_until_settled(look, timeout_s=900.0)
    )
    completes: Callable[[Facts], Answered] | None = None

    def settle(self) -> tuple[Facts, Settled]:
        """The facts once the unit stands still: ready, or in a phase that waiting does not mend."""
        facts = self.everything()
        first = observe(facts, self.dialect)
        now = standing(first)
        settled = Settled(now.phase, first, 0.0, now.why)
        if now.phase.transient:
            settled = self.wait(_Looks(self, known=facts))
            facts = self.everything()
        return facts, self._proved(facts, settled)

    def at_once(self) -> tuple[Facts, Settled]:
        """The facts of this moment and how the unit stands, whatever it is on its way to: waits for nothing."""
        facts = self.everything()
        seen = observe(facts, self.dialect)
        now = standing(seen)
        return facts, self._proved(facts, Settled(now.phase, seen, 0.0, now.why))

    def anew(self, beat: Callable[[], object]) -> Settled:
        """How a unit that was just restarted stands in the end; `beat` is called before each look."""
        looks = _Looks(self, beat)
        settled = self.wait(looks)
        if looks.latest is None:
            return settled
        return self._completed(looks.latest, self._proved(looks.latest, settled))

    def _completed(self, facts: Facts, settled: Settled) -> Settled:
        """The same, once a completion came out right: an engine may be ready by its own words and answer nonsense."""
        if settled.phase is not Phase.READY or self.completes is None:
            return settled
        told = self.completes(facts)
        seen = replace(settled.observation, completes=told.answers)
        now = standing(seen)
        if now.phase is Phase.READY:
            return replace(settled, observation=seen)
        return replace(settled, phase=now.phase, observation=seen, why=f"{now.why}: {told.why}")

    def _proved(self, facts: Facts, settled: Settled) -> Settled:
        """The same, once a passive route has answered: a stopped process keeps its port and its ready line."""
        seen = settled.observation
        doubtful = (settled.phase is Phase.UNKNOWN and seen.ready_line is not None) or (
            settled.phase.transient and _mute(seen)
        )
        if settled.phase is not Phase.READY and not doubtful:
            return settled
        told = self.answered(facts)
        if told.answers is None:
            return settled
        seen = replace(
            observe(facts, self.dialect, answers=told.answers),
            invocation_changed=seen.invocation_changed,
        )
        now = standing(seen)
        if told.answers and now.phase is settled.phase:
            return settled
        why = f"{now.why}: {told.why}" if told.why else now.why
        return replace(settled, phase=now.phase, observation=seen, why=why)


@dataclass(slots=True)
class _Looks:
    """The looks of one wait. `known`: facts that were read already, for the first of them."""

    settling: Settling
    beat: Callable[[], object] = lambda: None
    known: Facts | None = None
    latest: Facts | None = None
    mute: int = 0

    def __call__(self) -> Observation:
        """One look; where no log can tell that it serves, the service itself is asked now and then."""
        self.beat()
        self.latest, self.known = self.known or self._read(), None
        seen = observe(self.latest, self.settling.dialect)
        if not _mute(seen):
            return seen
        self.mute += 1
        if self.mute % ASK_AGAIN != 1:
            return seen
        return replace(seen, answers=self.settling.answered(self.latest).answers)

    def _read(self) -> Facts:
        """The facts of this moment; of the journal only what is new, where the rest was heard."""
        heard = self.latest.journal if self.latest else None
        if isinstance(heard, Value):
            found = self.settling.pulse().continuing(heard)
            if found is not None:
                return found
        return self.settling.alive()


def _mute(seen: Observation) -> bool:
    """Whether the port may be served and no log says so."""
    return not seen.log_heard and seen.port_open is True and seen.owner_in_unit is not False


def reasons(facts: Facts, settled: Settled) -> tuple[Entry, ...]:
    """The lines that explain how the unit stands: of this invocation, or of the one that ended before it."""
    if settled.phase is Phase.READY:
        return ()
    entries: list[Entry] = []
    if settled.phase is Phase.CRASH_LOOP and isinstance(facts.previous, Value):
        entries += in_order(facts.previous.value.last_lines, facts.previous.value.manager_lines)
    log = facts.journal.value if isinstance(facts.journal, Value) else forgotten(facts)
    entries += log.entries if log else ()
    return explaining(entries)
