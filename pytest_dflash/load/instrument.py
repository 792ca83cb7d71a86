"""Whether this side was fast enough to measure the other one.

Law: numbers in, a verdict on the client out; no clock is read here. A client that was the bottleneck makes a
result unproven: neither a pass nor a low number.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

CPU_SHARE = 0.7
"""Of one core. Above it requests queue up in the client: at 0.7 an M/M/1 queue is 2.3 services long."""
LAG_P99_S = 0.020
"""A loop that is later than this once in a hundred times stamps too late by as much."""
LAG_MEAN_S = 0.005
SEND_LAG_P99_S = 0.050


@dataclass(frozen=True, slots=True, kw_only=True)
class Instrument:
    """What the client cost while it measured.

    Attributes:
        cpu_share: Of one core, by the thread that measured.
        lag_mean_s: How late the event loop came to a timer ten times a second; lag_p99_s, lag_max_s likewise.
        send_lag_p99_s: From the moment in which a request could have been written to its write.
    """

    cpu_share: float
    lag_mean_s: float
    lag_p99_s: float
    lag_max_s: float
    send_lag_p99_s: float

    def bottleneck(self) -> str | None:
        """What the client did to the measurement, in a sentence; None when it was fast enough."""
        found = [
            f"{what} {seen:.{digits}f}{unit} (at most {limit:g}{unit})"
            for what, seen, limit, unit, digits in (
                ("it used of one core", 100 * self.cpu_share, 100 * CPU_SHARE, " %", 0),
                ("its event loop was late by on average", 1000 * self.lag_mean_s, 1000 * LAG_MEAN_S, " ms", 1),
                ("once in 100 times its loop was late by", 1000 * self.lag_p99_s, 1000 * LAG_P99_S, " ms", 1),
                ("once in 100 times it wrote late by", 1000 * self.send_lag_p99_s, 1000 * SEND_LAG_P99_S, " ms", 1),
            )
            if seen > limit
        ]  # fmt: skip
        return f"this machine was too busy to measure: {'; '.join(found)}" if found else None


def instrument(
    *, cpu_s: float, wall_s: float, lags_s: Sequence[float], send_lags_s: Sequence[float]
) -> Instrument:
    """The instrument from what it noted down: no lag noted means a loop that never came round."""
    lags = lags_s or [wall_s]
    return Instrument(
        cpu_share=cpu_s / wall_s if wall_s > 0 else 0.0,
        lag_mean_s=sum(lags) / len(lags),
        lag_p99_s=quantile(lags, 0.99),
        lag_max_s=max(lags),
        send_lag_p99_s=quantile(send_lags_s or [0.0], 0.99),
    )


def quantile(values: Sequence[float], share: float) -> float:
    """The smallest of the values that at least this share of them does not exceed (nearest rank)."""
    ordered = sorted(values)
    return ordered[max(math.ceil(share * len(ordered)), 1) - 1]
