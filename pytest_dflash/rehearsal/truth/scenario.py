"""What the truth server does with a request, by the model that is asked for.

Law: values; times are seconds since the request was there.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """How an answer comes.

    Attributes:
        ttft_s: Until the first chunk with text. step_s: from chunk to chunk.
        widths: Tokens of each chunk, taken in turn.
        role: An empty role chunk is sent at once.
        reasoning: So many tokens in a hundred come as reasoning_content.
        ends_at: The answer ends at this share of the tokens that were asked for.
        cut_at: The connection is closed after this share of the chunks, without [DONE].
        counts: Whether usage is told when it is asked for.
    """

    ttft_s: float = 0.100
    step_s: float = 0.010
    widths: tuple[int, ...] = (1,)
    role: bool = False
    reasoning: int = 0
    ends_at: float = 1.0
    cut_at: float = 1.0
    counts: bool = True

    def chunks(self, asked: int) -> tuple[int, ...]:
        """Tokens of each chunk, for so many that were asked for."""
        found: list[int] = []
        left = max(int(asked * self.ends_at), 1)
        while left > 0:
            width = min(self.widths[len(found) % len(self.widths)], left)
            found.append(width)
            left -= width
        return tuple(found)

    def thinks_until(self, chunks: tuple[int, ...]) -> int:
        """The first chunk that is no reasoning any more."""
        limit = sum(chunks) * self.reasoning / 100
        return sum(done <= limit for done in accumulate(chunks)) if self.reasoning else 0


SCENARIOS = {
    "plain": Scenario(),
    "spec": Scenario(step_s=0.030, widths=(4, 7, 1, 8, 3, 5, 2, 6)),
    "role": Scenario(ttft_s=0.500, role=True),
    "reason": Scenario(reasoning=78),
    "short": Scenario(ends_at=0.5),
    "fast": Scenario(step_s=0.004),
    "cut": Scenario(cut_at=0.5),
    "uncounted": Scenario(counts=False),
}
"""Model to what it does."""
