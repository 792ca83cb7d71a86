"""SGLang's `/generate`: token ids in and out, input logprobs, and the account of each request's verify steps.

Law: bodies out, values in. Field names are those of 0.5.5 to 0.5.23; several spellings are tried, the newest first.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from packaging.version import Version

from pytest_dflash.engines import shared_routes
from pytest_dflash.engines.metrics import METRICS, missing, samples, total
from pytest_dflash.engines.scoring import TOP, Ask, Bounds, Drafting, Order, Scored, Spoken
from pytest_dflash.engines.sglang import flags
from pytest_dflash.engines.shapes import count, count_or_text, counts, listed, number, table
from pytest_dflash.facts.reading import Reading, Silent, Value
from pytest_dflash.findings import Json

LOGPROBS_WITH_DFLASH = Version("0.5.18")
"""Older ones refuse any request with logprobs as soon as DFLASH drafts. Source: sglang#33459."""
NEUTRAL: Mapping[str, Json] = {
    "top_p": 1.0,
    "top_k": -1,
    "min_p": 0.0,
    "repetition_penalty": 1.0,
    "frequency_penalty": 0.0,
    "presence_penalty": 0.0,
}
"""Said each time: servers take defaults of their own from the model's generation_config.json."""
HISTOGRAMS = ("spec_correct_drafts_histogram", "spec_accept_histogram")


class SGLangScoring:
    """`/generate` and `/tokenize`."""

    speculative_flags: tuple[str, ...] = ("speculative-",)

    def withheld(self, version: str | None, settings: Mapping[str, Json]) -> str:
        """Old versions answer every request with logprobs with an error while DFLASH drafts."""
        known, algorithm = flags.parsed(version), str(settings.get("speculative-algorithm") or "").upper()
        if algorithm == "DFLASH" and known is not None and known < LOGPROBS_WITH_DFLASH:
            return f"SGLang {known} refuses logprobs with DFLASH (allowed from {LOGPROBS_WITH_DFLASH})"
        return ""

    def tokenise(self, text: str, model: str) -> Ask | None:
        """POST /tokenize."""
        return Ask("/tokenize", {"model": model, "prompt": text})

    def ids(self, document: Json) -> Reading[tuple[int, ...]]:
        """`tokens`."""
        return shared_routes.token_ids(document)

    def generate(self, order: Order, model: str) -> Ask:  # noqa: ARG002 - one server, one model
        """POST /generate. `sampling_seed` counts only where the server samples deterministically."""
        sampling: dict[str, Json] = {
            **NEUTRAL,
            "max_new_tokens": order.max_tokens,
            "temperature": order.temperature,
            "ignore_eos": order.to_the_limit,
        }
        if order.seed is not None:
            sampling["sampling_seed"] = order.seed
        if order.schema is not None:
            sampling["json_schema"] = json.dumps(order.schema)
        prompt: dict[str, Json] = (
            {"text": order.prompt} if isinstance(order.prompt, str) else {"input_ids": list(order.prompt)}
        )
        # Since 0.5.4, and without effect until sglang#23300: whether it had one is told by cached_tokens.
        apart: dict[str, Json] = {"extra_key": order.apart} if order.apart else {}
        return Ask("/generate", {**prompt, **apart, "sampling_params": sampling})

    def spoken(self, document: Json) -> Reading[Spoken]:
        """`output_ids` and `meta_info`."""
        answer, where = table(document), "POST /generate"
        meta = table(answer.get("meta_info"))
        if not meta:
            return Silent("the answer has no meta_info", where)
        finish = meta.get("finish_reason")
        return Value(
            Spoken(
                tokens=counts(answer.get("output_ids")),
                text=str(answer.get("text") or ""),
                finish=str(table(finish).get("type") or finish or ""),
                ended_by=count_or_text(table(finish).get("matched")),
                prompt_tokens=count(meta.get("prompt_tokens")),
                completion_tokens=count(meta.get("completion_tokens")),
                cached_tokens=count(meta.get("cached_tokens")),
                steps=count(meta.get("spec_verify_ct")),
                histogram=next((h for name in HISTOGRAMS if (h := counts(meta.get(name)))), None),
            ),
            where,
        )

    def score(self, tokens: Sequence[int], start: int, model: str, *, afresh: bool = False) -> Ask | None:  # noqa: ARG002 - as above
        """POST /generate with input logprobs. The first position asked for has none, so it is asked one earlier.

        The prefix cache is used up to `logprob_start_len` at most: from 0 on nothing is.
        """
        return Ask(
            "/generate",
            {
                "input_ids": list(tokens),
                "sampling_params": {"max_new_tokens": 1, "temperature": 0},
                "return_logprob": True,
                "logprob_start_len": 0 if afresh else start - 1,
                "top_logprobs_num": TOP,
                "return_text_in_logprobs": False,
            },
        )

    def scored(self, document: Json, start: int, length: int) -> Reading[tuple[Scored, ...]]:
        """`input_token_logprobs` and `input_top_logprobs`, the last ones: those from `start` on."""
        where = "POST /generate, input logprobs"
        meta = table(table(document).get("meta_info"))
        said, tops = meta.get("input_token_logprobs"), meta.get("input_top_logprobs")
        many = length - start
        if not isinstance(said, list) or not isinstance(tops, list) or min(len(said), len(tops)) < many:
            return Silent("the answer has no logprobs for all of its input", where)
        found = []
        for mine, best in zip(said[-many:], tops[-many:], strict=True):
            triples = [pair for each in listed(best) if (pair := _pair(each))]
            own = _pair(mine)
            if own is None or not triples:
                return Silent("a position of the input has no logprob", where)
            found.append(Scored(own[0], own[1], tuple(sorted(triples, key=lambda each: -each[1]))))
        return Value(tuple(found), where)

    def bounds(self, settings: Mapping[str, Json]) -> Bounds:
        """Context, page and prefill chunk."""
        return Bounds(
            context=count(settings.get("context-length")),
            page=count(settings.get("page-size")),
            chunk=count(settings.get("chunked-prefill-size")),
        )

    def counters_path(self) -> str:
        """/metrics, which is there with --enable-metrics only."""
        return METRICS

    def counters(self, text: str) -> Reading[Drafting]:
        """Generated tokens and verify calls (from 0.5.14 on)."""
        told = samples(text, "sglang")
        if gone := missing(told, "sglang", ["spec_verify_calls"]):
            return gone
        if "generation_tokens" not in told:
            return Silent("sglang:generation_tokens is not among the counters", f"GET {METRICS}")
        tokens, steps = total(told["generation_tokens"]), total(told["spec_verify_calls"])
        return Value(Drafting(tokens, steps), f"GET {METRICS}")


def _pair(value: Any) -> tuple[int, float] | None:
    """Token and logprob of `[logprob, token, text]`."""
    triple = listed(value)
    logprob, token = (number(triple[0]), count(triple[1])) if len(triple) > 1 else (None, None)
    return None if logprob is None or token is None else (token, logprob)
