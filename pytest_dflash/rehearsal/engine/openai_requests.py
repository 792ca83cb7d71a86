"""Requests of the OpenAI routes: what both have in common, and the running jobs behind them.

Law: JSON in, values out. The model name of a request is echoed and not checked, as SGLang does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from . import reasoning, wishes_read
from .refusal import Refused
from .scheduler import Job, Scheduler
from .sequence import Wishes


@dataclass(frozen=True, slots=True)
class Request:
    """What the two routes have in common.

    Attributes:
        jobs: One for each choice.
        scores: Whether log probabilities are to be told.
        echo: The prompt is repeated in the text.
        usage: A stream ends with the usage.
        thinks: The answer may begin with thoughts.
        details: What SGLang tells on top when asked: "meta_info", "spec_tokens_details".
    """

    chat: bool
    model: str
    jobs: tuple[Job, ...]
    stream: bool
    usage: bool
    token_ids: bool
    scores: bool
    echo: bool
    thinks: bool = False
    details: frozenset[str] = frozenset()
    stop: tuple[str, ...] = ()


def read(body: Any, scheduler: Scheduler, *, chat: bool) -> Request:
    """The request in `body`, running.

    Raises:
        Refused: With the sentence of the engine.
    """
    required = "messages" if chat else "prompt"
    if not isinstance(body, Mapping) or required not in body:
        raise Refused(f"1 validation error:\n  {{'type': 'missing', 'loc': ('body', '{required}'), "
                      "'msg': 'Field required'}", kind="Bad Request")  # fmt: skip
    thinks = chat and scheduler.fields["reasoning_parser"] is not None and not reasoning.declined(body)
    prompts = _prompts(
        body, chat=chat, opened="" if thinks or not scheduler.thought else reasoning.NO_THOUGHT
    )
    wishes = [_wishes(body, prompt, scheduler, chat=chat) for prompt in prompts]
    if body.get("return_meta_info") and body.get("stream"):
        raise Refused("return_meta_info is not supported with stream.")
    options, stop = body.get("stream_options") or {}, body.get("stop") or ()
    jobs = [
        scheduler.submit(prompt, wish, paced=bool(body.get("stream")))
        for prompt, wish in zip(prompts, wishes, strict=True)
        for _ in range(int(body.get("n") or 1))
    ]
    return Request(
        chat=chat,
        model=body.get("model") or scheduler.fields["served_model_name"],
        jobs=tuple(jobs),
        stream=bool(body.get("stream")),
        usage=bool(options.get("include_usage")),
        token_ids=bool(body.get("return_token_ids")),
        scores=wishes[0].scores,
        echo=bool(body.get("echo")) and not chat,
        thinks=thinks,
        details=frozenset(
            name for name in ("meta_info", "spec_tokens_details") if body.get(f"return_{name}")
        ),
        stop=(stop,) if isinstance(stop, str) else tuple(stop),
    )


def _prompts(body: Mapping[str, Any], *, chat: bool, opened: str) -> list[list[int]]:
    if chat:
        said = "\n".join(f"<|{turn['role']}|>{_text(turn.get('content'))}" for turn in body["messages"])
        return [wishes_read.ids(said + "\n<|assistant|>" + opened)]
    prompt = body["prompt"]
    several = isinstance(prompt, list) and bool(prompt) and not isinstance(prompt[0], int)
    return [wishes_read.ids(each) for each in (prompt if several else [prompt])]


def _text(content: Any) -> str:
    """A message's content: text, or a list of parts of which the text counts."""
    if isinstance(content, list):
        return "".join(str(part.get("text", "")) for part in content)
    return str(content or "")


def _wishes(body: Mapping[str, Any], prompt: list[int], scheduler: Scheduler, *, chat: bool) -> Wishes:
    temperature = wishes_read.temperature(body)
    limit = int(body.get("max_completion_tokens") or body.get("max_tokens") or (256 if chat else 16))
    wishes_read.fits(prompt, limit, scheduler.fields["context_length"])
    asked = body.get("logprobs")
    scores = bool(asked) if chat else asked is not None
    return Wishes(
        limit,
        temperature,
        wishes_read.seed(body.get("seed")),
        bool(body.get("ignore_eos")),
        scored_from=0 if scores and body.get("echo") and not chat else None,
        scores=scores,
        top=int(body.get("top_logprobs") or 0) if chat else int(asked or 0),
        schema=wishes_read.response_format(body),
    )
