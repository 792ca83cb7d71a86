"""Throughput of real engines, as docs/throughput.md advises: measured without limits, floors from the record, measured again."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.realhost import llamacpp_runs, vllm_runs
from tests.realhost.services import Service
from tests.realhost.test_acceptance import finding

# Other tests run beside these ones and take as much of two cores as they like: on a host of its own a floor lies two
# spreads below the mean, or 5 %.
SLACK = 6
LOAD = """
[[throughput]]
name = "two users"
class = "code"
concurrency = 2
prompt_tokens = 64
output_tokens = {tokens}
time_budget_s = {budget_s}
"""
FLOORS = """
min_output_tokens_per_s_total = {total}
min_decode_tokens_per_s_per_request = {decode}
max_ttft_ms = {ttft}
max_tpot_ms = {tpot}
accept_length = {{ min = 1.2, max = 8 }}
"""
LIMITED = ("total_rate", "decode_rate", "ttft", "tpot", "acceptance")
BUSY = re.compile("too busy to measure|chunks come in bursts")
HURRIED = ("decode_rate", "tpot", "streaming")
"""Of answers that take a tenth of a second a side that is not let run sees all tokens at once: it says so, and proves nothing.
An engine's own API process that is not let run sends them at once."""
MEASURES = {
    "total": ("total_rate", "output_tokens_per_s", 1 / SLACK),
    "decode": ("decode_rate", "decode_tokens_per_s", 1 / SLACK),
    "ttft": ("ttft", "ttft_ms", SLACK),
    "tpot": ("tpot", "tpot_ms", SLACK),
}
"""Of a limit: the check that measures it, its measure, and how much better or worse than the record it lies."""
Measured = Callable[[str], dict[str, Any]]


@pytest.fixture(params=["vllm", "llamacpp"])
def measured(request: pytest.FixtureRequest, tmp_path: Path) -> Measured:
    """Runs the throughput suite with a load against one of the engines."""
    runs: Any = {"vllm": vllm_runs, "llamacpp": llamacpp_runs}[request.param]
    service: Service = request.getfixturevalue(f"{request.param}_host")

    def measure(load: str) -> dict[str, Any]:
        asked = ("-m", "throughput", "--dflash-allow=load")
        document: dict[str, Any] = runs.accepted(service, tmp_path, *asked, profile=runs.PROFILE + load)
        return document

    return measure


def recorded(document: dict[str, Any], check: str, measure: str) -> float:
    return float(finding(document, f"throughput.{check}")["measures"][measure])


def test_an_engine_meets_floors_recorded_from_itself(measured: Measured, figures: list[str]) -> None:
    first = measured(LOAD.format(tokens=64, budget_s=20))
    assert finding(first, "throughput.errors")["outcome"] == "pass", first["stdout"][-3000:]
    limits = {name: recorded(first, check, key) * by for name, (check, key, by) in MEASURES.items()}
    second = measured(LOAD.format(tokens=64, budget_s=90) + FLOORS.format(**limits))
    for check in LIMITED:
        found = finding(second, f"throughput.{check}")
        assert found["outcome"] == "pass" or (check in HURRIED and BUSY.search(found["summary"])), found
        figures.append(f"{second['hosts'][0]['engine']}, throughput.{check}: {found['summary']}")
    rest = {each["check"]: each for each in second["findings"] if each["check"].startswith("throughput.")}
    wrong = {name: each["summary"] for name, each in rest.items() if each["outcome"] in {"fail", "unproven"}}
    assert all(BUSY.search(why) for why in wrong.values()), wrong
