"""Could the target alone have said this? Each token against what the target thinks of it.

Law: arithmetic on scored tokens. A token is the target's own where it is the likeliest after all tokens before it
(argmax), may be where it is less likely by no more than the noise (near-tie), and is not otherwise (violation).
Each position is judged after what was really said before it, so one violation does not excuse what follows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pytest_dflash.engines.scoring import Scored

BEFORE = 8
"""How many tokens before a violation are shown."""


@dataclass(frozen=True, slots=True)
class Line:
    """One answer, token by token, with what the target thinks of it.

    Attributes:
        label: Which request it was, for a person.
        prompt: Ids, or how many they were, is not judged: only what was said is.
        said: Ids of the answer. scored: one for each.
    """

    label: str
    prompt: tuple[int, ...]
    said: tuple[int, ...]
    scored: tuple[Scored, ...]

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
        gap: How much likelier the target's own choice was, in nats.
    """

    label: str
    index: int
    position: int
    before: tuple[int, ...]
    said: int
    wanted: int
    gap: float


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
            if each.gap <= 0:
                argmax += 1
            elif each.gap <= tolerance:
                ties, widest = ties + 1, max(widest, each.gap)
            else:
                found.append(_violation(line, index, each))
    gaps = sorted(each.gap for line in lines for each in line.scored if each.gap > 0)
    return Tally(argmax + ties + len(found), argmax, ties, tuple(found), widest, tuple(gaps))


def _violation(line: Line, index: int, each: Scored) -> Violation:
    before = (*line.prompt, *line.said[:index])
    return Violation(
        label=line.label,
        index=index,
        position=len(before),
        before=before[-BEFORE:],
        said=each.token,
        wanted=each.best[0][0],
        gap=each.gap,
    )
