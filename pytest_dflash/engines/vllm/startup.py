"""How far a start is, by its log, and how an engine died.

Law: the newest telling line decides; readiness is somebody else's to prove.
"""

from __future__ import annotations

import re

from pytest_dflash.engines.lines import Phases, newest_phase
from pytest_dflash.engines.vllm.journalled import last_start
from pytest_dflash.engines.vllm.log_lines import ARGS, READY, SERVING
from pytest_dflash.facts.journal import Journal

PHASES: Phases = (
    (re.compile(r"EngineCore (?:failed to start|encountered a fatal error)"), "the engine core died"),
    (re.compile(r"Engine core initialization failed|Engine core proc \S+ died"), "the engine core died"),
    (re.compile(r"EngineDeadError|engine core exited unexpectedly"), "the engine core died"),
    (re.compile(r"^Worker proc .* died|WorkerProc failed to start"), "a worker died"),
    (re.compile(re.escape(READY)), "start-up is over"),
    (re.compile(rf"{SERVING}.* server on|Started server process"), "opening the port"),
    (re.compile(r"init engine .*took (?P<a>[\d.]+)"), "engine built in {a} s"),
    (re.compile(r"Graph capturing finished"), "CUDA graphs captured"),
    (re.compile(r"Capturing CUDA graphs?.*?(?P<a>\d+)/(?P<b>\d+)"), "capturing CUDA graphs {a}/{b}"),
    (re.compile(r"KV cache size: (?P<a>[\d,]+) tokens"), "KV cache of {a} tokens allocated"),
    (re.compile(r"Dynamo bytecode|[Cc]ompiling a graph|torch\.compile takes"), "compiling"),
    (re.compile(r"Loading drafter model"), "loading the drafter"),
    (re.compile(r"shards:.*?(?P<a>\d+)/(?P<b>\d+)"), "loading weights, shard {a}/{b}"),
    (re.compile(r"Starting to load model|Loading weights took|Loading model from"), "loading weights"),
    (re.compile(r"Initializing a V\d LLM engine"), "engine core starting"),
    (re.compile(r"Resolved architecture"), "settings resolved"),
)

_QUIET = re.compile(r"'uvicorn_log_level': '(?:warning|error|critical)'")


def ready_line(journal: Journal) -> str | None:
    """Uvicorn's line that start-up is over; where its log is turned down, vLLM's own last line before it."""
    args, lines = last_start(journal)
    quiet = bool(args and _QUIET.search(args.text))
    ends = [line.text for line in lines if READY in line.text or (quiet and line.text.startswith(SERVING))]
    return ends[-1] if ends else None


def progress(journal: Journal) -> str:
    """What the start is busy with, in a few words; "" when no line tells."""
    args, after = last_start(journal)
    return newest_phase(after, PHASES, ARGS.match) or ("reading its settings" if args else "")
