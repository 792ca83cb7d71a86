"""vLLM's `/v1/completions` with token ids: ids in and out, `prompt_logprobs`, and the counters of speculation.

Law: bodies out, values in. Shapes seen on 0.32.0; `return_token_ids` exists from 0.10.2 on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pytest_dflash.engines import shared_routes
from pytest_dflash.engines.metrics import METRICS
from pytest_dflash.engines.scoring import TOP, Ask, Bounds, Drafting, Order, Scored, Spoken
from pytest_dflash.engines.shapes import count, listed, number, table
from pytest_dflash.engines.shared_routes import COMPLETIONS
from pytest_dflash.engines.vllm import counters
from pytest_dflash.facts.digits import whole
from pytest_dflash.facts.reading import Reading, Silent, Value
from pytest_dflash.findings import Json

NEUTRAL: Mapping[str, Json] = {
    "top_p": 1.0,
    "top_k": -1,
    "repetition_penalty": 1.0,
    "frequency_penalty": 0.0,
    "presence_penalty": 0.0,
}
"""Said each time: the server takes defaults of its own from the model's generation_config.json. min_p is left out,
which 0.32 refuses beside speculation."""


class VLLMScoring:
    """`/v1/completions` and `/tokenize`."""

    speculative_flags: tuple[str, ...] = ("speculative-config",)

    def withheld(self, version: str | None, settings: Mapping[str, Json]) -> str:  # noqa: ARG002 - the seam's
        """Never: prompt logprobs come from a prefill, which does not speculate."""
        return ""

    def tokenise(self, text: str, model: str) -> Ask | None:
        """POST /tokenize."""
        return Ask("/tokenize", {"model": model, "prompt": text})

    def ids(self, document: Json) -> Reading[tuple[int, ...]]:
        """`tokens`."""
        return shared_routes.token_ids(document)

    def generate(self, order: Order, model: str) -> Ask:
        """POST /v1/completions."""
        apart: dict[str, Json] = {"cache_salt": order.apart} if order.apart else {}
        return shared_routes.completion(order, model, **NEUTRAL, **apart, return_token_ids=True)

    def spoken(self, document: Json) -> Reading[Spoken]:
        """The first choice, and usage. Verify steps are told by /metrics only."""
        return shared_routes.spoken(document)

    def score(self, tokens: Sequence[int], start: int, model: str, *, afresh: bool = False) -> Ask | None:  # noqa: ARG002 - prompt_logprobs never read the prefix cache, and cover the whole prompt
        """POST /v1/completions with `prompt_logprobs`."""
        return Ask(
            COMPLETIONS,
            {
                "model": model,
                "prompt": list(tokens),
                "max_tokens": 1,
                "temperature": 0,
                "prompt_logprobs": TOP,
            },
        )

    def scored(self, document: Json, start: int, length: int) -> Reading[tuple[Scored, ...]]:
        """`prompt_logprobs`: by position, id to logprob and rank; the token itself comes first."""
        where = f"POST {COMPLETIONS}, prompt_logprobs"
        choices = listed(table(document).get("choices"))
        told = listed(table(choices[0]).get("prompt_logprobs")) if choices else []
        if len(told) < length:
            return Silent("the answer has no logprobs for all of its prompt", where)
        found = []
        for position in told[start:length]:
            pairs = [pair for name, entry in table(position).items() if (pair := _pair(name, entry))]
            if not pairs:
                return Silent("a position of the prompt has no logprob", where)
            own = pairs[0]
            found.append(Scored(*own, tuple(sorted(pairs, key=lambda each: -each[1]))))
        return Value(tuple(found), where)

    def bounds(self, settings: Mapping[str, Json]) -> Bounds:
        """Context, block of the cache, and prefill chunk."""
        return Bounds(
            context=count(settings.get("max-model-len")),
            page=count(settings.get("block-size")),
            chunk=count(settings.get("max-num-batched-tokens")),
        )

    def counters_path(self) -> str:
        """/metrics."""
        return METRICS

    def counters(self, text: str) -> Reading[Drafting]:
        """Drafts and accepted tokens; a step generates what it accepted and the bonus token."""
        found = counters.drafts(text)
        if not isinstance(found, Value):
            return found
        drafts = found.value
        return Value(Drafting(drafts.steps + drafts.accepted, drafts.steps, drafts.per_position), found.where)


def _pair(name: object, entry: object) -> tuple[int, float] | None:
    logprob = number(table(entry).get("logprob"))
    token = whole(name) if isinstance(name, str) else None
    return (token, logprob) if token is not None and logprob is not None else None
