"""From the command line to serving: the order of events of a start.

Law: the order alone; the words are recorded, the answers are the routes'.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Any

# Before numpy is imported: one thread, since others measure on this machine, and the workers are forked.
os.environ["OPENBLAS_NUM_THREADS"] = "1"

from . import arguments, corruption, log, mischief, pace, startup, workers
from .decoding import Decoder, Shape
from .prefix_cache import DeadCache
from .scheduler import Scheduler
from .server import Engine, Server

INTERNAL_ERROR = 1
BIND_FAILED = 3
CLAIM = 0.9
"""Of each prompt: what a prefix cache claims that answers for everybody."""


def main(argv: Sequence[str]) -> int:
    """Runs until SIGTERM.

    Returns:
        The exit status: 0 after SIGTERM, 1 when the arguments are refused, 3 when the port is taken.
    """
    wrong = mischief.read(Path(__file__).parent)
    log.form, log.off_s = log.FORMS[wrong.log_form], wrong.clock_off_s
    try:
        fields, warnings = arguments.resolve(argv)
    except ValueError as refused:
        log.bare(f"Traceback (most recent call last):\nValueError: {refused}")
        return INTERNAL_ERROR
    if wrong.window_dropped:
        warnings.append(arguments.window_warning(fields["speculative_algorithm"]))
    fields |= wrong.forced
    warnings += wrong.remarks
    drafting = shape(fields, wrong)
    here = not wrong.corrupt_budgets or drafting.budget in wrong.corrupt_budgets
    names = wrong.corruptions if here else ()
    spoilt = corruption.of(names, wrong.noise_nats, speculating=drafting.budget > 0)
    decoder = Decoder(drafting, spoilt)
    if wrong.prefix_cache == "dead":
        decoder.prefixes = DeadCache()
    at_once = 0 if wrong.foreign_after else wrong.foreign_requests
    paced = pace.of(dict(wrong.pace)).in_process(_starts(Path(__file__).parent), drafts=drafting.budget > 0)
    scheduler = Scheduler(fields, decoder, paced, at_once)
    scheduler.graphs_up_to = wrong.graphs_up_to
    scheduler.cached_claim = CLAIM if wrong.prefix_cache == "answers" else 0.0
    engine = Engine(scheduler, argv, wrong)
    workers.start(fields)
    scheduler.start()
    signal.signal(signal.SIGTERM, _on_terminate(engine))
    server = _start(engine, warnings)
    if server is None:
        return 0 if engine.stopping.is_set() else BIND_FAILED
    engine.ready = True
    if wrong.dies_inside:
        _die(server)
    engine.stopping.wait()
    server.shutdown()
    return 0


def _starts(folder: Path) -> int:
    """Which start of this engine it is, kept beside it; one that was refused its arguments is none."""
    if (
        __package__ == "pytest_dflash.rehearsal.engine"
    ):  # run from the project itself, where nothing is left behind
        return 1
    file = folder / "starts"
    with suppress(OSError):  # on a real host an engine may not write where it lies
        file.write_text(f"{file.read_text('utf-8') if file.exists() else ''}x", "utf-8")
    return file.stat().st_size if file.exists() else 1


def shape(fields: Mapping[str, Any], wrong: mischief.Mischief) -> Shape:
    """How the arguments want it drafted.

    Without the fork's flag a chain as long as the block that was asked for; with it a tree over the draft's own block.
    """
    if fields["speculative_algorithm"] is None:
        return Shape()
    drafted = fields["speculative_num_draft_tokens"] or arguments.BLOCK
    return Shape(
        budget=drafted - 1,
        top_k=fields["speculative_eagle_topk"] or 1,
        block=arguments.block_size(fields) if fields[arguments.TREE] else drafted,
        window=None if wrong.window_dropped else fields["speculative_draft_window_size"],
    )


def _start(engine: Engine, warnings: Sequence[str]) -> Server | None:
    """Says the recorded lines of a start and does what belongs between them; None when it did not come to serving."""
    fields, wrong = engine.scheduler.fields, engine.mischief
    window = None if wrong.window_dropped else fields["speculative_draft_window_size"]
    values, rank = startup.values(fields, window), startup.rank(fields)
    drafts = fields["speculative_algorithm"] == "DFLASH"
    server = None
    for recorded in startup.lines():
        match recorded:
            case "{warnings}":
                for warning in warnings:
                    log.line(warning)
            case "{loading}":
                engine.stopping.wait(None if wrong.load_hangs else wrong.load_seconds)
            case "{draft}":
                for line in startup.draft_lines() if drafts else ():
                    startup.say(line, values, rank)
            case "{listening}":
                server = _listen(engine)
            case _:
                startup.say(recorded, values, rank)
        if engine.stopping.is_set() or (recorded == "{listening}" and server is None):
            return None
    return server


def _on_terminate(engine: Engine) -> signal.Handlers:
    def stop() -> None:
        engine.ready = False
        log.line("SIGTERM received. signum=None frame=None. Draining requests and shutting down...")
        engine.stopping.set()

    def handle(_signum: int, _frame: FrameType | None) -> None:
        # Not here: the main thread may hold the event's lock, or stderr's, at the very moment of the signal.
        threading.Thread(target=stop).start()

    return handle  # type: ignore[return-value]  # typeshed has no public name for a handler function


def _listen(engine: Engine) -> Server | None:
    """Opens the port; when it is taken, says so and still says "fired up", as was recorded."""
    host, port = engine.scheduler.fields["host"], engine.scheduler.fields["port"]
    try:
        server = Server(host, port, engine)
    except OSError as error:
        log.line(
            f"ERROR:    [Errno {error.errno}] error while attempting to bind on address ('{host}', {port}): "
            "address already in use"
        )
        log.line("INFO:     Waiting for application shutdown.")
        log.line("The server is fired up and ready to roll!")
        log.line("INFO:     Application shutdown complete.")
        return None
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
    scheme = "https" if server.secure else "http"
    log.line(f"INFO:     Uvicorn running on {scheme}://{server.server_name}:{port} (Press CTRL+C to quit)")
    return server


def _die(server: Server) -> None:
    """The socket closes, the scheduler's exception is logged, the process stays."""
    server.shutdown()
    server.server_close()
    log.line(
        "Scheduler hit an exception: Traceback (most recent call last):\n"
        '  File "sglang/srt/managers/scheduler.py", line 3811, in run_scheduler_process\n'
        "    scheduler.run_event_loop()\n"
        "RuntimeError: CUDA error: an illegal memory access was encountered",
        "TP0",
    )
