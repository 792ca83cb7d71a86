"""The host while it is under load, a look at a time.

Law: what is asked, and what one look said; nothing waits here and nothing is judged. Times are seconds of the clock
that stamps the load's own requests.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from pytest_dflash.facts.identity import Identity
from pytest_dflash.facts.kernel import RECENT_KERNEL, KernelJournal, Xid, xids
from pytest_dflash.facts.nvidia import GPUS, Gpu
from pytest_dflash.facts.pressure import PRESSURE, Pressure
from pytest_dflash.facts.probe import Probe
from pytest_dflash.facts.reading import Reading, Value
from pytest_dflash.facts.transcript import Transcript

SAMPLED: tuple[Probe[Any], ...] = (PRESSURE, GPUS, RECENT_KERNEL)


@dataclass(frozen=True, slots=True, kw_only=True)
class HostSample:
    """One look at the host.

    Attributes:
        at_s: When it was asked for. cost_s: until it was answered, the way there and back included.
        in_flight: Our requests that were in flight in these seconds, at most: 0 is an idle look.
        identity: Which process served then.
    """

    at_s: float
    cost_s: float
    in_flight: int
    gpus: Reading[tuple[Gpu, ...]]
    pressure: Reading[Pressure]
    kernel: Reading[KernelJournal]
    identity: Reading[Identity]

    @property
    def xids(self) -> tuple[Xid, ...]:
        """Every Xid among the kernel's newest lines."""
        return xids(self.kernel.value.entries) if isinstance(self.kernel, Value) else ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Sight:
    """The engine's requests at a moment, by its own account, and how many of them were ours.

    Attributes:
        ours: At most, in the two seconds before: the engine may still count one that has just ended.
        now: In flight at that moment; nothing of ours that is over can lie in a queue.
    """

    at_s: float
    running: int
    queued: int
    ours: int
    now: int | None = None

    @property
    def foreign(self) -> int:
        """Requests that are not ours."""
        return max(self.running + self.queued - self.ours, 0)

    def __str__(self) -> str:
        return f"{self.running} running and {self.queued} queued, at most {self.ours} of them ours"


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """What was seen beside a load.

    Attributes:
        samples: Looks at the host, in order. The first one is from before the first request.
        sights: Looks at the engine's requests, in order.
        foreign: The sights, two or more in a row, in which somebody else's requests were there.
        queues: The sights at which the queue had grown twice in a row beyond what is ours.
        heard: Xids of looks at the kernel's log alone.
        deaf: Why one of both could not be heard; empty where all could.
    """

    samples: tuple[HostSample, ...] = ()
    sights: tuple[Sight, ...] = ()
    foreign: tuple[Sight, ...] = ()
    queues: tuple[Sight, ...] = ()
    heard: tuple[Xid, ...] = ()
    deaf: tuple[str, ...] = ()

    @property
    def loaded(self) -> tuple[HostSample, ...]:
        """The samples that were taken while our own requests were in flight."""
        return tuple(sample for sample in self.samples if sample.in_flight > 0)

    @property
    def new_xids(self) -> tuple[Xid, ...]:
        """Xids that came while the load ran."""
        if not self.samples:
            return ()
        known = {_key(xid) for xid in self.samples[0].xids}
        later = (*(xid for sample in self.samples[1:] for xid in sample.xids), *self.heard)
        fresh = {_key(xid): xid for xid in later}
        return tuple(xid for key, xid in fresh.items() if key not in known)

    @property
    def cost_s(self) -> float:
        """What all looks at the host took together."""
        return sum(sample.cost_s for sample in self.samples)


def sample_of(transcript: Transcript, *, at_s: float, cost_s: float, in_flight: int) -> HostSample:
    """The sample that a transcript of `SAMPLED` is."""
    return HostSample(
        at_s=at_s,
        cost_s=cost_s,
        in_flight=in_flight,
        gpus=transcript.reading(GPUS),
        pressure=transcript.reading(PRESSURE),
        kernel=transcript.reading(RECENT_KERNEL),
        identity=transcript.last,
    )


def in_a_row(sights: Sequence[Sight]) -> tuple[Sight, ...]:
    """The sights of foreign requests that another one follows: a single one may be an answer on its way to us."""
    return tuple(later for earlier, later in pairwise(sights) if earlier.foreign and later.foreign)


def growing(sights: Sequence[Sight]) -> tuple[Sight, ...]:
    """The sights at which the queue had grown at two looks in a row, and more was there than we had in flight.

    Our own loop is bounded: what makes a queue grow on and on is somebody else's, or an engine that falls behind.
    """
    return tuple(
        third
        for first, second, third in zip(sights, sights[1:], sights[2:], strict=False)
        if first.queued < second.queued < third.queued
        and third.now is not None
        and third.running + third.queued > third.now
    )


def _key(xid: Xid) -> tuple[int | None, str]:
    return xid.entry.monotonic_us, xid.entry.message
