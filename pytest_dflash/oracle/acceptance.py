"""How many drafts were accepted, and whether the numbers can be believed.

Law: arithmetic on what an engine tells of single requests, or of all of them by its counters. An accept length is
generated tokens per verify step, the bonus token included. The first token of an answer comes from the prefill, so
what is compared with the depth of the tree leaves it out.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pytest_dflash.oracle.alarm import upper_rate

DEFINITION = "generated tokens per verify step, the bonus token included"
SURE = 4.0
"""Standard errors: a normal mean is farther away once in 16,000 times."""
STEPS = 40
"""Fewer verify steps than this prove nothing about their kind."""
REQUESTS = 5
RARE, DOUBT = 0.15, 1e-3
"""Where the first draft was accepted, a second one is at least this often, which a smaller count must contradict."""
NOTHING = 1.05
"""An accept length below this: nothing is accepted."""
SHORT, LONG = 300, 1000
"""Contexts up to this many tokens, and from so many on, are compared."""
BRIEF, LASTING = 80, 250
"""So are answers of at most so many tokens, and of at least so many."""
LOST = 0.6
"""So little of the accept length is left behind long prompts, with certainty, where it decays: of few steps."""
FADED, SURE_OF_MANY = 0.7, 3.0
"""The same of long answers, which have many steps."""


@dataclass(frozen=True, slots=True)
class Drafted:
    """One answer, or several counted together.

    Attributes:
        context: Tokens of the prompt. tokens: generated ones. steps: verify steps.
        histogram: Steps by how many drafts they accepted; empty where not told.
        answers: How many are counted together.
    """

    context: int
    tokens: int
    steps: int
    histogram: Mapping[int, int] = field(default_factory=dict)
    answers: int = 1

    @property
    def length(self) -> float:
        """The accept length."""
        return self.tokens / self.steps

    @property
    def per_step(self) -> float:
        """The same without the first token of each answer, which no step generated."""
        return (self.tokens - self.answers) / self.steps


def together(several: Sequence[Drafted]) -> Drafted | None:
    """All of them as one; None without any verify step."""
    steps = sum(each.steps for each in several)
    if not steps:
        return None
    histogram: dict[int, int] = {}
    for each in several:
        for accepted, times in each.histogram.items():
            histogram[accepted] = histogram.get(accepted, 0) + times
    return Drafted(
        max(each.context for each in several), sum(each.tokens for each in several), steps, histogram,
        sum(each.answers for each in several),
    )  # fmt: skip


def error(of: Drafted) -> float:
    """The standard error of the tokens per step; of a spread of half the mean where no histogram tells it."""
    if of.histogram and (steps := sum(of.histogram.values())) > 1:
        mean = sum(k * n for k, n in of.histogram.items()) / steps
        return math.sqrt(sum(n * (k - mean) ** 2 for k, n in of.histogram.items()) / (steps - 1) / steps)
    return of.per_step / 2 / math.sqrt(of.steps)


def constant(several: Sequence[Drafted]) -> float | None:
    """The accept length, where all steps or all answers have the same one, as no real text gives; else None."""
    whole = together(several)
    if whole is None or whole.steps < STEPS:
        return None
    told = sum(whole.histogram.values())
    if told >= STEPS:
        (most, times) = max(whole.histogram.items(), key=lambda each: each[1])
        # The last step of each answer is cut by its limit.
        return most + 1.0 if most and times >= told - whole.answers else None
    lengths = [each.per_step for each in several if each.steps >= REQUESTS]
    spread = max(lengths) - min(lengths) if len(lengths) >= REQUESTS else 1.0
    return lengths[0] if spread <= 0.01 * lengths[0] and lengths[0] > NOTHING else None


def only_first(several: Sequence[Drafted], depth: int | None) -> bool:
    """Whether drafts behind the first are as good as never accepted, although the tree is deep enough."""
    whole = together(several)
    if whole is None or not whole.histogram or depth is None or depth < 2:
        return False
    some = sum(times for accepted, times in whole.histogram.items() if accepted)
    deeper = some - whole.histogram.get(1, 0)
    return some >= STEPS and upper_rate(deeper, some, DOUBT) < RARE


@dataclass(frozen=True, slots=True)
class Decay:
    """Tokens per step near the beginning and far from it; `lost` where the second is certainly much smaller."""

    near: float
    far: float
    lost: bool


def decay_by_prompt(several: Sequence[Drafted]) -> Decay | None:
    """Behind short and behind long prompts; None where either was not asked, or too few steps were."""
    near, far = [e for e in several if e.context <= SHORT], [e for e in several if e.context >= LONG]
    return _decay(near, far, LOST, SURE)


def decay_by_answer(several: Sequence[Drafted]) -> Decay | None:
    """In short and in long answers, behind short prompts."""
    single = [e for e in several if e.answers == 1 and e.context <= SHORT]
    near, far = [e for e in single if e.tokens <= BRIEF], [e for e in single if e.tokens >= LASTING]
    return _decay(near, far, FADED, SURE_OF_MANY)


def _decay(near: Sequence[Drafted], far: Sequence[Drafted], lost: float, sure: float) -> Decay | None:
    one, other = together(near), together(far)
    if one is None or other is None or min(one.steps, other.steps) < STEPS / 4:
        return None
    ratio = other.per_step / one.per_step
    unsure = math.hypot(error(one) / one.per_step, error(other) / other.per_step)
    return Decay(one.per_step, other.per_step, ratio * (1 + sure * unsure) < lost)


def falls(smaller: Drafted, larger: Drafted) -> bool:
    """Whether a larger tree certainly accepts less than a smaller one."""
    apart = SURE * math.hypot(error(smaller), error(larger))
    return larger.per_step < smaller.per_step - apart
