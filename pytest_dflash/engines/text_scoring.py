"""An engine of which only the OpenAI route is known: text in, text out, nothing else.

Law: bodies out, values in. What this weakens is said by whoever judges: a text may be cut into other tokens when it
comes back, and nobody tells how near two of them were.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pytest_dflash.engines import shared_routes
from pytest_dflash.engines.scoring import Ask, Bounds, Drafting, Order, Scored, Spoken
from pytest_dflash.facts.reading import Reading, Silent
from pytest_dflash.findings import Json


class TextScoring:
    """`/v1/completions`."""

    speculative_flags: tuple[str, ...] = ()

    def withheld(self, version: str | None, settings: Mapping[str, Json]) -> str:  # noqa: ARG002 - the seam's
        """Always."""
        return "of this engine no way is known to ask for the logprobs of given tokens"

    def tokenise(self, text: str, model: str) -> Ask | None:  # noqa: ARG002 - the seam's
        """No way."""
        return None

    def ids(self, document: Json) -> Reading[tuple[int, ...]]:  # noqa: ARG002 - the seam's
        """Never."""
        return Silent("of this engine no way is known to ask for token ids")

    def generate(self, order: Order, model: str) -> Ask:
        """POST /v1/completions."""
        return shared_routes.completion(order, model)

    def spoken(self, document: Json) -> Reading[Spoken]:
        """The first choice, and usage."""
        return shared_routes.spoken(document)

    def score(self, tokens: Sequence[int], start: int, model: str, *, afresh: bool = False) -> Ask | None:  # noqa: ARG002 - the seam's
        """No way."""
        return None

    def scored(self, document: Json, start: int, length: int) -> Reading[tuple[Scored, ...]]:  # noqa: ARG002 - the seam's
        """Never."""
        return Silent("this engine was not asked for logprobs")

    def bounds(self, settings: Mapping[str, Json]) -> Bounds:  # noqa: ARG002 - the seam's
        """Unknown."""
        return Bounds()

    def counters_path(self) -> str:
        """None."""
        return ""

    def counters(self, text: str) -> Reading[Drafting]:  # noqa: ARG002 - the seam's
        """Never."""
        return Silent("of this engine no counters of speculation are known")
