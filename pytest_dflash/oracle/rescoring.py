"""Could the target alone have said this? Each token against what the target thinks of it.

Law: arithmetic on scored tokens. A token is the target's own where it is the likeliest after all tokens before it
(argmax), may be where it is less likely by no more than the noise (near-tie), and is not otherwise (violation).
Each position is judged after what was really said before it, so one violation does not excuse what follows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pytest_dflash.engines.scoring import Scored
from pytest_dflash.oracle.ending import Ending, Kind

BEFORE = 8
"""How many tokens before a violation are shown."""


@dataclass(frozen=True, slots=True)
class Line:
    """One answer, token by token, with what the target thinks of it.

    Attributes:
        label: Which request it was, for a person.
        prompt: Ids, or how many they were, is not judged: only what was said is.
        said: Ids of the answer, and the one behind it by which its end is judged. scored: one for each.
        ending: Of the answer, where it ended by itself.
    """

    label: str
    prompt: tuple[int, ...]
    said: tuple[int, ...]
    scored: tuple[Scored, ...]
    ending: Ending | None = None

    def is_end(self, index: int) -> bool:
        """Whether this position is behind the answer, where it ended."""
        beyond = self.ending is not None and self.ending.beyond is not None
        return beyond and index == len(self.said) - 1

    def unnamed(self, index: int) -> bool:
        """Whether what was scored here was not said: the answer ended with a token that nobody names."""
        return self.is_end(index) and self.ending is not None and self.ending.kind is Kind.GOES_ON

    def gap(self, index: int) -> float:
        """How much likelier the target's own choice was than what was said here, in nats.

        Of an end token that nobody names it is at least the lead of that choice over all others.
        """
        return (self.scored[index].lead or 0.0) if self.unnamed(index) else self.scored[index].gap

    @property
    def matches(self) -> bool:
        """Whether it is these tokens that were scored."""
        return len(self.said) == len(self.scored) and all(
            token == each.token for token, each in zip(self.said, self.scored, strict=True)
        )


@dataclass(frozen=True, slots=True)
class Violation:
    """A token that the target would not have said.

    Attributes:
        index: Its place in the answer, 0 the first. position: its place in the whole sequence.
        before: The tokens before it.
        said: None for an end by a token that nobody names.
        gap: How much likelier the target's own choice was, in nats.
        ended: The answer ended here.
    """

    label: str
    index: int
    position: int
    before: tuple[int, ...]
    said: int | None
    wanted: int
    gap: float
    ended: bool = False


@dataclass(frozen=True, slots=True)
class Tally:
    """What became of all positions of a run. `gaps`: of all that are not the target's first choice, ascending, in nats."""

    positions: int
    argmax: int
    near_ties: int
    violations: tuple[Violation, ...]
    widest_tie: float
    gaps: tuple[float, ...] = ()

    @property
    def unseen_rate(self) -> float:
        """With 95 % confidence, violations are rarer than this where none was found."""
        return 1 - 0.05 ** (1 / self.positions) if self.positions else 1.0


def tally(lines: Sequence[Line], tolerance: float) -> Tally:
    """Every position, classified."""
    argmax, ties, widest = 0, 0, 0.0
    found: list[Violation] = []
    for line in lines:
        for index, each in enumerate(line.scored):
            gap = line.gap(index)
            if gap <= 0:
                argmax += 1
            elif gap <= tolerance:
                ties, widest = ties + 1, max(widest, gap)
            else:
                found.append(_violation(line, index, each))
    known = (line.gap(index) for line in lines for index in range(len(line.scored)))
    gaps = sorted(gap for gap in known if gap > 0)
    return Tally(argmax + ties + len(found), argmax, ties, tuple(found), widest, tuple(gaps))


def _violation(line: Line, index: int, each: Scored) -> Violation:
    before = (*line.prompt, *line.said[:index])
    return Violation(
        label=line.label,
        index=index,
        position=len(before),
        before=before[-BEFORE:],
        said=None if line.unnamed(index) else each.token,
        wanted=each.best[0][0],
        gap=line.gap(index),
        ended=line.is_end(index),
    )
