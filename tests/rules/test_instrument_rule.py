from __future__ import annotations

from dataclasses import replace

from pytest_dflash.findings import Outcome
from pytest_dflash.load.self_test import SelfTest
from pytest_dflash.rules.instrument import fit

GOOD = SelfTest(
    concurrency=64,
    requests=128,
    ttft_error_mean_s=0.0004,
    ttft_error_p99_s=0.0012,
    tpot_error=0.0002,
    rate_error=-0.0001,
    cpu_s_per_1000=0.0151,
    late_s=0.004,
)


def test_a_client_that_is_right_says_how_right() -> None:
    found = fit(GOOD)
    assert found.outcome is Outcome.PASS
    assert found.summary == (
        "against a server of known timing, at 64 streams, TTFT is wrong by +0.40 ms on average (+1.20 ms at the 99th "
        "percentile), TPOT by +0.02 %, the rate by -0.01 %"
    )
    assert found.measures["cpu_s_per_1000_tokens"] == 0.0151


def test_a_client_that_is_wrong_proves_nothing_about_a_host() -> None:
    found = fit(replace(GOOD, ttft_error_mean_s=0.031, tpot_error=0.04))
    assert found.outcome is Outcome.UNPROVEN
    assert found.summary == (
        "what this side measures now is not to be trusted: against a server of known timing, at 64 streams, mean TTFT "
        "was wrong by 31.0 ms (at most 5 ms); TPOT was wrong by +4.0 % (at most 1 %)"
    )
    assert "a core to itself" in (found.remedy or "")


def test_a_client_that_noticed_its_own_lateness_is_believed() -> None:
    found = fit(replace(GOOD, busy="this machine was too busy to measure: …"))
    assert found.outcome is Outcome.UNPROVEN
