"""Whether this side may judge how fast a host is.

Law: pure; a self-test against a server of known timing in, a judgement out. It says nothing about the host: a
machine that cannot measure proves neither a pass nor a fail.
"""

from __future__ import annotations

from pytest_dflash.findings import Judgement, passed, unproven
from pytest_dflash.load.self_test import SelfTest


def fit(found: SelfTest) -> Judgement:
    """The errors of the client, and what it costs."""
    measures = {
        "ttft_error_mean_ms": 1000 * found.ttft_error_mean_s,
        "ttft_error_p99_ms": 1000 * found.ttft_error_p99_s,
        "tpot_error_percent": 100 * found.tpot_error,
        "rate_error_percent": 100 * found.rate_error,
        "cpu_s_per_1000_tokens": found.cpu_s_per_1000,
    }
    measures = {name: round(value, 4) for name, value in measures.items()}
    wrong = found.unfit() or found.busy
    if wrong:
        return unproven(
            f"what this side measures now is not to be trusted: {wrong}",
            measures=measures,
            remedy="run from a machine with a core to itself, and with nothing else on it; see docs/measuring.md",
        )
    return passed(
        f"against a server of known timing, at {found.concurrency} streams, TTFT is wrong by "
        f"{1000 * found.ttft_error_mean_s:+.2f} ms on average ({1000 * found.ttft_error_p99_s:+.2f} ms at the 99th "
        f"percentile), TPOT by {100 * found.tpot_error:+.2f} %, the rate by {100 * found.rate_error:+.2f} %",
        measures=measures,
    )
