"""llama.cpp's counters in the text of `/metrics`, which is there with --metrics only, and its slots.

Law: text in, numbers out. The accept length counts generated tokens per verify step, the bonus token included.
"""

from __future__ import annotations

import json
import math
import re

from pytest_dflash.engines.dialect import Load
from pytest_dflash.engines.scoring import Drafting
from pytest_dflash.engines.shapes import listed, table
from pytest_dflash.facts.reading import Reading, Silent, Value

METRICS = "/metrics"
SLOTS = "/slots"
_SAMPLE = re.compile(
    r'^llamacpp:(?P<name>\w+)(?:\{position="(?P<at>\d{1,6})"\})? (?P<value>[-+.\w]+)$', re.MULTILINE
)
_ACCEPTED_AT = "spec_decode_num_accepted_tokens_per_pos_total"


def _samples(text: str) -> dict[tuple[str, int | None], float]:
    found: dict[tuple[str, int | None], float] = {}
    for match in _SAMPLE.finditer(text):
        try:
            value = float(match["value"])
        except ValueError:
            continue
        if math.isfinite(value):
            found[match["name"], int(match["at"]) if match["at"] else None] = value
    return found


def drafting(text: str) -> Reading[Drafting]:
    """Drafts and accepted tokens since the start; a step generates what it accepted and the bonus token."""
    samples = _samples(text)
    steps, accepted = (
        samples.get((f"spec_decode_num_{each}_total", None)) for each in ("drafts", "accepted_tokens")
    )
    if steps is None or accepted is None:
        return Silent("llamacpp:spec_decode_num_drafts_total is not among the counters (--metrics)", METRICS)
    at = {place: n for (name, place), n in samples.items() if name == _ACCEPTED_AT and place is not None}
    return Value(Drafting(steps + accepted, steps, at), METRICS)


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
    samples = _samples(text)
    running, waiting = (samples.get((f"requests_{each}", None)) for each in ("processing", "deferred"))
    if running is None or waiting is None:
        return Silent("llamacpp:requests_processing is not among the counters (--metrics)", METRICS)
    return Value(Load(math.ceil(running), math.ceil(waiting)), METRICS)
