"""Waiting until a unit stands still: ready, or in a phase that waiting does not mend.

Law: an agent, and the only user of tenacity. It looks and waits, and changes nothing; clock and sleep are
handed in. What a look costs the host is the observer's business.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from tenacity import RetryCallState, Retrying, retry_if_result, wait_incrementing

from pytest_dflash.lifecycle.phase import Observation, Phase, standing

FIRST_WAIT_S, STEP_S, LONGEST_WAIT_S = 1.0, 0.5, 5.0


@dataclass(frozen=True, slots=True)
class Settled:
    """How the wait ended. `timed_out`: the phase was still a transient one at the deadline."""

    phase: Phase
    observation: Observation
    waited_s: float
    why: str

    @property
    def timed_out(self) -> bool:
        """Whether the deadline came first."""
        return self.phase.transient


def wait_until_settled(
    observe: Callable[[], Observation],
    *,
    timeout_s: float,
    sleep: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = time.monotonic,
    progress: Callable[[str], None] = lambda _message: None,
) -> Settled:
    """Looks until the phase is not a transient one, or the time is over.

    Args:
        observe: One look. What it raises ends the wait and is passed on.
        timeout_s: How long it may take; the unit is looked at once in any case.
        sleep: Waits so many seconds.
        clock: Monotonic seconds.
        progress: Told what the unit is doing, only when that changes.
    """
    begin = clock()
    steps = wait_incrementing(start=FIRST_WAIT_S, increment=STEP_S, max=LONGEST_WAIT_S)
    looks = _Looks(observe, progress)

    def left(_state: RetryCallState) -> float:
        return begin + timeout_s - clock()

    def look() -> Settled:
        seen = looks.next()
        now = standing(seen)
        looks.tell(now.phase, seen)
        return Settled(now.phase, seen, clock() - begin, now.why)

    settled: Settled = Retrying(
        retry=retry_if_result(lambda result: result.phase.transient),
        stop=lambda state: left(state) <= 0,
        wait=lambda state: max(0.0, min(steps(state), left(state))),
        sleep=sleep,
        retry_error_callback=lambda state: state.outcome.result() if state.outcome else None,
    )(look)
    if settled.timed_out:
        return replace(settled, why=f"still {settled.phase} after {settled.waited_s:.0f} s: {settled.why}")
    return settled


class _Looks:
    """Consecutive looks: notices a restart between two of them, and repeats no message."""

    def __init__(self, observe: Callable[[], Observation], progress: Callable[[str], None]) -> None:
        self._observe = observe
        self._progress = progress
        self._first: Observation | None = None
        self._told = ""

    def next(self) -> Observation:
        """The next look; a crash loop shows only in comparison with the first one."""
        seen = self._observe()
        first = self._first = self._first or seen
        grown = (seen.n_restarts or 0) > (first.n_restarts or 0) or (
            None not in {first.invocation_id, seen.invocation_id}
            and first.invocation_id != seen.invocation_id
        )
        return replace(seen, restarts_grown=True) if grown else seen

    def tell(self, phase: Phase, seen: Observation) -> None:
        """Passes on what the unit is doing, if that is news."""
        message = f"{phase}: {seen.progress}" if seen.progress and phase.transient else str(phase)
        if message != self._told:
            self._told = message
            self._progress(message)
