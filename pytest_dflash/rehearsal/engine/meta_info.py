"""What the engine tells of one request beside its text: `meta_info`, and the details of its speculation.

Law: values in, JSON out; the names are 0.5.23's.
"""

from __future__ import annotations

import time
import uuid
from typing import Any

from . import scores_shown
from .scheduler import Job, Scheduler


def finish_reason(finish: str | None, said: int) -> dict[str, Any] | None:
    """Why it ended; None while it has not."""
    if finish is None:
        return None
    return {"type": "length", "length": said} if finish == "length" else {"type": "stop", "matched": 2}


def speculation(job: Job, scheduler: Scheduler) -> dict[str, Any]:
    """How its drafts were accepted; nothing where none was verified."""
    sequence = job.sequence
    if not (steps := sequence.verified):
        return {}
    proposed = steps * scheduler.decoder.shape.budget
    longest = max(sequence.histogram)
    return {
        "spec_accept_rate": sequence.accepted / proposed,
        "spec_accept_length": len(sequence.told) / steps,
        "spec_num_correct_drafts": sequence.accepted,
        "spec_num_proposed_drafts": proposed,
        "spec_verify_ct": steps,
        "spec_correct_drafts_histogram": [sequence.histogram.get(k, 0) for k in range(longest + 1)],
    }


def of(job: Job, scheduler: Scheduler, *, text: bool = False) -> dict[str, Any]:
    """`meta_info`, with the scores that were asked for."""
    sequence, wishes = job.sequence, job.sequence.wishes
    meta: dict[str, Any] = {
        "id": uuid.uuid4().hex,
        "finish_reason": finish_reason(sequence.finish, len(sequence.told)),
        "prompt_tokens": len(sequence.prompt),
        "weight_version": "default",
        "total_retractions": 0,
        "completion_tokens": len(sequence.told),
        "cached_tokens": sequence.reused,
        "e2e_latency": time.monotonic() - job.arrived,
    } | speculation(job, scheduler)
    if wishes.scores:
        for name, scores in (("input", sequence.prompt_scores), ("output", sequence.said_scores)):
            meta[f"{name}_token_logprobs"] = scores_shown.triples(scores, text=text)
            if wishes.top:
                meta[f"{name}_top_logprobs"] = scores_shown.triples_beside(scores, "top", text=text)
            if wishes.also:
                meta[f"{name}_token_ids_logprobs"] = scores_shown.triples_beside(scores, "also", text=text)
    return meta
