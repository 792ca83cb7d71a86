"""`/generate`, SGLang's own way to ask: one prompt or several, whole or streamed, with scores where wanted.

Law: bodies in, bodies out; no sockets.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from . import meta_info, tokens, wishes_read
from .refusal import Refused
from .scheduler import Job, Scheduler
from .sequence import Wishes


def submit(body: Any, scheduler: Scheduler) -> tuple[list[Job], bool]:
    """The requests of a body, running, and whether they are several.

    Raises:
        Refused: Without a prompt, or for one that is too long.
    """
    if not isinstance(body, Mapping) or ("text" not in body and "input_ids" not in body):
        raise Refused("Either text, input_ids or input_embeds should be provided.")
    said = body["input_ids"] if body.get("input_ids") is not None else body["text"]
    several = isinstance(said, list) and bool(said) and not isinstance(said[0], int)
    prompts = [wishes_read.ids(each) for each in (said if several else [said])]
    asked = [_wishes(_at(body, index), prompt, scheduler) for index, prompt in enumerate(prompts)]
    return [scheduler.submit(*each) for each in zip(prompts, asked, strict=True)], several


def _at(body: Mapping[str, Any], index: int) -> dict[str, Any]:
    """The body for one prompt: what is given as a list is given for each."""
    lists = ("sampling_params", "return_logprob", "logprob_start_len", "top_logprobs_num", "extra_key")
    one = {
        name: value[index] if name in lists and isinstance(value, list) else value
        for name, value in body.items()
    }
    also = one.get("token_ids_logprob")
    if also and isinstance(also[0], list):
        one["token_ids_logprob"] = also[index]
    return one


def _wishes(body: Mapping[str, Any], prompt: list[int], scheduler: Scheduler) -> Wishes:
    sampling = body.get("sampling_params") or {}
    asked = sampling.get("max_new_tokens")
    limit = 128 if asked is None else int(asked)
    wishes_read.fits(prompt, limit, scheduler.fields["context_length"])
    scores = bool(body.get("return_logprob"))
    start = body.get("logprob_start_len")
    start = -1 if start is None else int(start)
    if scores and start > len(prompt):
        raise Refused(f"logprob_start_len ({start}) is higher than the number of input tokens {len(prompt)}.")
    return Wishes(
        limit,
        wishes_read.temperature(sampling),
        wishes_read.seed(sampling.get("sampling_seed")),
        bool(sampling.get("ignore_eos")),
        start if scores and start >= 0 else None,
        scores,
        int(body.get("top_logprobs_num") or 0),
        tuple(map(int, body.get("token_ids_logprob") or ())),
        wishes_read.schema(sampling.get("json_schema")),
        str(body.get("extra_key") or ""),
    )


def _told(job: Job, scheduler: Scheduler, body: Mapping[str, Any]) -> dict[str, Any]:
    said = list(job.sequence.told)
    return {
        "text": tokens.decode(said),
        "output_ids": said,
        "meta_info": meta_info.of(job, scheduler, text=bool(body.get("return_text_in_logprobs"))),
    }


def complete(body: Any, scheduler: Scheduler) -> Any:
    """The whole answer: an object, or a list of them for several prompts."""
    jobs, several = submit(body, scheduler)
    for job in jobs:
        for _ in job.steps():
            pass
    told = [_told(job, scheduler, body) for job in jobs]
    return told if several else told[0]


def stream(body: Any, scheduler: Scheduler) -> Iterator[dict[str, Any]]:
    """The answer as it grows: each event tells all that was said so far."""
    jobs, several = submit(body, scheduler)
    return _events(jobs, scheduler, body, several=several)


def _events(
    jobs: list[Job], scheduler: Scheduler, body: Mapping[str, Any], *, several: bool
) -> Iterator[dict[str, Any]]:
    for index, job in enumerate(jobs):
        said: list[int] = []
        for step in job.steps():
            said += step.tokens
            told = _told(job, scheduler, body) | {"text": tokens.decode(said), "output_ids": list(said)}
            # The engine's thread may be ahead of this one: what is told is this step, not the latest.
            told["meta_info"] |= {
                "completion_tokens": len(said),
                "finish_reason": meta_info.finish_reason(step.finish, len(said)),
            }
            yield told | ({"index": index} if several else {})
