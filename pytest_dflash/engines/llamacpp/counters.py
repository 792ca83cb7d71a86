"""llama.cpp's counters in the text of `/metrics`, which is there with --metrics only, and its slots.

Law: text in, numbers out. The accept length counts generated tokens per verify step, the bonus token included.
"""

from __future__ import annotations

import json
import math

from pytest_dflash.engines.dialect import Load
from pytest_dflash.engines.metrics import METRICS, by_position, missing, samples, total
from pytest_dflash.engines.scoring import Drafting
from pytest_dflash.engines.shapes import listed, table
from pytest_dflash.facts.reading import Reading, Silent, Value

SLOTS = "/slots"


def drafting(text: str) -> Reading[Drafting]:
    """Drafts and accepted tokens since the start; a step generates what it accepted and the bonus token."""
    told = samples(text, "llamacpp")
    names = ("spec_decode_num_drafts", "spec_decode_num_accepted_tokens")
    if gone := missing(told, "llamacpp", names):
        return gone
    steps, accepted = (told[name] for name in names)
    at = by_position(told.get("spec_decode_num_accepted_tokens_per_pos", ()))
    return Value(Drafting(total(steps) + total(accepted), total(steps), at), METRICS)


def load(path: str, text: str) -> Reading[Load]:
    """Requests that are processed and that wait, by the counters; without them, by the slots."""
    if path == SLOTS:
        try:
            slots = [table(each) for each in listed(json.loads(text))]
        except (ValueError, RecursionError):
            slots = []
        if not slots or any(not isinstance(each.get("is_processing"), bool) for each in slots):
            return Silent("it tells no slots", SLOTS)
        return Value(Load(sum(each["is_processing"] for each in slots), 0), SLOTS)
    told = samples(text, "llamacpp")
    running, waiting = (told.get(f"requests_{each}") for each in ("processing", "deferred"))
    if not running or not waiting:
        return Silent("llamacpp:requests_processing is not among the counters (--metrics)", METRICS)
    return Value(Load(math.ceil(total(running)), math.ceil(total(waiting))), METRICS)
