"""llama.cpp's `/completion`: token ids in and out, and the counters of speculation.

Law: bodies out, values in. It scores no tokens that are handed to it: what the target would have said is asked by
prefills of one token.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pytest_dflash.engines import shared_routes
from pytest_dflash.engines.llamacpp import counters
from pytest_dflash.engines.llamacpp.info import SLOT_CONTEXT
from pytest_dflash.engines.metrics import METRICS
from pytest_dflash.engines.scoring import Ask, Bounds, Drafting, Order, Scored, Spoken
from pytest_dflash.engines.shapes import count, counts, table, text
from pytest_dflash.facts.reading import Reading, Silent, Value
from pytest_dflash.findings import Json

COMPLETION = "/completion"
NEUTRAL: Mapping[str, Json] = {
    "top_k": 0, "top_p": 1.0, "min_p": 0.0, "typical_p": 1.0, "top_n_sigma": -1.0, "xtc_probability": 0.0,
    "repeat_penalty": 1.0, "presence_penalty": 0.0, "frequency_penalty": 0.0, "dry_multiplier": 0.0, "mirostat": 0,
}  # fmt: skip
"""Said each time: the server's defaults sample from 40 tokens at 0.8."""
UNSCORED = (
    "llama.cpp tells the logprobs of tokens that it generates, and none of tokens that are handed to it"
)
FINISHED = {"limit": "length", "eos": "stop", "word": "stop"}


class LlamaCppScoring:
    """`/completion` and `/tokenize`."""

    speculative_flags: tuple[str, ...] = ("spec-",)

    def withheld(self, version: str | None, settings: Mapping[str, Json]) -> str:  # noqa: ARG002 - the seam's
        """Always."""
        return UNSCORED

    def tokenise(self, text: str, model: str) -> Ask | None:  # noqa: ARG002 - one server, one model
        """POST /tokenize."""
        return Ask("/tokenize", {"content": text, "add_special": False})

    def ids(self, document: Json) -> Reading[tuple[int, ...]]:
        """`tokens`."""
        return shared_routes.token_ids(document)

    def generate(self, order: Order, model: str) -> Ask:  # noqa: ARG002 - as above
        """POST /completion. A prefill of one token takes nothing from a slot whose cache an answer was drafted into."""
        body: dict[str, Json] = {
            **NEUTRAL,
            "prompt": order.prompt if isinstance(order.prompt, str) else list(order.prompt),
            "n_predict": order.max_tokens,
            "temperature": order.temperature,
            "ignore_eos": order.to_the_limit,
            "return_tokens": True,
            "cache_prompt": order.max_tokens > 1,
        }
        if order.seed is not None:
            body["seed"] = order.seed
        if order.schema is not None:
            body["json_schema"] = order.schema
        return Ask(COMPLETION, body)

    def spoken(self, document: Json) -> Reading[Spoken]:
        """`content` and `tokens`. Verify steps are told by /metrics, with their depths."""
        answer, where = table(document), f"POST {COMPLETION}"
        if not isinstance(answer.get("content"), str):
            return Silent("the answer has no content", where)
        stopped = str(answer.get("stop_type") or "")
        return Value(
            Spoken(
                tokens=counts(answer.get("tokens")) or None,
                text=answer["content"],
                finish=FINISHED.get(stopped, stopped),
                ended_by=text(answer.get("stopping_word")),
                prompt_tokens=count(answer.get("tokens_evaluated")),
                completion_tokens=count(answer.get("tokens_predicted")),
                cached_tokens=count(table(answer.get("timings")).get("cache_n")),
            ),
            where,
        )

    def score(self, tokens: Sequence[int], start: int, model: str, *, afresh: bool = False) -> Ask | None:  # noqa: ARG002 - the seam's
        """No way."""
        return None

    def scored(self, document: Json, start: int, length: int) -> Reading[tuple[Scored, ...]]:  # noqa: ARG002 - the seam's
        """Never."""
        return Silent(UNSCORED)

    def bounds(self, settings: Mapping[str, Json]) -> Bounds:
        """The context of one slot, and the physical batch."""
        return Bounds(context=count(settings.get(SLOT_CONTEXT)), chunk=count(settings.get("ubatch-size")))

    def counters_path(self) -> str:
        """/metrics."""
        return METRICS

    def counters(self, text: str) -> Reading[Drafting]:
        """Drafts, accepted tokens and their depths."""
        return counters.drafting(text)
