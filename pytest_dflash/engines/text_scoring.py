"""An engine of which only the OpenAI route is known: text in, text out, nothing else.

Law: bodies out, values in. What this weakens is said by whoever judges: a text may be cut into other tokens when it
comes back, and nobody tells how near two of them were.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pytest_dflash.engines.scoring import Ask, Bounds, Drafting, Order, Scored, Spoken
from pytest_dflash.engines.shapes import count, listed, table
from pytest_dflash.facts.reading import Reading, Silent, Value
from pytest_dflash.findings import Json

COMPLETIONS = "/v1/completions"


class TextScoring:
    """`/v1/completions`."""

    speculative_flags: tuple[str, ...] = ()
    repeated_prompt_last = ""

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
        prompt: Json = order.prompt if isinstance(order.prompt, str) else list(order.prompt)
        body: dict[str, Json] = {
            "model": model, "prompt": prompt, "max_tokens": order.max_tokens, "temperature": order.temperature,
            "ignore_eos": order.to_the_limit,
        }  # fmt: skip
        if order.seed is not None:
            body["seed"] = order.seed
        if order.schema is not None:
            form: dict[str, Json] = {"name": "answer", "schema": order.schema}
            body["response_format"] = {"type": "json_schema", "json_schema": form}
        return Ask(COMPLETIONS, body)

    def spoken(self, document: Json) -> Reading[Spoken]:
        """The first choice, and usage."""
        where = f"POST {COMPLETIONS}"
        choices = listed(table(document).get("choices"))
        if not choices:
            return Silent("the answer has no choices", where)
        choice, usage = table(choices[0]), table(table(document).get("usage"))
        return Value(
            Spoken(
                tokens=None,
                text=str(choice.get("text") or ""),
                finish=str(choice.get("finish_reason") or ""),
                prompt_tokens=count(usage.get("prompt_tokens")),
                completion_tokens=count(usage.get("completion_tokens")),
                cached_tokens=count(table(usage.get("prompt_tokens_details")).get("cached_tokens")),
            ),
            where,
        )

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
