"""The OpenAI routes: JSON and server-sent events in SGLang's shapes.

Law: no sockets; streams are iterators of payloads, which `server` frames.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from . import meta_info, reasoning, scores_shown, tokens
from .openai_requests import Request
from .scheduler import Job, Scheduler, Step
from .sequence import Score


def _usage(request: Request, scheduler: Scheduler, produced: int) -> dict[str, Any]:
    prompts = {job.sequence.prompt: job.sequence for job in request.jobs}
    prompt = sum(map(len, prompts))
    reused = max(sum(sequence.reused for sequence in prompts.values()), int(scheduler.cached_claim * prompt))
    reported = scheduler.fields["enable_cache_report"]
    return {
        "prompt_tokens": prompt,
        "total_tokens": prompt + produced,
        "completion_tokens": produced,
        "prompt_tokens_details": {"cached_tokens": reused} if reported else None,
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


def _logprobs(request: Request, scores: Sequence[Score]) -> dict[str, Any] | None:
    if not request.scores:
        return None
    return scores_shown.chat(scores) if request.chat else scores_shown.completion(scores)


def _steps(request: Request, job: Job) -> Iterator[tuple[Step, str]]:
    """Steps with their text, ended early where a stop sequence is met."""
    told = ""
    for step in job.steps():
        text = tokens.decode(step.tokens)
        ends = [at for stop in request.stop if (at := (told + text).find(stop)) >= 0]
        if ends:
            yield Step(step.tokens, "stop"), (told + text)[len(told) : min(ends)]
            return
        told += text
        yield step, text


def _at_a_time(steps: Iterator[tuple[Step, str]], tokens_a_chunk: int) -> Iterator[tuple[Step, str]]:
    """As many tokens at a time as `--stream-interval` says; those of the first step at once."""
    held: tuple[int, ...] = ()
    text, begun = "", False
    for step, more in steps:
        held, text = held + step.tokens, text + more
        if not begun or step.finish or len(held) >= tokens_a_chunk:
            yield Step(held, step.finish), text
            held, text, begun = (), "", True


def terse(payloads: Iterator[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """A stream as other engines send it: without an empty chunk for the role, and with usage on the chunk that ends it."""
    last: dict[str, Any] | None = None
    for payload in payloads:
        choice = payload["choices"][0] if payload["choices"] else {}
        if "role" in choice.get("delta", {}):
            continue
        if last is not None and payload.get("usage"):
            last |= {"usage": payload["usage"]}
        elif choice.get("finish_reason"):
            last = payload
        else:
            yield payload
    if last is not None:
        yield last


def _details(request: Request, scheduler: Scheduler) -> dict[str, Any]:
    """SGLang's own part of the answer, where it was asked for."""
    if "spec_tokens_details" not in request.details:
        return {}
    each = [meta_info.speculation(job, scheduler) for job in request.jobs]
    return {"sglext": {"spec_tokens_details": each if len(each) > 1 else each[0]}}


def complete(request: Request, scheduler: Scheduler) -> dict[str, Any]:
    """The whole answer as one body."""
    choices, produced = [], 0
    for index, job in enumerate(request.jobs):
        said: list[int] = []
        text, finish = tokens.decode(job.sequence.prompt) if request.echo else "", None
        for step, more in _steps(request, job):
            said += step.tokens
            text, finish = text + more, step.finish
        produced += len(said)
        scores = [
            *(job.sequence.prompt_scores if request.echo else ()),
            *job.sequence.said_scores[: len(said)],
        ]
        thought, answer = _parting(request)(text)
        content: dict[str, Any] = (
            {"message": {"role": "assistant", "content": answer, "reasoning_content": thought or None}}
            if request.chat
            else {"text": text}
        )
        choice = {
            "index": index,
            **content,
            "logprobs": _logprobs(request, scores),
            "finish_reason": finish,
            "matched_stop": _matched(finish),
        }
        if request.token_ids:
            choice |= {"token_ids": said, "prompt_token_ids": list(job.sequence.prompt)}
        if "meta_info" in request.details:
            choice |= {"meta_info": meta_info.of(job, scheduler)}
        choices.append(choice)
    weights = {"version": "default", "start": 0, "end": produced}
    return (
        _head(request, chunk=False)
        | {
            "choices": choices,
            "usage": _usage(request, scheduler, produced),
            "metadata": {"weight_version": "default", "weight_versions": [weights]},
        }
        | _details(request, scheduler)
    )


def stream(request: Request, scheduler: Scheduler) -> Iterator[dict[str, Any]]:
    """The answer as chunks of several tokens; the last one with usage when it was asked for."""
    head, produced = _head(request, chunk=True), 0
    for index, job in enumerate(request.jobs):
        if request.chat:
            role = {"delta": {"reasoning_content": None, "role": "assistant", "content": ""}}
            yield head | _chunk(request, index, role)
        said, part = 0, _parting(request)
        for step, text in _at_a_time(_steps(request, job), scheduler.fields["stream_interval"]):
            content: dict[str, Any] = {"delta": _delta(*part(text))} if request.chat else {"text": text}
            ids: dict[str, Any] = {"token_ids": list(step.tokens)} if request.token_ids else {}
            if ids and not said:
                ids["prompt_token_ids"] = list(job.sequence.prompt)
            scores = job.sequence.said_scores[said : said + len(step.tokens)]
            said += len(step.tokens)
            # Completions carry text on the finish chunk; chats end with an empty delta of their own.
            finish = None if request.chat else step.finish
            yield head | _chunk(
                request, index, content, finish, ids | {"logprobs": _logprobs(request, scores)}
            )
            if request.chat and step.finish:
                yield head | _chunk(request, index, {"delta": {"reasoning_content": None}}, step.finish)
        produced += said
    if details := _details(request, scheduler):
        yield head | {"choices": []} | details
    if request.usage:
        yield head | {"choices": [], "usage": _usage(request, scheduler, produced)}


def _parting(request: Request) -> Callable[[str], tuple[str, str]]:
    return reasoning.parser(asked=request.thinks)


def _delta(thought: str, answer: str) -> dict[str, Any]:
    """A piece of an answer: what is thought has a field of its own, and the other one is null meanwhile."""
    return {"reasoning_content": thought or None, "content": None if thought and not answer else answer}


def _chunk(
    request: Request,
    index: int,
    content: Mapping[str, Any],
    finish: str | None = None,
    more: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    choice = {
        "index": index,
        **content,
        "logprobs": None,
        "finish_reason": finish,
        "matched_stop": _matched(finish),
    }
    return {"choices": [choice | dict(more or {})]} | ({} if request.chat else {"usage": None})
