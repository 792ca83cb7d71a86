"""A client's words as wishes: limits, temperatures, grammars, and the engine's refusals of what cannot be.

Law: JSON in, values out; no scheduling.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from . import grammar, tokens
from .refusal import Refused


def temperature(body: Mapping[str, Any]) -> float:
    """The temperature, 1.0 by default.

    Raises:
        Refused: For a negative or infinite one.
    """
    asked = body.get("temperature")
    value = 1.0 if asked is None else float(asked)
    if not (math.isfinite(value) and value >= 0):
        raise Refused(f"temperature must be a non-negative finite number, got {value}.")
    return value


def seed(asked: Any) -> int | None:
    """The seed of the draws; None for fresh ones."""
    return None if asked is None else int(asked)


def schema(asked: Any) -> grammar.State | None:
    """The machine of a JSON schema, as text or as an object.

    Raises:
        Refused: For one that cannot be obeyed.
    """
    if not asked:
        return None
    try:
        return grammar.machine(json.loads(asked) if isinstance(asked, str) else asked)
    except (ValueError, TypeError, AttributeError) as error:
        raise Refused(f"Failed to compile json_schema grammar: {error}") from None


def response_format(body: Mapping[str, Any]) -> grammar.State | None:
    """The machine of OpenAI's `response_format`."""
    asked = body.get("response_format") or {}
    match asked.get("type"):
        case "json_schema":
            return schema((asked.get("json_schema") or {}).get("schema"))
        case "json_object":
            return schema({"type": "object"})
    return None


def fits(prompt: Sequence[int], limit: int, context: int) -> None:
    """Refuses what is longer than the context.

    Raises:
        Refused: With the engine's sentence.
    """
    total = len(prompt) + limit
    if total > context:
        raise Refused(
            f"Requested token count exceeds the model's maximum context length of {context} tokens. You requested "
            f"a total of {total} tokens: {len(prompt)} tokens from the input messages and {limit} tokens "
            "for the completion. Please reduce the number of tokens in the input messages or the completion to fit "
            "within the limit."
        )


def ids(prompt: Any) -> list[int]:
    """The tokens of a prompt, which is text or tokens.

    Raises:
        Refused: For an empty one, or ids that are none.
    """
    known = tokens.encode(prompt) if isinstance(prompt, str) else list(prompt)
    if not known:
        raise Refused("The prompt is empty.")
    if not all(isinstance(each, int) and 0 <= each < tokens.SIZE for each in known):
        raise Refused(f"The input_ids contain values outside the vocabulary (0 <= id < {tokens.SIZE}).")
    return known
