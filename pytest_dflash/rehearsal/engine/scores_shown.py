"""Log probabilities in the three shapes in which SGLang tells them.

Law: values in, JSON out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from . import tokens
from .sequence import Score


def triples(scores: Sequence[Score], *, text: bool) -> list[list[Any]]:
    """`/generate`: [log probability or null, id, text or null] for each token."""
    return [[each.logprob, each.token, _text(each.token, text)] for each in scores]


def triples_beside(scores: Sequence[Score], which: str, *, text: bool) -> list[list[list[Any]] | None]:
    """`/generate`: for each place the triples of its `top` or `also`; null where nothing stands before it."""
    return [
        None if each.logprob is None else [[value, token, _text(token, text)] for token, value in getattr(each, which)]
        for each in scores
    ]  # fmt: skip


def _text(token: int, wanted: bool) -> str | None:  # noqa: FBT001 - private
    return tokens.decode([token]) if wanted else None


def completion(scores: Sequence[Score]) -> dict[str, Any]:
    """`/v1/completions`."""
    return {
        "text_offset": [-1] * len(scores),
        "token_logprobs": [each.logprob for each in scores],
        "tokens": [tokens.decode([each.token]) for each in scores],
        "top_logprobs": [
            None if each.logprob is None else {tokens.decode([token]): value for token, value in each.top}
            for each in scores
        ],
    }


def chat(scores: Sequence[Score]) -> dict[str, Any]:
    """`/v1/chat/completions`."""

    def shown(token: int, value: float | None) -> dict[str, Any]:
        return {"token": tokens.decode([token]), "bytes": list(tokens.to_byte(token)), "logprob": value}

    return {
        "content": [
            shown(each.token, each.logprob) | {"top_logprobs": [shown(*pair) for pair in each.top]}
            for each in scores
        ]
    }
