"""The switches of the faults that only the engine itself can have.

Law: read once, at start, from `mischief.json` beside this file; no file means a healthy engine.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

FILE = "mischief.json"


@dataclass(frozen=True, slots=True)
class Mischief:
    """What is wrong with this engine.

    Attributes:
        load_seconds: How long loading the weights takes.
        load_hangs: Loading never ends; the port is never opened.
        window_dropped: The draft runner is built without the window, whatever the arguments say.
        dies_inside: After start-up the listening socket is gone, the process stays.
        completions: "" for healthy; "hang" answers nothing; "error" answers 500; "cut" ends streams early.
        guards: The beginning of the paths that a key guards; "" for all but those that are open to anybody.
        foreign_requests: How many requests of somebody else run all the time.
        corruptions: What is wrong in drafting and verifying: names of `corruption.CORRUPTIONS`.
        corrupt_budgets: They are there at these budgets alone; none for all.
        noise_nats: How strong "near-tie-noise" is.
        pace: Times to keep, by the names of `pace.Pace`; none, and everything is as fast as it can be.
        forced: Fields that have these values, whatever the arguments say.
        remarks: Further lines of the start, in the engine's own words.
        raw_answers: What is answered on a path instead, as `raw_answers.tell` takes it.
        refuses_each: Every so-manieth completion is answered with 503; 0 for none.
        refuses_logprobs: What a request for logprobs of given tokens is refused with; "" where they are told.
        dies_after: After so many answered completions the process ends; 0 for never.
        foreign_after: `foreign_requests` begin to run after so many answered completions; 0 for at once.
        streams: What becomes of streamed answers: "usage-missing", "usage-zero", "short" (they end at half of what
            was asked for, with finish_reason length), "buffered" (held back by something in between), "terse" (healthy: no
            empty chunk with a role, and usage on the chunk that ends the answer).
        graphs_up_to: Batches with more requests run without CUDA graph; 0 for none.
        prefix_cache: "dead" keeps nothing; "answers" tells nine tenths of every prompt as cached.
        log_form: How lines of the log are written: "plain", "coloured" or "json".
        clock_off_s: How far the clock is off by which lines of the log are stamped.
    """

    load_seconds: float = 0.0
    load_hangs: bool = False
    window_dropped: bool = False
    dies_inside: bool = False
    completions: str = ""
    guards: str = ""
    foreign_requests: int = 0
    corruptions: tuple[str, ...] = ()
    corrupt_budgets: Sequence[int] = ()
    noise_nats: float = 0.025
    pace: Mapping[str, float] = field(default_factory=dict)
    forced: Mapping[str, Any] = field(default_factory=dict)
    remarks: Sequence[str] = ()
    raw_answers: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    refuses_each: int = 0
    refuses_logprobs: str = ""
    dies_after: int = 0
    foreign_after: int = 0
    streams: str = ""
    graphs_up_to: int = 0
    prefix_cache: str = ""
    log_form: str = "plain"
    clock_off_s: float = 0.0


def read(folder: Path) -> Mischief:
    """The switches in `folder`, or none.

    Raises:
        ValueError: For a switch that does not exist; a misspelt fault must not look healthy.
    """
    path = folder / FILE
    if not path.exists():
        return Mischief()
    switches = json.loads(path.read_text("utf-8"))
    known = {each.name for each in fields(Mischief)}
    if unknown := sorted(set(switches) - known):
        raise ValueError(
            f"{path}: unknown switches {', '.join(unknown)}; known are {', '.join(sorted(known))}"
        )
    return Mischief(**switches)
