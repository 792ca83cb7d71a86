"""The instrument measures something whose truth is known, on this machine and now.

Law: an agent: starts the truth server as a process of its own and ends it. What it finds says something about the
client and this machine, nothing about a host.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from pytest_dflash.endpoint.client import Client
from pytest_dflash.load.instrument import quantile
from pytest_dflash.load.phase import PhaseResult
from pytest_dflash.load.plan import Plan
from pytest_dflash.load.records import RequestRecord
from pytest_dflash.load.runner import run

TRUTH = "pytest_dflash.rehearsal.truth"
OUTPUT_TOKENS = 64
TTFT_MEAN_S, TTFT_P99_S, TPOT_SHARE = 0.005, 0.020, 0.01
"""Errors up to which a client is fit to judge floors: far below what a floor's own noise is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SelfTest:
    """What the client measured against what really happened.

    Attributes:
        ttft_error_mean_s: Reported minus true; of the p99 likewise.
        tpot_error: Relative. rate_error: of the output tokens per second, relative.
        cpu_s_per_1000: CPU seconds of this side for 1,000 tokens.
        late_s: How late the truth server was at most: beyond some 30 ms its own stamps say little.
        busy: What the client noticed of its own slowness.
    """

    concurrency: int
    requests: int
    ttft_error_mean_s: float
    ttft_error_p99_s: float
    tpot_error: float
    rate_error: float
    cpu_s_per_1000: float
    late_s: float
    busy: str | None = None

    def unfit(self) -> str | None:
        """Why this machine cannot measure now, in a sentence; None when it can."""
        wrong = [
            f"{what} was wrong by {1000 * error:.1f} ms (at most {1000 * limit:g} ms)"
            for what, error, limit in (
                ("mean TTFT", self.ttft_error_mean_s, TTFT_MEAN_S),
                ("p99 of TTFT", self.ttft_error_p99_s, TTFT_P99_S),
            )
            if abs(error) > limit
        ]
        if abs(self.tpot_error) > TPOT_SHARE:
            wrong.append(f"TPOT was wrong by {100 * self.tpot_error:+.1f} % (at most {100 * TPOT_SHARE:g} %)")
        if not wrong:
            return None
        return f"against a server of known timing, at {self.concurrency} streams, {'; '.join(wrong)}"


def best_of(tries: int, concurrency: int) -> SelfTest:
    """The first self-test that finds the client fit, else the last: a machine may be busy for a moment."""
    found = self_test(concurrency)
    for _ in range(tries - 1):
        if not (found.unfit() or found.busy):
            break
        found = self_test(concurrency)
    return found


@contextmanager
def truth_server(*arguments: str) -> Iterator[str]:
    """Its base URL, while it runs."""
    command = [sys.executable, "-m", TRUTH, *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603 - our own module
        try:
            assert process.stdout is not None
            yield f"http://127.0.0.1:{int(process.stdout.readline())}"
        finally:
            process.kill()


def self_test(
    concurrency: int, scenario: str = "plain", output_tokens: int = OUTPUT_TOKENS, per_stream: int = 2
) -> SelfTest:
    """Measures the truth server, as a load of this concurrency would be measured: two seconds or so."""
    plan = Plan(
        text_class="prose",
        concurrency=concurrency,
        prompt_tokens=64,
        output_tokens=output_tokens,
        per_stream=per_stream,
        max_repeats=1,
    )
    with truth_server() as url, Client(url, served_model=scenario) as client:
        found = run(client.door(), plan, decided=lambda _: True)
        truths = client.get("/truth").document()[len(found.warm_up) :]
    return compared(found, truths)


def compared(found: PhaseResult, truths: Sequence[Mapping[str, Any]]) -> SelfTest:
    """What was found against what was true; both for the same requests.

    Raises:
        ValueError: Not every request was answered.
    """
    repeat = found.repeats[0]
    if len(repeat.answered) != len(truths) or not truths:
        raise ValueError(f"{len(repeat.answered)} of {len(truths)} requests were answered: {found.why}")
    ttft = [truth["first_at_s"] - truth["there_at_s"] for truth in truths]
    spans = [(truth["last_at_s"] - truth["first_at_s"], truth["tokens"] - 1) for truth in truths]
    tpot = [span / tokens for span, tokens in spans if tokens > 0 and span > 0]
    took = max(truth["last_at_s"] for truth in truths) - min(truth["there_at_s"] for truth in truths)
    tokens = sum(truth["tokens"] for truth in truths)
    cpu_s = repeat.instrument.cpu_share * (repeat.ended_at_s - repeat.began_at_s)
    return SelfTest(
        concurrency=found.plan.concurrency,
        requests=len(truths),
        ttft_error_mean_s=_mean(repeat.ttft_s) - _mean(ttft),
        ttft_error_p99_s=quantile(repeat.ttft_s, 0.99) - quantile(ttft, 0.99),
        tpot_error=_mean(repeat.tpot_s) / _mean(tpot) - 1 if tpot and repeat.tpot_s else 0.0,
        rate_error=_rate(repeat.answered) * took / tokens - 1,
        cpu_s_per_1000=1000 * cpu_s / tokens,
        late_s=max(truth["late_s"] for truth in truths),
        busy=repeat.instrument.bottleneck(),
    )


def _rate(records: Sequence[RequestRecord]) -> float:
    took = max(each.arrived_at_s[-1] for each in records) - min(each.sent_at_s for each in records)
    return sum(each.output_tokens or 0 for each in records) / took


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
