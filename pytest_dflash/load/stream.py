"""From the bytes of an exchange to the record of a request.

Law: pure and total; done when nothing is measured. Whether an answer counts is decided here, by one table: ended
early, an error in the middle, no [DONE], no usage are failures and counted as such.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Iterator

from pytest_dflash.endpoint.protocol import Ending, Generation, complaint_of, parsed, read_stream
from pytest_dflash.load.exchange import Exchange
from pytest_dflash.load.framing import Head, head, spans
from pytest_dflash.load.records import Failure, RequestRecord

OK = 200
CLIP = 4096


def record(exchange: Exchange) -> RequestRecord:
    """What became of it."""
    found = head(exchange.raw)
    pieces = list(_pieces(exchange, found)) if found else []
    generation = read_stream(pieces)
    failure, complaint = _failure(exchange, found, generation, b"".join(piece for _, piece in pieces))
    usage = generation.usage
    sent = exchange.ended_at_s if math.isnan(exchange.sent_at_s) else exchange.sent_at_s
    return RequestRecord(
        index=exchange.index,
        stream=exchange.stream,
        sent_at_s=sent,
        ended_at_s=exchange.ended_at_s,
        send_lag_s=max(sent - exchange.due_at_s - exchange.connect_s, 0.0),
        connect_s=exchange.connect_s,
        status=found.status or None if found else None,
        arrived_at_s=generation.arrivals_s,
        chunk_chars=generation.chunk_chars,
        prompt_tokens=usage.prompt_tokens if usage else None,
        output_tokens=usage.completion_tokens if usage else None,
        cached_tokens=usage.cached_tokens if usage else None,
        finish_reason=generation.finish_reason,
        text=(generation.reasoning + generation.text)[:CLIP],
        failure=failure,
        complaint=complaint,
    )


def _pieces(exchange: Exchange, found: Head) -> Iterator[tuple[float, bytes]]:
    """The body as it was said: each part of a chunk that came at once, with the time at which it was there."""
    raw, stamps, ends = exchange.raw, exchange.stamps, exchange.ends
    for begin, end in spans(raw, found)[0]:
        at, piece = begin, bisect_right(ends, begin)
        while at < end:
            upto = min(ends[piece], end)
            yield stamps[piece], bytes(raw[at:upto])
            at, piece = upto, piece + 1


def _failure(
    exchange: Exchange, found: Head | None, generation: Generation, body: bytes
) -> tuple[Failure | None, str]:
    if exchange.lost is not None:
        return exchange.lost, exchange.why
    if found is None:
        return Failure.CUT_OFF, exchange.why or "the connection was closed before an answer came"
    if found.status != OK:
        said = complaint_of(parsed(body.decode("utf-8", "replace")))
        return Failure.STATUS, f"status {found.status}" + (f": {said}" if said else "")
    for failure, complaint in TABLE:
        if sentence := complaint(generation):
            return failure, sentence
    return None, ""


Complaint = Callable[[Generation], str | None]

TABLE: tuple[tuple[Failure, Complaint], ...] = (
    (Failure.ERROR_EVENT, lambda g: g.error and f"the engine said: {g.error}"),
    (Failure.NO_STREAM, lambda g: "no event came" if g.ending is Ending.NO_STREAM else None),
    (
        Failure.CUT_OFF,
        lambda g: (
            None if g.ending is Ending.DONE else f"no [DONE] after {len(g.arrivals_s)} chunks with text"
        ),
    ),
    (Failure.MALFORMED, lambda g: f"{g.malformed} events are no JSON object" if g.malformed else None),
    (Failure.EMPTY, lambda g: None if g.arrivals_s else "neither content nor reasoning"),
    (Failure.NO_USAGE, lambda g: None if _counted(g) else "the engine's usage counts no tokens"),
)
"""In this order; the first that applies names the failure."""


def _counted(generation: Generation) -> int | None:
    return generation.usage.completion_tokens if generation.usage else None
