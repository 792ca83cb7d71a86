"""vLLM's counters in the text of `/metrics`: how busy it is, and what its drafts were worth.

Law: text in, numbers out; two readings of the same counters make a rate, one does not. The accept length counts
generated tokens per verify step, the bonus token included, as everywhere here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pytest_dflash.engines.dialect import Load
from pytest_dflash.engines.metrics import METRICS, by_position, missing, samples, total
from pytest_dflash.facts.reading import Reading, Silent, Value


@dataclass(frozen=True, slots=True)
class Drafts:
    """What was drafted and accepted, all engines together, since the server started or between two readings.

    Attributes:
        steps: Verify steps that had drafts.
        drafted: Tokens drafted. accepted: those of them that were kept.
        per_position: Accepted tokens by position in the draft, the first one 0.
    """

    steps: float
    drafted: float
    accepted: float
    per_position: Mapping[int, float] = field(default_factory=dict)

    @property
    def accept_length(self) -> float | None:
        """Generated tokens per verify step, the bonus token included; None without any step."""
        return 1 + self.accepted / self.steps if self.steps > 0 else None

    @property
    def rates(self) -> Mapping[int, float]:
        """How often each position of a draft was accepted, 0 to 1."""
        return {at: n / self.steps for at, n in sorted(self.per_position.items())} if self.steps > 0 else {}

    def since(self, before: Drafts) -> Drafts | None:
        """What came after an earlier reading; None when the counters began anew in between."""
        positions = {at: n - before.per_position.get(at, 0) for at, n in self.per_position.items()}
        gone = Drafts(
            self.steps - before.steps,
            self.drafted - before.drafted,
            self.accepted - before.accepted,
            positions,
        )
        falls = min(gone.steps, gone.drafted, gone.accepted, *positions.values()) < 0
        return None if falls else gone


def drafts(text: str) -> Reading[Drafts]:
    """The counters of speculative decoding; Absent where a page of this engine has none: it does not speculate, or is older."""
    told = samples(text, "vllm")
    names = ("spec_decode_num_drafts", "spec_decode_num_draft_tokens", "spec_decode_num_accepted_tokens")
    if gone := missing(told, "vllm", names):
        return gone
    steps, drafted, accepted = (total(told[name]) for name in names)
    positions = by_position(told.get("spec_decode_num_accepted_tokens_per_pos", ()))
    return Value(Drafts(steps, drafted, accepted, positions), METRICS)


def load(text: str) -> Reading[Load]:
    """Running and waiting requests, all engines together, and whether one of them sleeps."""
    told = samples(text, "vllm")
    running, waiting = told.get("num_requests_running"), told.get("num_requests_waiting")
    if not running or not waiting:
        return Silent("vllm:num_requests_running is not among the counters (--disable-log-stats?)", METRICS)
    asleep = _asleep(told.get("engine_sleep_state", ()))
    return Value(Load(math.ceil(total(running)), math.ceil(total(waiting)), asleep), METRICS)


def _asleep(states: Sequence[tuple[str, float]]) -> bool | None:
    awake = [number for labels, number in states if 'sleep_state="awake"' in labels]
    return not all(awake) if awake else None
