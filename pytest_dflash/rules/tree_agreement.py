"""Tokens against what a prefill says at the same place, where an engine gives no logprobs.

Law: pure. Ties are innocent, so it takes as many disagreements as an innocent engine does not show: docs/tree.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from pytest_dflash.findings import Judgement, Outcome, failed, unproven
from pytest_dflash.oracle.answers import Grounds, Part
from pytest_dflash.oracle.choice import WEAKNESS
from pytest_dflash.oracle.prefill import CEILING as MOST_TIES
from pytest_dflash.oracle.prefill import Agreement, Sample, agreement
from pytest_dflash.rules import tree_ends
from pytest_dflash.rules.tree_situation import ENOUGH, REMEDY, Situation, spent

EXPECTED = "what a prefill says"
COMPARE_WHOLE = "run again with --dflash-allow=load,reconfigure: tree.reference compares whole answers"


@dataclass(frozen=True)
class Compared:
    """What was said in a situation, place by place beside what a prefill says there."""

    parts: Sequence[Part]
    grounds: Grounds
    what: str

    @cached_property
    def whole(self) -> Agreement:
        """Over all places."""
        return agreement(self._samples, self.grounds.self_disagreements, self.grounds.repeats)

    @cached_property
    def ends(self) -> Agreement | None:
        """Over the places where answers end, None where none does."""
        return tree_ends.agreed(self._samples, self.grounds)

    @property
    def _samples(self) -> list[Sample]:
        return [each for part in self.parts for each in part.samples]

    @property
    def silent(self) -> list[str]:
        """Places at which a prefill says nothing."""
        return [each for part in self.parts for each in part.silent]

    @property
    def shared(self) -> list[str]:
        """Answers that were judged by what stood in the cache before."""
        return [each for part in self.parts for each in part.shared]

    @property
    def differing(self) -> int:
        """Places that differ."""
        return len(self.whole.disagreements)

    @property
    def by(self) -> str:
        """The oracle, as the end of a summary."""
        return f"; {self.grounds.choice}"

    @property
    def first(self) -> str:
        """The first place that differs, in words."""
        if not self.differing:
            return ""
        first = self.whole.disagreements[0]
        place = f"place {first.index + 1} of {first.label}"
        return f"the first is {place}: {first.said!r:.40} where a prefill says {first.told!r:.40}"

    @property
    def measures(self) -> dict[str, float]:
        """What was counted, and what it cost."""
        counted = {
            "samples": float(self.whole.samples),
            "disagreements": float(self.differing),
            "self_disagreements": float(self.grounds.self_disagreements),
            "false_alarm_probability": self.whole.probability,
        }
        return spent(self.parts, self.grounds) | counted | tree_ends.measures(self.parts)


def by_agreement(parts: Sequence[Part], grounds: Grounds, situation: Situation, alpha: float) -> Judgement:
    """Whether the places that differ are no more than ties.

    Args:
        parts: What was said.
        grounds: The oracle, and how often it disagrees with itself.
        situation: In which it was said.
        alpha: How likely a false alarm may be.
    """
    found = Compared(parts, grounds, situation.what)
    return _wrong(found, situation, alpha) or _open(found) or _right(found)


def _wrong(found: Compared, situation: Situation, alpha: float) -> Judgement | None:
    whole, ends = found.whole, found.ends
    # Ends are looked at twice: among all places, where a few of them do not count, and by themselves.
    alpha = alpha / 2 if ends else alpha
    if whole.samples < ENOUGH:
        return None
    if whole.probability < alpha:
        return failed(
            f"{found.differing} of {whole.samples} {found.what} differ from what a prefill says there: {found.first}. An "
            f"innocent engine shows so many with a probability of {whole.probability:.1g}{found.by}",
            expected=EXPECTED,
            observed=found.differing,
            cause=situation.cause,
            remedy=REMEDY,
            measures=found.measures,
        )
    if ends and ends.probability < alpha:
        return failed(
            f"{tree_ends.parted(ends)}. An innocent engine shows so many with a probability of "
            f"{ends.probability:.1g}{found.by}",
            expected=EXPECTED,
            observed=len(ends.disagreements),
            evidence=tree_ends.evidence(found.parts),
            cause=tree_ends.CAUSE,
            remedy=REMEDY,
            measures=found.measures,
        )
    return None


def _open(found: Compared) -> Judgement | None:
    """What keeps places that agree from proving anything."""
    whole, ends, grounds = found.whole, found.ends, found.grounds
    places = len(found.silent) + whole.samples
    own = f"a prefill disagrees with itself at {grounds.self_disagreements} of {grounds.repeats} places"
    if whole.samples < ENOUGH:
        return unproven(
            f"only {whole.samples} {found.what} could be compared, too few for a verdict{found.by}",
            measures=found.measures,
        )
    if whole.own > MOST_TIES:
        return unproven(
            f"{own}, so {found.differing} of {whole.samples} {found.what} that differ from what it says prove nothing{found.by}",
            cause="kernels whose results depend on the batch, or a cache that gives other values than were computed",
            measures=found.measures,
        )
    if whole.share > MOST_TIES:
        return unproven(
            f"{found.differing} of {whole.samples} {found.what} differ from what a prefill says there, too many for ties "
            f"and too few for a verdict: {found.first}; {own}{found.by}",
            remedy=COMPARE_WHOLE,
            measures=found.measures,
        )
    if ends and ends.share > MOST_TIES:
        return unproven(
            f"{tree_ends.parted(ends)}: too many for ties and too few for a verdict{found.by}",
            remedy=COMPARE_WHOLE,
            measures=found.measures,
        )
    if found.shared:
        return unproven(
            f"{whole.samples} {found.what} were compared with a prefill that took from the cache what drafts may have "
            f"written there, for {len(found.shared)} answers: entries that are wrong go unnoticed{found.by}",
            cause="this version heeds no name by which a request's cache is kept apart (extra_key, cache_salt)",
            remedy=COMPARE_WHOLE,
            measures=found.measures,
        )
    if len(found.silent) > MOST_TIES * places:
        return unproven(
            f"at {len(found.silent)} of {places} places a prefill says nothing, the first is {found.silent[0]}{found.by}",
            remedy="ask the same by hand: does the model end its answer there, though its end token is to be ignored?",
            measures=found.measures,
        )
    return None


def _right(found: Compared) -> Judgement:
    agreeing, ties = found.whole.samples - found.differing, found.differing
    return Judgement(
        outcome=Outcome.PASS,
        summary=f"{agreeing} of {found.whole.samples} {found.what} are what a prefill says there"
        + (f", and {ties} ties are not too many" if ties else "")
        + f"{found.by}. {WEAKNESS[found.grounds.choice.oracle]}",
        expected=EXPECTED,
        observed=ties,
        evidence=tree_ends.evidence(found.parts),
        measures=found.measures,
    )
