"""Waiting until a unit stands still: ready, or in a phase that waiting does not mend.

Law: an agent, and the only user of tenacity. It looks and waits, and changes nothing; clock and sleep are
handed in. What a look costs the host is the observer's business.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from tenacity import RetryCallState, Retrying, retry_if_result

from pytest_dflash.lifecycle.phase import Observation, Phase, standing

LOOK_EVERY_S, PAUSE_S = 0.5, 0.1
"""From one look to the next, the look's own time included, so that readiness is noticed within a second; and
the pause that the host gets in any case."""

STUCK_S = 300.0


def stuck_after_s(timeout_s: float) -> float:
    """How long a start may show nothing new: five minutes, or a third of the time that it has.

    Kernels that are compiled for the first time, and weights over a network, are silent for minutes.
    """
    return max(STUCK_S, timeout_s / 3)


@dataclass(frozen=True, slots=True)
class Settled:
    """How the wait ended: in a phase that stays, or in a transient one at the deadline or because nothing moved."""

    phase: Phase
    observation: Observation
    waited_s: float
    why: str

    @property
    def timed_out(self) -> bool:
        """Whether the time was over first: all of it, or that for a start in which nothing moves."""
        return self.phase.transient


def wait_until_settled(  # noqa: PLR0913 - limits, and what stands for the world
    observe: Callable[[], Observation],
    *,
    timeout_s: float,
    stuck_s: float | None = None,
    before: str | None = None,
    sleep: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = time.monotonic,
    progress: Callable[[str], None] = lambda _message: None,
) -> Settled:
    """Looks until the phase is not a transient one, or the time is over.

    Args:
        observe: One look. What it raises ends the wait and is passed on.
        timeout_s: How long it may take; the unit is looked at once in any case.
        stuck_s: How long nothing may move: no phase, no progress, no line. Default: by `stuck_after_s`.
        before: After a restart that we asked for: the invocation of before it.
        sleep: Waits so many seconds.
        clock: Monotonic seconds.
        progress: Told at every look what the unit is doing.
    """
    begin = clock()
    stuck_s = stuck_after_s(timeout_s) if stuck_s is None else stuck_s
    looks = _Looks(observe, before)
    motion = _Motion(begin)

    def look() -> Settled:
        motion.asked = clock()
        seen = looks.next()
        now = standing(seen)
        motion.see(now.phase, seen, clock())
        progress(f"{now.phase}: {seen.progress}" if seen.progress and now.phase.transient else str(now.phase))
        return Settled(now.phase, seen, clock() - begin, now.why)

    def left() -> float:
        return min(begin + timeout_s, motion.moved + stuck_s) - clock()

    def pause(_state: RetryCallState) -> float:
        return max(0.0, min(max(PAUSE_S, motion.asked + LOOK_EVERY_S - clock()), left()))

    settled: Settled = Retrying(
        retry=retry_if_result(lambda result: result.phase.transient),
        stop=lambda _state: left() <= 0,
        wait=pause,
        sleep=sleep,
        retry_error_callback=lambda state: state.outcome.result() if state.outcome else None,
    )(look)
    if not settled.timed_out:
        return settled
    still = f"still {settled.phase} after {settled.waited_s:.0f} s"
    if settled.waited_s < timeout_s:
        still += f", and nothing moved for {clock() - motion.moved:.0f} s"
    return replace(settled, why=f"{still}: {settled.why}")


@dataclass(slots=True)
class _Motion:
    """When something last moved, and when the latest look began."""

    moved: float
    asked: float = 0.0
    seen: tuple[object, ...] = ()

    def see(self, phase: Phase, seen: Observation, now: float) -> None:
        """Compares a look with the one before it."""
        state = (phase, seen.sub_state, seen.progress, seen.newest_us, seen.port_open, seen.invocation_id)
        if state != self.seen:
            self.seen, self.moved = state, now


class _Looks:
    """Consecutive looks: notices a restart between two of them."""

    def __init__(self, observe: Callable[[], Observation], before: str | None) -> None:
        self._observe = observe
        self._before = before
        self._first: Observation | None = None

    def next(self) -> Observation:
        """The next look; a crash loop shows only in comparison with the first one."""
        seen = self._observe()
        if self._before and seen.invocation_id:
            seen = replace(seen, invocation_changed=seen.invocation_id != self._before)
            if not seen.invocation_changed:
                return seen  # nothing of what follows is compared with what was there before the restart
        first = self._first = self._first or seen
        grown = (seen.n_restarts or 0) > (first.n_restarts or 0) or (
            None not in {first.invocation_id, seen.invocation_id}
            and first.invocation_id != seen.invocation_id
        )
        return replace(seen, restarts_grown=True) if grown else seen
