"""A load from its throw-away request to its last repeat.

Law: an agent; it decides when to send what, and nothing about floors: who judges says when it has seen enough.
Between two repeats nothing is in flight: only then answers are read and bytes forgotten. Memory: the answers of one
repeat as bytes (about 300 a chunk, 32 MiB an answer at most), and 50 bytes a chunk of what was read, all in all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import uvloop

from pytest_dflash.endpoint.door import Door
from pytest_dflash.endpoint.trouble import EndpointTrouble, Kind, of_status
from pytest_dflash.load.asking import request
from pytest_dflash.load.exchange import Exchange
from pytest_dflash.load.phase import PhaseResult, Progress, Repeat, Stop
from pytest_dflash.load.plan import Plan
from pytest_dflash.load.records import Failure, RequestRecord
from pytest_dflash.load.stream import record
from pytest_dflash.load.transport import clock
from pytest_dflash.load.wave import Wave
from pytest_dflash.load.workload import CHARS_PER_TOKEN, prompt_of

THROW_AWAY_TOKENS = 16
FIRST_PROMPT_TOKENS = 256
"""Of the throw-away request, which tells how many characters a token has."""
WARM_UP_TOKENS = 32
"""Of each request of the warm-up wave: enough to capture graphs and compile kernels of this batch and this prompt."""
UNMET = {Failure.UNREACHABLE: Kind.UNREACHABLE, Failure.TLS: Kind.TLS}
ROOM = 1.1
"""A repeat may take so much longer than the longest until now."""


def never(_: Progress) -> str | None:
    """No reason to abort."""
    return None


def silent(_: Progress) -> None:
    """Tells nobody."""


def run(
    door: Door,
    plan: Plan,
    *,
    decided: Callable[[Sequence[Repeat]], bool],
    abort: Callable[[Progress], str | None] = never,
    progress: Callable[[Progress], None] = silent,
) -> PhaseResult:
    """Carries out a load; returns when nothing of it is in flight any more.

    Args:
        door: The service.
        plan: What is asked.
        decided: Asked after each repeat, with all of them.
        abort: Asked three times a second; a reason ends all requests at once.
        progress: Told three times a second. Both run on the loop that measures: be quick.

    Raises:
        EndpointTrouble: The throw-away request was not accepted, or nothing answers.
    """
    return uvloop.run(_Phase(door, plan, decided, abort, progress).run())


@dataclass
class _Phase:
    door: Door
    plan: Plan
    decided: Callable[[Sequence[Repeat]], bool]
    abort: Callable[[Progress], str | None]
    progress: Callable[[Progress], None]
    began_at_s: float = field(default_factory=clock)
    chars_per_token: float = 0.0
    warm_up: list[RequestRecord] = field(default_factory=list)
    repeats: list[Repeat] = field(default_factory=list)
    aborted: str = ""
    index: int = 0
    _ended: int = 0
    _chunks: int = 0
    _lost: int = 0
    _statuses: dict[int, int] = field(default_factory=dict)

    async def run(self) -> PhaseResult:
        """Throw-away request, warm-up, repeats."""
        self.chars_per_token = CHARS_PER_TOKEN[self.plan.text_class]
        await self._warm(1, THROW_AWAY_TOKENS)
        _raise_where_refused(self.door, self.warm_up[0])
        if not self.aborted:
            await self._warm(self.plan.concurrency, WARM_UP_TOKENS)
        why = self.aborted or _broken(self.warm_up[1:])
        stop = Stop.ABORTED if self.aborted else Stop.BROKEN
        while not why:
            repeat = await self._repeat()
            self.repeats.append(repeat)
            why = self.aborted or _broken(repeat.requests)
            if why:
                stop = Stop.ABORTED if self.aborted else Stop.BROKEN
            elif found := self._enough():
                stop = found
                break
        return PhaseResult(
            plan=self.plan,
            model=self.door.model,
            chars_per_token=self.chars_per_token,
            warm_up=tuple(self.warm_up),
            repeats=tuple(self.repeats),
            stop=stop,
            why=why,
            took_s=clock() - self.began_at_s,
        )

    def _enough(self) -> Stop | None:
        if self.decided(self.repeats):
            return Stop.DECIDED
        if len(self.repeats) >= self.plan.max_repeats:
            return Stop.ENOUGH
        longest = max(each.ended_at_s - each.began_at_s for each in self.repeats)
        fits = clock() - self.began_at_s + ROOM * longest <= self.plan.time_budget_s
        return None if fits else Stop.TIME_UP

    async def _warm(self, requests: int, tokens: int) -> None:
        """Requests that nobody measures; by their usage the length of the prompts is set right."""
        first = self.index
        wave, _ = await self._wave(requests, min(tokens, self.plan.output_tokens))
        records = [record(exchange) for exchange in wave.over]
        self.warm_up += records
        counted = [each for each in records if each.ok and each.prompt_tokens]
        chars = sum(len(self._prompt(each.index)) for each in counted)
        tokens = sum(each.prompt_tokens or 0 for each in counted)
        if tokens and first == 0:
            self.chars_per_token = chars / tokens

    async def _repeat(self) -> Repeat:
        wave, number = await self._wave(self.plan.requests, self.plan.output_tokens)
        return Repeat(
            number=number,
            began_at_s=wave.began_at_s,
            ended_at_s=wave.ended_at_s,
            requests=tuple(record(exchange) for exchange in wave.over),
            instrument=wave.instrument(),
        )

    async def _wave(self, requests: int, tokens: int) -> tuple[Wave, int]:
        number = len(self.repeats) if len(self.warm_up) > 1 else -1
        exchanges = [self._exchange(self.index + at, tokens) for at in range(requests)]
        self.index += requests
        wave = Wave(self.door, self.plan.concurrency, self.plan.request_timeout_s, self._watch)
        await wave.run(exchanges)
        self.aborted = self.aborted or wave.stopped
        seen = self._seen(wave)
        self._ended, self._chunks, self._lost = seen.ended, seen.chunks, seen.lost
        self._statuses = dict(seen.statuses)
        return wave, number

    def _exchange(self, index: int, tokens: int) -> Exchange:
        return Exchange(index, request(self.door, self.plan, self._prompt(index), tokens))

    def _prompt(self, index: int) -> str:
        plan = self.plan
        if index == 0:  # before it is known how long a token is, a long prompt may be far too long
            plan = replace(plan, prompt_tokens=min(plan.prompt_tokens, FIRST_PROMPT_TOKENS))
        return prompt_of(plan, index, self.chars_per_token).text

    def _watch(self, wave: Wave) -> str | None:
        seen = self._seen(wave)
        self.progress(seen)
        if self.warm_up and clock() - self.began_at_s > self.plan.time_budget_s:
            wave.begin_no_more()
        return self.abort(seen)

    def _seen(self, wave: Wave) -> Progress:
        statuses = {
            status: self._statuses.get(status, 0) + wave.statuses.get(status, 0)
            for status in {*self._statuses, *wave.statuses}
        }
        ended = self._ended + len(wave.over)
        lost = sum(each.lost is Failure.UNREACHABLE or not each.raw for each in wave.over)
        return Progress(
            at_s=clock(),
            repeat=len(self.repeats) if len(self.warm_up) > 1 else -1,
            in_flight=wave.in_flight,
            begun=ended + wave.in_flight,
            ended=ended,
            chunks=self._chunks + wave.chunks,
            statuses=statuses,
            lost=self._lost + lost,
        )


def _broken(records: Sequence[RequestRecord]) -> str:
    """What the first of these said, where none was answered."""
    if any(each.ok for each in records):
        return ""
    return next(filter(None, (each.complaint for each in records)), "no request was answered")


def _raise_where_refused(door: Door, first: RequestRecord) -> None:
    asked = f"POST {door.address.api}"
    if first.failure in UNMET:
        raise EndpointTrouble(UNMET[first.failure], f"{asked}: {first.complaint}")
    if first.failure is Failure.STATUS:
        kind = of_status(first.status or 0) or Kind.REJECTED
        raise EndpointTrouble(kind, f"{asked} answered {first.complaint}", first.status)
