"""What a load of the profile came to, with all that is needed to believe it.

Law: values and their arithmetic; judged elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from pytest_dflash.engines.scoring import Drafting
from pytest_dflash.facts.identity import Identity
from pytest_dflash.facts.reading import Reading, Value, deaf
from pytest_dflash.load.floors import MEASURES, Measure, accept_limits, limit_of
from pytest_dflash.load.limit import Decision, decide
from pytest_dflash.load.phase import PhaseResult, Repeat
from pytest_dflash.load.sampling import Beside
from pytest_dflash.profile.schema import Throughput

CACHED = 0.2
"""More of the prompts than this from the prefix cache, and the cache has answered for the GPU: prompts were not fresh."""
TEMPLATE_TOKENS = 64
"""A chat template and its system prompt are cached rightly: so much of each prompt may be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """One load, measured once.

    Attributes:
        load: Of the profile. result: what the runner saw.
        counters: The engine's counters of speculation, before the first repeat and after each one.
        beside: What was seen of host and engine meanwhile.
        before, after: Who served.
        error: The chance of error that each limit of this load has.
        began_at_s: On the clock of all stamps.
        label: Which process it was, where not the one that was found: "start 2", "without speculation".
    """

    load: Throughput
    result: PhaseResult
    counters: tuple[Reading[Drafting], ...]
    beside: Beside
    before: Reading[Identity]
    after: Reading[Identity]
    error: float
    began_at_s: float
    label: str = ""

    @property
    def replaced(self) -> bool:
        """Whether another process served at the end than at the beginning, as far as both are known."""
        both = (self.before, self.after)
        first, last = (each.value if isinstance(each, Value) else None for each in both)
        return first is not None and last is not None and first != last

    @property
    def accept_lengths(self) -> tuple[float, ...]:
        """Generated tokens per verify step of each repeat, by differences of the engine's counters."""
        return accept_lengths(self.counters)

    @property
    def accepted_at(self) -> tuple[float, ...]:
        """The share of steps in which the draft at each depth was accepted; empty where not told."""
        known = [each.value for each in self.counters if isinstance(each, Value)]
        if len(known) < 2 or known[-1].steps <= known[0].steps:
            return ()
        steps = known[-1].steps - known[0].steps
        depths = range(1 + max(known[-1].accepted_at, default=-1))
        return tuple(
            max(known[-1].accepted_at.get(at, 0.0) - known[0].accepted_at.get(at, 0.0), 0.0) / steps
            for at in depths
        )

    @property
    def deaf_counters(self) -> str:
        """Why the engine's counters tell no accept length; "" where they do."""
        if why := next((why for each in self.counters if (why := deaf(each))), ""):
            return why
        return "" if self.accept_lengths else "the counters did not move: nothing was verified"

    @property
    def from_cache(self) -> str:
        """That the prefix cache answered for the GPU, in words; "" where it did not, or the engine does not tell."""
        share = self.result.cached_share
        asked = [each.prompt_tokens or 0 for each in self.result.requests if each.ok]
        if share is None or share <= CACHED or not asked or share * max(asked) <= TEMPLATE_TOKENS:
            return ""
        return f"{share:.0%} of the prompt tokens came from the prefix cache, although each prompt was a fresh one"

    def values(self, measure: Measure) -> tuple[float, ...]:
        """The measure of each repeat that has one."""
        return values(self.result.repeats, measure)

    def decision(self, measure: Measure) -> Decision | None:
        """What the repeats say of this measure's limit; None without a limit or without a value."""
        limit, found = limit_of(self.load, measure), self.values(measure)
        return decide(found, limit, self.error) if limit is not None and found else None


def values(repeats: Sequence[Repeat], measure: Measure) -> tuple[float, ...]:
    """The measure of each repeat that has one."""
    found = (measure.of(repeat) for repeat in repeats)
    return tuple(value for value in found if value is not None)


def accept_lengths(counters: Sequence[Reading[Drafting]]) -> tuple[float, ...]:
    """Generated tokens per verify step between each two readings that are whole and moved."""
    found = []
    for before, after in pairwise(counters):
        if isinstance(before, Value) and isinstance(after, Value):
            steps = after.value.steps - before.value.steps
            tokens = after.value.tokens - before.value.tokens
            if steps > 0 and tokens > 0:
                found.append(tokens / steps)
    return tuple(found)


def decisions(
    load: Throughput, repeats: Sequence[Repeat], counters: Sequence[Reading[Drafting]], error: float
) -> tuple[Decision, ...]:
    """What the repeats so far say of every limit of the load that has a value."""
    limited = ((limit_of(load, measure), values(repeats, measure)) for measure in MEASURES)
    found = [decide(seen, limit, error) for limit, seen in limited if limit is not None and seen]
    lengths = accept_lengths(counters)
    if lengths:
        found += [decide(lengths, limit, error) for limit in accept_limits(load)]
    return tuple(found)
