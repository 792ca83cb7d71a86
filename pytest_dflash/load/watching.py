"""Looks at the engine and at the host beside a load, in threads of their own.

Law: an agent: it asks by what it was handed, waits, and keeps what it heard. It sends no request to the model. What
it costs the load is bounded: a look at the host is followed by a pause of four times what it took.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

from pytest_dflash.engines.dialect import Load
from pytest_dflash.errors import DflashError
from pytest_dflash.facts.kernel import RECENT_KERNEL, Xid, xids
from pytest_dflash.facts.reading import Reading, Silent, Value
from pytest_dflash.facts.transcript import Transcript
from pytest_dflash.load.phase import Progress
from pytest_dflash.load.sampling import Beside, HostSample, Sight, growing, in_a_row, sample_of
from pytest_dflash.load.transport import clock

LOOK_S = 0.4
"""Between two looks at the engine's requests: three of them, and the runner's own third of a second, are within 2 s."""
PULSE_S = 0.5
"""Between two looks at the kernel's log, where a load may be ended for an Xid: with a look at all else, within 2 s."""
SAMPLE_S = 1.0
REST = 4.0
KEPT = 8
"""Numbers of our own requests in flight, four a second: the engine may still count one that has just ended."""
SERVER_ERROR = 500


@dataclass
class Watch:
    """`with Watch(…) as watch:` around a load; `watch.reason` is the load's `abort`.

    Attributes:
        look: The engine's requests.
        sample: A transcript of `sampling.SAMPLED`.
        aborts: Whether what is seen may end the load.
        pulse: A transcript of `RECENT_KERNEL` alone, which costs little; asked where `aborts`.
    """

    look: Callable[[], Reading[Load]]
    sample: Callable[[], Transcript]
    aborts: bool
    pulse: Callable[[], Transcript] | None = None
    heard: list[Xid] = field(default_factory=list)
    samples: list[HostSample] = field(default_factory=list)
    sights: list[Sight] = field(default_factory=list)
    deaf: list[str] = field(default_factory=list)
    _ours: deque[int] = field(default_factory=lambda: deque([0], maxlen=KEPT))
    _over: threading.Event = field(default_factory=threading.Event)
    _threads: list[threading.Thread] = field(default_factory=list)

    def __enter__(self) -> Self:
        self._sample()
        for name, turn in (("look", self._look_on), ("sample", self._sample_on)):
            thread = threading.Thread(target=turn, name=f"dflash-{name}", daemon=True)
            thread.start()
            self._threads.append(thread)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join()

    def reason(self, progress: Progress) -> str | None:
        """Why the load should end, where it may; notes how many requests are ours. Called on the load's own loop."""
        self._ours.append(progress.in_flight)
        return self.alarm(progress) if self.aborts else None

    def alarm(self, progress: Progress) -> str | None:
        """What would be a reason."""
        errors = sum(many for status, many in progress.statuses.items() if status >= SERVER_ERROR)
        beside = self.beside
        if beside.foreign:
            return f"requests that are not ours: {beside.foreign[0]}"
        if beside.queues:
            return f"the engine's queue grows, and our loop is bounded: {beside.queues[0]}"
        if errors:
            return f"the engine answered {errors} requests with an error of its own (5xx)"
        if beside.new_xids:
            return f"the driver reports a new Xid: {beside.new_xids[0].entry.message}"
        return None

    @property
    def beside(self) -> Beside:
        """What was seen until now."""
        sights = tuple(self.sights)
        return Beside(
            samples=tuple(self.samples),
            sights=sights,
            foreign=in_a_row(sights),
            queues=growing(sights),
            heard=tuple(self.heard),
            deaf=tuple(self.deaf),
        )

    def _look_on(self) -> None:
        while not self._over.wait(LOOK_S):
            if not any(self._ours):
                continue
            found = self.look()
            if isinstance(found, Value):
                load = found.value
                ours = tuple(self._ours)
                self.sights.append(
                    Sight(
                        at_s=clock(),
                        running=load.running,
                        queued=load.queued,
                        ours=max(ours),
                        now=max(ours[-2:]),
                    )
                )
            else:
                self._unheard(found.why if isinstance(found, Silent) else "the engine does not tell")

    def _sample_on(self) -> None:
        often = self.aborts and self.pulse is not None
        due = clock() + SAMPLE_S
        while not self._over.wait(PULSE_S if often else max(due - clock(), 0.0)):
            if clock() < due:
                if not self._listen():
                    return
                continue
            cost = self._sample()
            if cost is None:
                return
            due = clock() + max(SAMPLE_S, REST * cost)

    def _listen(self) -> bool:
        """One look at the kernel's log; False where the host cannot be asked any more."""
        if self.pulse is None:
            return True
        try:
            told = self.pulse().reading(RECENT_KERNEL)
        except DflashError as error:
            self._unheard(str(error))
            return False
        found = xids(told.value.entries) if isinstance(told, Value) else ()
        self.heard += [each for each in found if each not in self.heard]
        return True

    def _sample(self) -> float | None:
        """One look; its cost, or None where the host cannot be asked any more."""
        begun = clock()
        try:
            transcript = self.sample()
        except DflashError as error:
            self._unheard(str(error))
            return None
        cost = clock() - begun
        self.samples.append(sample_of(transcript, at_s=begun, cost_s=cost, in_flight=max(self._ours)))
        return cost

    def _unheard(self, why: str) -> None:
        if why not in self.deaf:
            self.deaf.append(why)
