"""Loads as the runner would have measured them, for rules to judge."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from pytest_dflash.engines.scoring import Drafting
from pytest_dflash.facts.identity import Identity
from pytest_dflash.facts.reading import Reading, Value
from pytest_dflash.load.instrument import Instrument
from pytest_dflash.load.measurement import Measurement
from pytest_dflash.load.phase import PhaseResult, Repeat, Stop
from pytest_dflash.load.plan import Plan
from pytest_dflash.load.records import Failure, RequestRecord
from pytest_dflash.load.sampling import Beside
from pytest_dflash.profile.schema import Throughput

WHO = Identity("boot", "invocation", 4121, 0, 100)
FAST = Instrument(cpu_share=0.02, lag_mean_s=0.0005, lag_p99_s=0.002, lag_max_s=0.004, send_lag_p99_s=0.001)
SLOW = replace(FAST, lag_mean_s=0.03, lag_p99_s=0.2)
SCATTER = (1.0, 1.03, 0.98, 1.01, 0.97, 1.02, 0.99, 1.0, 1.01, 0.99)


def load(**wanted: Any) -> Throughput:
    asked = {"name": "chat", "class": "prose", "concurrency": 1, "prompt_tokens": 512, "output_tokens": 101}
    return Throughput.model_validate({**asked, **wanted})


def request(
    index: int, *, ttft_s: float = 0.2, tpot_s: float = 0.02, chunks: int = 21, **more: Any
) -> RequestRecord:
    """An answer of 101 tokens in chunks that come one by one."""
    step = tpot_s * 100 / (chunks - 1)
    arrived = tuple(10.0 + ttft_s + step * at for at in range(chunks))
    asked: dict[str, Any] = {
        "index": index,
        "stream": 0,
        "sent_at_s": 10.0,
        "ended_at_s": arrived[-1],
        "status": 200,
        "arrived_at_s": arrived,
        "chunk_chars": (1,) * chunks,
        "prompt_tokens": 512,
        "output_tokens": 101,
        "cached_tokens": 0,
        "finish_reason": "length",
    }
    return RequestRecord(**{**asked, **more})


def refused() -> RequestRecord:
    """A request that was answered with 503."""
    return request(
        9,
        status=503,
        failure=Failure.STATUS,
        complaint="HTTP 503",
        output_tokens=None,
        arrived_at_s=(),
        chunk_chars=(),
    )


def measured(
    wanted: Throughput,
    requests: Sequence[Sequence[RequestRecord]] | None = None,
    *,
    tpot_s: float = 0.02,
    ttft_s: float = 0.2,
    instrument: Instrument = FAST,
    beside: Beside | None = None,
    accept_length: float | None = 4.0,
    stop: Stop = Stop.DECIDED,
    why: str = "",
    after: Reading[Identity] | None = None,
) -> Measurement:
    """Ten repeats that scatter by two per cent, unless they are given."""
    if requests is None:
        requests = [
            [request(at, tpot_s=tpot_s * each, ttft_s=ttft_s * each)] for at, each in enumerate(SCATTER)
        ]
    repeats = tuple(
        Repeat(
            number=number,
            began_at_s=10.0,
            ended_at_s=max((each.ended_at_s for each in some), default=10.0),
            requests=tuple(some),
            instrument=instrument,
        )
        for number, some in enumerate(requests)
    )
    counters: list[Reading[Drafting]] = [Value(Drafting(0.0, 0.0), "GET /metrics")]
    steps = 0.0
    for at, each in enumerate(SCATTER, start=1):
        if accept_length is not None:
            steps += 1000.0 / (accept_length * each)
            counters.append(Value(Drafting(1000.0 * at, steps), "GET /metrics"))
    asked = Plan(
        text_class=wanted.text_class, concurrency=wanted.concurrency, prompt_tokens=512, output_tokens=101
    )
    return Measurement(
        load=wanted,
        result=PhaseResult(
            plan=asked,
            model="m",
            chars_per_token=4.0,
            warm_up=(),
            repeats=repeats,
            stop=stop,
            why=why,
            took_s=30.0,
        ),
        counters=tuple(counters),
        beside=beside or Beside(),
        before=Value(WHO),
        after=after or Value(WHO),
        error=0.01,
        began_at_s=10.0,
    )
