"""Answers of a trial, with all that is known of them.

Law: values, and arithmetic on what engines count. Nothing is asked here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pytest_dflash.engines.scoring import Drafting, Spoken
from pytest_dflash.facts.reading import Reading, Value
from pytest_dflash.oracle.acceptance import Drafted
from pytest_dflash.oracle.choice import Choice
from pytest_dflash.oracle.noise import Noise
from pytest_dflash.oracle.prefill import Sample
from pytest_dflash.oracle.rescoring import Line


@dataclass(frozen=True, slots=True)
class Said:
    """One request and its answer. `prompt` is a text where no ids are to be had."""

    label: str
    prompt: tuple[int, ...] | str
    spoken: Spoken


@dataclass(frozen=True, slots=True)
class Part:
    """One part of the trial.

    Attributes:
        lines: What the target thinks of each answer; by rescoring only.
        samples: What a prefill says at some positions; by the weaker oracles.
        silent: Why some answers could not be looked at.
        shared: Answers that a prefill judged by what others, drafts perhaps, had written into the cache.
        ends: How many ends were judged, of answers that ended by themselves. open_ends: why others were not.
        drafted: Tokens and verify steps of each answer; of all together where the engine only counts.
        counters: Of the engine's speculation, before the first answer and after the last.
        generating_s: How long generating took. judging_s: how long the oracle took.
    """

    said: tuple[Said, ...]
    lines: tuple[Line, ...] = ()
    samples: tuple[Sample, ...] = ()
    silent: tuple[str, ...] = ()
    shared: tuple[str, ...] = ()
    ends: int = 0
    open_ends: tuple[str, ...] = ()
    drafted: tuple[Drafted, ...] = ()
    counters: tuple[Reading[Drafting], ...] = ()
    generating_s: float = 0.0
    judging_s: float = 0.0

    @property
    def differ(self) -> bool:
        """Whether not all of them say the same."""
        return len({each.spoken.tokens or each.spoken.text for each in self.said}) > 1

    @property
    def tokens(self) -> int:
        """Generated ones."""
        return sum(each.spoken.completion_tokens or len(each.spoken.tokens or ()) for each in self.said)


def joined(parts: Sequence[Part]) -> Part:
    """Parts that were asked for one purpose, as one; what was counted around each is left out."""
    return Part(
        said=tuple(each for part in parts for each in part.said),
        lines=tuple(each for part in parts for each in part.lines),
        samples=tuple(each for part in parts for each in part.samples),
        silent=tuple(each for part in parts for each in part.silent),
        shared=tuple(each for part in parts for each in part.shared),
        ends=sum(part.ends for part in parts),
        open_ends=tuple(each for part in parts for each in part.open_ends),
        generating_s=sum(part.generating_s for part in parts),
        judging_s=sum(part.judging_s for part in parts),
    )


@dataclass(frozen=True, slots=True)
class Grounds:
    """What the answers of a trial are judged on.

    Attributes:
        self_disagreements: How often a prefill disagrees with itself, of `repeats`.
        cells: How many budgets the run visits beside the running one: the false alarms of a run are shared out.
        seed: Of the prompts.
    """

    choice: Choice
    noise: Noise
    self_disagreements: int
    repeats: int
    cells: int = 0
    seed: int = 0


def each_of(said: Sequence[Said]) -> tuple[Drafted, ...]:
    """Answers whose verify steps the engine tells one by one."""
    found = []
    for each in said:
        spoken = each.spoken
        if spoken.steps and spoken.completion_tokens:
            histogram = {accepted: times for accepted, times in enumerate(spoken.histogram or ()) if times}
            found.append(
                Drafted(
                    spoken.prompt_tokens or len(each.prompt),
                    spoken.completion_tokens,
                    spoken.steps,
                    histogram,
                )
            )
    return tuple(found)


def counted(said: Sequence[Said], before: Reading[Drafting], after: Reading[Drafting]) -> tuple[Drafted, ...]:
    """All answers together, by the engine's counters around them; none where it has none or they began anew."""
    if not isinstance(before, Value) or not isinstance(after, Value):
        return ()
    steps = after.value.steps - before.value.steps
    tokens = sum(each.spoken.completion_tokens or 0 for each in said)
    if steps <= 0 or not tokens:
        return ()
    kept = [
        after.value.accepted_at[depth] - before.value.accepted_at.get(depth, 0.0)
        for depth in sorted(after.value.accepted_at)
    ]
    at_least = [steps, *kept, 0.0] if kept else []
    histogram = {n: int(at_least[n] - at_least[n + 1]) for n in range(len(at_least) - 1)}
    context = max(each.spoken.prompt_tokens or 0 for each in said)
    return (Drafted(context, tokens, int(steps), histogram, len(said)),)
