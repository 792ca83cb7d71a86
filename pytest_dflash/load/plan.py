"""What one load asks: how many at once, how long, how often, and until when.

Law: values; whether they make sense is refused here, what they measure is not known.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

TextClass = Literal["code", "mathematics", "prose", "long_context"]
Route = Literal["chat", "completions"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """One load, in repeats: `concurrency` requests in flight until all of a repeat are answered.

    Attributes:
        text_class: What the prompts are about.
        concurrency: Requests in flight: when one ends, the next is written at once.
        prompt_tokens: About so long is a prompt; its length is taken from characters, calibrated by usage.
        output_tokens: The most that an answer may have. It ends where the model ends it.
        seed: Decides all prompts but their first line.
        run: Stands in every prompt's first line, so that no earlier run has left it in the prefix cache.
        per_stream: Requests of a repeat, divided by `concurrency`.
        time_budget_s: From the throw-away request on; a repeat that would not fit is not begun.
        request_timeout_s: The longest that one answer may take.
        max_repeats: Enough in any case.
        fresh: Every request has a prompt of its own. False: all have the same one, as the prefix cache likes it.
        ignore_eos: Go on after the natural end. For experiments: acceptance after it means nothing.
        route: Which of the two OpenAI routes.
    """

    text_class: TextClass
    concurrency: int
    prompt_tokens: int
    output_tokens: int
    seed: int = 1
    run: str = ""
    per_stream: int = 2
    time_budget_s: float = 120.0
    request_timeout_s: float = 120.0
    max_repeats: int = 30
    fresh: bool = True
    ignore_eos: bool = False
    route: Route = "chat"

    def __post_init__(self) -> None:
        counts = (self.concurrency, self.prompt_tokens, self.output_tokens, self.per_stream, self.max_repeats)
        if min(counts) < 1 or min(self.time_budget_s, self.request_timeout_s) <= 0:
            raise ValueError(f"a load has positive counts and times only: {self}")

    @property
    def requests(self) -> int:
        """Requests of one repeat."""
        return self.concurrency * self.per_stream
