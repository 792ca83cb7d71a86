"""How busy SGLang is, by each of its routes; the documents are those of 0.5.5 to 0.5.23, shortened."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_dflash.engines.dialect import Load
from pytest_dflash.engines.sglang.dialect import SGLang
from pytest_dflash.engines.sglang.load import ROUTES, load
from pytest_dflash.facts.reading import Silent, Value

LOADS = {
    "timestamp": "2026-11-29T16:32:38+00:00",
    "version": "0.5.23",
    "accelerator": None,
    "num_accelerators": 8,
    "loads": [
        {"dp_rank": 0, "num_running_reqs": 2, "num_waiting_reqs": 1, "num_used_tokens": 900},
        {"dp_rank": 1, "num_running_reqs": 3, "num_waiting_reqs": 0, "num_used_tokens": 80},
    ],
}
GET_LOAD = [
    {"rid": None, "dp_rank": 0, "num_reqs": 3, "num_waiting_reqs": 1, "num_tokens": 900},
    {"rid": None, "dp_rank": 1, "num_reqs": 3, "num_waiting_reqs": 0, "num_tokens": 80},
]
METRICS = """\
# HELP sglang:num_running_reqs The number of running requests.
# TYPE sglang:num_running_reqs gauge
sglang:num_running_reqs{engine_type="unified",model_name="k2",dp_rank="0"} 2.0
sglang:num_running_reqs{engine_type="unified",model_name="k2",dp_rank="1"} 3.0
sglang:num_running_reqs_offline_batch{engine_type="unified",model_name="k2"} 9.0
sglang:num_queue_reqs{engine_type="unified",model_name="k2"} 1.0
"""


@pytest.mark.parametrize(
    "path, text",
    [("/v1/loads", json.dumps(LOADS)), ("/get_load", json.dumps(GET_LOAD)), ("/metrics", METRICS)],
)
def test_every_route_tells_the_requests_of_all_ranks(path: str, text: str) -> None:
    assert load(path, text) == Value(Load(5, 1), f"GET {path}")


def test_the_exact_routes_are_asked_before_the_gauges() -> None:
    assert SGLang().load_paths() == ("/v1/loads", "/get_load", "/metrics")


@pytest.mark.parametrize(
    "path, text",
    [
        ("/v1/loads", '{"loads": []}'),
        ("/v1/loads", '{"loads": [{"dp_rank": 0}]}'),
        ("/get_load", '[{"num_reqs": "3", "num_waiting_reqs": 0}]'),
        ("/metrics", "sglang:num_running_reqs 2.0\n"),
        ("/metrics", "sglang:num_running_reqs NaN\nsglang:num_queue_reqs 0.0\n"),
        ("/elsewhere", "{}"),
    ],
)
def test_a_document_without_counts_is_silent_and_never_idle(path: str, text: str) -> None:
    assert load(path, text) == Silent("it tells no running and queued requests", f"GET {path}")


def test_idle_is_neither_running_nor_queued() -> None:
    assert Load(0, 0).idle
    assert not Load(1, 0).idle
    assert not Load(0, 1).idle


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(["loads", "num_reqs", "x"]), inner),
)


@given(st.sampled_from([*ROUTES, "/x"]), st.text() | JSON.map(json.dumps))
def test_any_answer_is_read(path: str, text: str) -> None:
    assert isinstance(load(path, text), (Value, Silent))
