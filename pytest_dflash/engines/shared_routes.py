"""Routes that several engines have: OpenAI's `/v1/completions`, and `/tokenize`.

Law: bodies out, values in.
"""

from __future__ import annotations

from pytest_dflash.engines.scoring import Ask, Order, Spoken
from pytest_dflash.engines.shapes import count, count_or_text, counts, listed, table
from pytest_dflash.facts.reading import Reading, Silent, Value
from pytest_dflash.findings import Json

COMPLETIONS = "/v1/completions"


def completion(order: Order, model: str, **more: Json) -> Ask:
    """Asks for tokens; `more` is what an engine takes besides."""
    body: dict[str, Json] = {
        **more,
        "model": model,
        "prompt": order.prompt if isinstance(order.prompt, str) else list(order.prompt),
        "max_tokens": order.max_tokens,
        "temperature": order.temperature,
        "ignore_eos": order.to_the_limit,
    }
    if order.seed is not None:
        body["seed"] = order.seed
    if order.schema is not None:
        form: dict[str, Json] = {"name": "answer", "schema": order.schema, "strict": True}
        body["response_format"] = {"type": "json_schema", "json_schema": form}
    return Ask(COMPLETIONS, body)


def spoken(document: Json) -> Reading[Spoken]:
    """The first choice, and usage. `token_ids` are there where they were asked for; verify steps never are."""
    where = f"POST {COMPLETIONS}"
    choices = listed(table(document).get("choices"))
    if not choices:
        return Silent("the answer has no choices", where)
    choice, usage = table(choices[0]), table(table(document).get("usage"))
    return Value(
        Spoken(
            tokens=counts(choice.get("token_ids")),
            text=str(choice.get("text") or ""),
            finish=str(choice.get("finish_reason") or ""),
            # The model's own end token vLLM sends and does not name: only other ones, and texts, are told here.
            ended_by=count_or_text(choice.get("stop_reason")),
            prompt_tokens=count(usage.get("prompt_tokens")),
            completion_tokens=count(usage.get("completion_tokens")),
            cached_tokens=count(table(usage.get("prompt_tokens_details")).get("cached_tokens")),
        ),
        where,
    )


def token_ids(document: Json) -> Reading[tuple[int, ...]]:
    """The `tokens` that POST /tokenize answered."""
    found = counts(table(document).get("tokens"))
    return Value(found, "POST /tokenize") if found else Silent("it told no tokens", "POST /tokenize")
