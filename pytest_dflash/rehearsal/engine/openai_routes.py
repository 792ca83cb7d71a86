"""The OpenAI routes: bodies in, JSON and server-sent events out, in SGLang's shapes.

Law: no sockets; streams are iterators of payloads, which `server` frames. The model name of a request is
echoed and not checked, as SGLang does.
"""

from __future__ import annotations

import math
import time
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from .scheduler import Scheduler, Step


class Refused(Exception):  # noqa: N818 - it is an answer to the client, not this program's error
    """A request that is answered with an error body."""

    def __init__(self, message: str, status: int = 400, kind: str = "BadRequestError") -> None:
        super().__init__(message)
        self.status = status
        self.body = {"object": "error", "message": message, "type": kind, "param": None, "code": status}


@dataclass(frozen=True, slots=True)
class Request:
    """What the two routes have in common."""

    chat: bool
    model: str
    prompt: tuple[int, ...]
    limit: int
    stream: bool
    usage: bool
    token_ids: bool
    ignore_eos: bool
    stop: tuple[str, ...] = ()


def read(body: Any, scheduler: Scheduler, *, chat: bool) -> Request:
    """The request in `body`.

    Raises:
        Refused: With the sentence of the engine.
    """
    required = "messages" if chat else "prompt"
    if not isinstance(body, Mapping) or required not in body:
        raise Refused(f"1 validation error:\n  {{'type': 'missing', 'loc': ('body', '{required}'), "
                      "'msg': 'Field required'}", kind="Bad Request")  # fmt: skip
    temperature = body.get("temperature", 1.0)
    if temperature is not None and not (math.isfinite(temperature) and temperature >= 0):
        raise Refused(f"temperature must be a non-negative finite number, got {float(temperature)}.")
    prompt = tuple(_prompt(body, scheduler, chat=chat))
    limit = body.get("max_completion_tokens") or body.get("max_tokens") or (256 if chat else 16)
    context = scheduler.fields["context_length"]
    if len(prompt) + limit > context:
        raise Refused(
            f"Requested token count exceeds the model's maximum context length of {context} tokens. You requested "
            f"a total of {len(prompt) + limit} tokens: {len(prompt)} tokens from the input messages and {limit} tokens "
            "for the completion. Please reduce the number of tokens in the input messages or the completion to fit "
            "within the limit."
        )
    options = body.get("stream_options") or {}
    stop = body.get("stop") or ()
    return Request(
        chat=chat,
        model=body.get("model") or scheduler.fields["served_model_name"],
        prompt=prompt,
        limit=limit,
        stream=bool(body.get("stream")),
        usage=bool(options.get("include_usage")),
        token_ids=bool(body.get("return_token_ids")),
        ignore_eos=bool(body.get("ignore_eos")),
        stop=(stop,) if isinstance(stop, str) else tuple(stop),
    )


def _prompt(body: Mapping[str, Any], scheduler: Scheduler, *, chat: bool) -> list[int]:
    if not chat:
        prompt = body["prompt"]
        return scheduler.model.encode(prompt) if isinstance(prompt, str) else list(prompt)
    said = "\n".join(f"<|{turn['role']}|>{_text(turn.get('content'))}" for turn in body["messages"])
    return scheduler.model.encode(said + "\n<|assistant|>")


def _text(content: Any) -> str:
    """A message's content: text, or a list of parts of which the text counts."""
    if isinstance(content, list):
        return "".join(str(part.get("text", "")) for part in content)
    return str(content or "")


def _usage(request: Request, produced: int) -> dict[str, Any]:
    prompt = len(request.prompt)
    return {
        "prompt_tokens": prompt,
        "total_tokens": prompt + produced,
        "completion_tokens": produced,
        "prompt_tokens_details": None,
        "reasoning_tokens": 0,
        "completion_tokens_details": None,
    }


def _head(request: Request, *, chunk: bool) -> dict[str, Any]:
    kind = "chat.completion" if request.chat else "text_completion"
    return {
        "id": uuid.uuid4().hex,
        "object": kind + (".chunk" if chunk and request.chat else ""),
        "created": int(time.time()),
        "model": request.model,
    }


def _matched(finish: str | None) -> int | None:
    return 2 if finish == "stop" else None


def _steps(request: Request, scheduler: Scheduler) -> Iterator[tuple[Step, str]]:
    """Steps with their text, ended early where a stop sequence is met."""
    told = ""
    for step in scheduler.generate(request.prompt, request.limit, ignore_eos=request.ignore_eos):
        text = scheduler.model.decode(step.tokens)
        ends = [at for stop in request.stop if (at := (told + text).find(stop)) >= 0]
        if ends:
            yield Step(step.tokens, "stop"), (told + text)[len(told) : min(ends)]
            return
        told += text
        yield step, text


def complete(request: Request, scheduler: Scheduler) -> dict[str, Any]:
    """The whole answer as one body."""
    tokens: list[int] = []
    text, finish = "", None
    for step, said in _steps(request, scheduler):
        tokens += step.tokens
        text, finish = text + said, step.finish
    content: dict[str, Any] = (
        {"message": {"role": "assistant", "content": text, "reasoning_content": None}}
        if request.chat
        else {"text": text}
    )
    choice = {
        "index": 0,
        **content,
        "logprobs": None,
        "finish_reason": finish,
        "matched_stop": _matched(finish),
    }
    if request.token_ids:
        choice |= {"token_ids": tokens, "prompt_token_ids": list(request.prompt)}
    weights = {"version": "default", "start": 0, "end": len(tokens)}
    return _head(request, chunk=False) | {
        "choices": [choice],
        "usage": _usage(request, len(tokens)),
        "metadata": {"weight_version": "default", "weight_versions": [weights]},
    }


def stream(request: Request, scheduler: Scheduler) -> Iterator[dict[str, Any]]:
    """The answer as chunks of several tokens; the last one with usage when it was asked for."""
    head, produced, first = _head(request, chunk=True), 0, True
    if request.chat:
        yield head | _chunk(
            request, {"delta": {"reasoning_content": None, "role": "assistant", "content": ""}}
        )
    for step, text in _steps(request, scheduler):
        produced += len(step.tokens)
        content: dict[str, Any] = (
            {"delta": {"reasoning_content": None, "content": text}} if request.chat else {"text": text}
        )
        ids: dict[str, Any] = {"token_ids": list(step.tokens)} if request.token_ids else {}
        if ids and first:
            ids["prompt_token_ids"] = list(request.prompt)
        first = False
        # Completions carry text on the finish chunk; chats end with an empty delta of their own.
        finish = None if request.chat else step.finish
        yield head | _chunk(request, content, finish, ids)
        if request.chat and step.finish:
            yield head | _chunk(request, {"delta": {"reasoning_content": None}}, step.finish)
    if request.usage:
        yield head | {"choices": [], "usage": _usage(request, produced)}


def _chunk(
    request: Request,
    content: Mapping[str, Any],
    finish: str | None = None,
    ids: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    choice = {
        "index": 0,
        **content,
        "logprobs": None,
        "finish_reason": finish,
        "matched_stop": _matched(finish),
    }
    return {"choices": [choice | dict(ids or {})]} | ({} if request.chat else {"usage": None})
