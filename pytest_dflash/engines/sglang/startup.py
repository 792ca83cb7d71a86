"""How far a start is, by its log.

Law: the newest telling line decides; readiness is somebody else's to prove.
"""

from __future__ import annotations

import re

from pytest_dflash.engines.lines import Phases, newest_phase
from pytest_dflash.engines.sglang.journalled import last_start
from pytest_dflash.engines.sglang.log_lines import READY
from pytest_dflash.facts.journal import Journal

PHASES: Phases = (
    (re.compile(re.escape(READY)), "start-up is over"),
    (re.compile(r"Initialization failed\. (?P<a>.{0,120})"), "start-up failed: {a}"),
    (
        re.compile(r"Start of (?:server )?warm-?up|Application startup complete|Uvicorn running on"),
        "warming up",
    ),
    (
        re.compile(r"Capturing (?:batches|num tokens).*?(?P<a>\d+)/(?P<b>\d+)"),
        "capturing CUDA graphs {a}/{b}",
    ),
    (re.compile(r"Capture .*?(?:[Cc]uda|CUDA|cpu) ?graph (?:begin|bs)"), "capturing CUDA graphs"),
    (re.compile(r"Capture .*?(?:[Cc]uda|CUDA|cpu) ?graph end"), "CUDA graphs captured"),
    (re.compile(r"(?:[Ll]oading|Load) .*?shards:.*?(?P<a>\d+)/(?P<b>\d+)"), "loading weights, shard {a}/{b}"),
    (re.compile(r"Load weight begin"), "loading weights"),
    (re.compile(r"Load weight end\..*?type=(?P<a>\w+)"), "{a} loaded"),
    (re.compile(r"Initialized (?P<a>\w+) draft runner"), "{a} draft runner built"),
    (re.compile(r"KV Cache is allocated|Memory pool end"), "KV cache allocated"),
    (re.compile(r"Loading JIT ops|[Cc]ompiling|[Aa]utotun"), "compiling or tuning kernels"),
    (re.compile(r"Init (?:torch distributed|parallel) begin"), "joining the ranks"),
    (re.compile(r"max_total_num_tokens="), "scheduler up"),
)


def ready_line(journal: Journal) -> str | None:
    """The engine's own line that start-up is over, of the newest start in this invocation."""
    _, lines = last_start(journal)
    return next((line.text for line in reversed(lines) if READY in line.text), None)


def progress(journal: Journal) -> str:
    """What the start is busy with, in a few words; "" when no line tells."""
    args, after = last_start(journal)
    return newest_phase(after, PHASES) or ("settings resolved" if args else "")
