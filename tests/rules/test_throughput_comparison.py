from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_dflash.facts.reading import Value
from pytest_dflash.findings import Outcome
from pytest_dflash.load.comparison import chance
from pytest_dflash.load.measurement import Measurement
from pytest_dflash.load.sampling import Beside, Sight
from pytest_dflash.rules.comparison import Identity, compared, earlier
from tests.rules.loads import SLOW, WHO, load, measured

NOW = Identity("sglang", "0.5.23", "8 x GPU")
NOISE = (1.0, 1.03, 0.98, 1.01, 0.97, 1.02, 0.99, 1.0)


def document(rate: float = 50.0, entry: Mapping[str, str] | None = None) -> dict[str, Any]:
    measures = {"concurrency": 1, "prompt_tokens": 512, "output_tokens": 101}
    findings = [
        {
            "check": f"throughput.{name}",
            "param": "chat",
            "host": "gpu1",
            "measures": measures,
            "series": {"class": "prose", "values": [value * each for each in NOISE]},
        }
        for name, value in (("total_rate", rate * 0.9), ("decode_rate", rate), ("ttft", 200.0))
    ]
    host = {
        "name": "gpu1",
        "engine": "sglang",
        "engine_version": "0.5.22",
        "gpus": "8 x GPU",
        **(entry or {}),
    }
    return {"schema": 1, "hosts": [host], "findings": findings}


def judged(then: dict[str, Any], found: Measurement | None = None) -> Any:
    return compared(found or measured(load()), earlier(then, "gpu1", "old.json"), NOW)


def test_a_load_as_fast_as_before_is_not_worse_and_says_which_versions_were_compared() -> None:
    found = judged(document())
    assert found.outcome is Outcome.PASS
    assert found.summary.startswith("not worse than in old.json (0.5.22 then, 0.5.23 now): total rate")
    assert found.series["decode_rate"]["then"][0] == 50.0


def test_numbers_that_nobody_measured_are_too_few_repeats() -> None:
    then = document()
    for each in then["findings"]:
        each["series"]["values"] = [1e308] * 8
    found = judged(then)
    assert found.outcome is Outcome.NOT_APPLICABLE
    assert found.summary == "not compared: old.json tells too few repeats of the load 'chat'"


def test_a_load_that_is_slower_beyond_noise_fails_measure_by_measure() -> None:
    found = judged(document(rate=56.0))
    assert found.outcome is Outcome.FAIL
    assert "decode rate 50.02 after 56 (-10.7 %)" in found.summary
    assert "ttft" not in found.summary


def test_a_load_that_is_faster_is_not_worse() -> None:
    assert judged(document(rate=40.0)).outcome is Outcome.PASS


@pytest.mark.parametrize(
    "entry, words",
    [
        ({"engine": "vllm"}, "engine vllm then, sglang now"),
        ({"gpus": "4 x GPU"}, "GPUs 4 x GPU then, 8 x GPU now"),
    ],
)
def test_what_is_not_alike_is_not_compared_and_says_so(entry: dict[str, str], words: str) -> None:
    found = judged(document(entry=entry))
    assert found.outcome is Outcome.NOT_APPLICABLE
    assert words in found.summary


def test_another_definition_of_the_load_is_not_compared() -> None:
    found = judged(document(), measured(load(concurrency=4)))
    assert found.outcome is Outcome.NOT_APPLICABLE
    assert "concurrency 1 then, 4 now" in found.summary


def test_a_load_that_is_new_is_not_compared() -> None:
    found = judged(document(), measured(load(name="other")))
    assert found.summary == "not compared with old.json: it has no load 'other'"


def test_a_busy_client_compares_nothing() -> None:
    found = judged(document(rate=60.0), measured(load(), instrument=SLOW))
    assert found.outcome is Outcome.UNPROVEN


def test_without_an_earlier_run_there_is_nothing_to_compare_with() -> None:
    assert compared(measured(load()), None, NOW).outcome is Outcome.NOT_APPLICABLE
    several = document() | {"hosts": [{"name": "a"}, {"name": "b"}]}
    assert earlier(several, "gpu9", "old.json") is None


JSON = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["hosts", "findings", "name", "host", "check", "param", "series", "values", "measures"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=20,
)


@given(st.dictionaries(st.sampled_from(["hosts", "findings"]), JSON))
def test_any_document_is_compared_or_not_and_never_breaks(then: dict[str, Any]) -> None:
    judged(json.loads(json.dumps(then)))


def test_repeats_that_are_the_same_are_no_worse_by_chance_more_often_than_said() -> None:
    assert chance([1, 2, 3, 4, 5, 6], [1, 2, 3, 4, 5, 6]) > 0.4
    assert chance([1.0] * 3, [9.0] * 9) == 1.0
    assert chance([1, 1.1, 1.2, 1.05, 1.15, 1.1], [2, 2.1, 2.2, 2.05, 2.15, 2.1]) == pytest.approx(1 / 924)


def test_a_replaced_process_is_not_compared() -> None:
    moved = measured(load(), after=Value(replace(WHO, main_pid=7)))
    assert judged(document(), moved).outcome is Outcome.UNPROVEN


def test_foreign_requests_prove_nothing_worse_than_before() -> None:
    busy = Beside(foreign=(Sight(at_s=1.0, running=4, queued=2, ours=1),))
    found = compared(measured(load(), beside=busy), earlier(document(rate=56.0), "gpu1", "old.json"), NOW)
    assert found.outcome is Outcome.UNPROVEN
    assert found.summary.startswith("not compared with old.json: foreign_traffic: requests that are not ours")
