"""The lines of a start, as recorded from 0.5.23, with this engine's values filled in.

Law: text only; what happens between the lines is `launch`'s. In the recordings the first character tells
who speaks: `@` a bare line, `.` the main process, `#` the scheduler of rank 0, `^` a progress bar without
prefix; a line in braces is a place where something happens.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from . import log

HERE = Path(__file__).parent


def rank(fields: Mapping[str, Any]) -> str:
    """The scheduler's rank in the prefix, shown only with several."""
    return "TP0" if fields["tp_size"] > 1 else ""


def say(recorded: str, values: Mapping[str, Any], scheduler: str) -> None:
    """Prints one recorded line by its speaker."""
    speaker, text = recorded[0], recorded[2:].format_map(values)
    if speaker in "@^":
        log.bare(text.replace("\\r", "\r"))
    else:
        log.line(text, scheduler if speaker == "#" else "")


def values(fields: Mapping[str, Any], window: int | None) -> dict[str, Any]:
    """What the recorded lines leave open. `window` is what the draft runner was built with."""
    return {
        "package": str(HERE.parent),
        "server_args": dict(fields),
        "architecture": "KimiK25ForConditionalGeneration",
        "elapsed": "0.02",
        "total_tokens": fields["max_total_tokens"] or 131072,
        "chunked_prefill_size": fields["chunked_prefill_size"],
        "max_running_requests": fields["max_running_requests"] or 2048,
        "context_length": fields["context_length"],
        "pid": os.getpid(),
        "draft_backend": fields["speculative_draft_attention_backend"],
        "block_size": fields["speculative_num_draft_tokens"],
        "window": window,
        "compact": window is not None,
    }


def lines() -> Iterator[str]:
    """The recorded start, line by line; places in braces included."""
    yield from (HERE / "startup.txt").read_text("utf-8").splitlines()


def draft_lines() -> Iterator[str]:
    """The recorded lines of a DFLASH draft runner."""
    yield from (HERE / "draft.txt").read_text("utf-8").splitlines()
