"""What vLLM answers on passive routes, and what its drafter's config says."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_dflash.engines.registry import dialect
from pytest_dflash.engines.vllm import counters
from pytest_dflash.facts.reading import Absent, Silent, Value
from pytest_dflash.findings import Json

VLLM = dialect("vllm")
METRICS = (Path(__file__).parent / "cases" / "0.32.0-dflash-trained" / "metrics.txt").read_text()
MODELS: Json = {
    "object": "list",
    "data": [
        {"id": "tiny", "root": "/srv/models/target", "parent": None, "max_model_len": 1024},
        {"id": "an adapter", "root": "/srv/lora", "parent": "tiny"},
    ],
    "/version": {"version": "0.32.0"},
}


def test_the_models_tell_three_settings() -> None:
    found = VLLM.from_info(MODELS)
    assert isinstance(found, Value)
    assert found.value.values == {
        "served-model-name": ["tiny"], "model": "/srv/models/target", "max-model-len": 1024,
    }  # fmt: skip
    assert VLLM.version(MODELS) == "0.32.0"


@pytest.mark.parametrize("document", [None, [], {}, {"data": 3}, {"data": [1]}, {"data": [], "/version": 3}])
def test_another_answer_is_silent(document: Json) -> None:
    assert isinstance(VLLM.from_info(document), Silent)
    assert VLLM.version(document) is None


def test_a_witness_that_says_nothing_of_a_setting_is_not_in_its_chain() -> None:
    asked = ("unit_file", "loaded_unit", "process_argv", "server_args_log")
    assert VLLM.carriers("tensor-parallel-size") == asked
    assert VLLM.carriers("max-model-len") == (*asked, "server_info")
    assert VLLM.carriers("speculative-config.method") == (*asked, "draft_runner_log")


def test_counters_give_the_accept_length_and_each_position() -> None:
    found = counters.drafts(METRICS)
    assert isinstance(found, Value)
    drafts = found.value
    assert (drafts.steps, drafts.drafted, drafts.accepted) == (399, 2793, 1235)
    assert drafts.accept_length == pytest.approx(1 + 1235 / 399)
    assert drafts.rates[0] == pytest.approx(270 / 399)
    assert list(drafts.rates) == list(range(7))
    assert sum(drafts.rates.values()) + 1 == pytest.approx(drafts.accept_length)


def test_two_readings_make_what_lies_between_them() -> None:
    before = counters.Drafts(10, 70, 30, {0: 10, 1: 20})
    assert counters.Drafts(14, 98, 42, {0: 14, 1: 28}).since(before) == counters.Drafts(
        4, 28, 12, {0: 4, 1: 8}
    )
    assert counters.Drafts(0, 0, 0).since(before) is None  # restarted in between
    assert before.since(before) == counters.Drafts(0, 0, 0, {0: 0, 1: 0})
    assert counters.Drafts(0, 0, 0).accept_length is None


def test_a_server_that_does_not_speculate_has_no_such_counters() -> None:
    found = counters.drafts("vllm:num_requests_running 0.0\n")
    assert found == Absent("vllm:spec_decode_num_drafts in GET /metrics")


def test_one_engine_that_sleeps_is_told() -> None:
    busy = "vllm:num_requests_running 0.0\nvllm:num_requests_waiting 0.0\n"
    state = 'vllm:engine_sleep_state{{engine="{}",model_name="tiny",sleep_state="{}"}} {}\n'
    awake = state.format(0, "awake", 1.0) + state.format(0, "discard_all", 0.0)
    asleep = state.format(1, "awake", 0.0) + state.format(1, "weights_offloaded", 1.0)
    assert [
        found.value.asleep
        for text in (busy, busy + awake, busy + awake + asleep)
        if isinstance(found := counters.load(text), Value)
    ] == [None, False, True]


def test_the_load_is_that_of_all_engines() -> None:
    text = "".join(
        f'vllm:num_requests_{what}{{engine="{n}"}} {n + 1}.0\n'
        for what in ("running", "waiting")
        for n in (0, 1)
    )
    found = VLLM.load("/metrics", text)
    assert isinstance(found, Value)
    assert (found.value.running, found.value.queued) == (3, 3)
    assert isinstance(VLLM.load("/metrics", "nothing"), Silent)


@pytest.mark.parametrize(
    "config,version,window",
    [
        ({"layer_types": ["sliding_attention"], "sliding_window": 2048}, "0.32.0", 2048),
        ({"dflash_config": {"use_swa": True, "swa_window_size": 512}, "sliding_window": 2048}, "0.32.0", 512),
        ({"dflash_config": {"use_swa": True}, "sliding_window": 64}, "0.25.1", 64),
    ],
)
def test_the_drafters_window_is_its_own_config(config: Json, version: str, window: int) -> None:
    found = VLLM.native_window(config, version)
    assert isinstance(found, Value)
    assert found.value == window


@pytest.mark.parametrize(
    "config,version",
    [
        ({"layer_types": ["full_attention"], "sliding_window": 2048}, "0.32.0"),
        ({"sliding_window": 2048}, "0.32.0"),
        ({"layer_types": ["sliding_attention"], "sliding_window": 2048}, "0.21.0"),
    ],
)
def test_a_drafter_may_have_no_window(config: Json, version: str) -> None:
    assert isinstance(VLLM.native_window(config, version), Absent)


@pytest.mark.parametrize(
    "config,version",
    [
        ({"layer_types": ["sliding_attention"], "sliding_window": 2048}, None),
        ({"layer_types": ["sliding_attention"], "sliding_window": 2048}, "0.24.0"),
        ({"layer_types": ["sliding_attention"]}, "0.32.0"),
        ({"layer_types": 3}, "0.32.0"),
        ([], "0.32.0"),
    ],
)
def test_a_config_may_not_tell(config: Json, version: str | None) -> None:
    assert isinstance(VLLM.native_window(config, version), Silent)


@pytest.mark.parametrize(
    "setting,asked,found",
    [
        ("dtype", "float32", "torch.float32"),
        ("dtype", "auto", "torch.bfloat16"),
        ("dtype", "half", "torch.float16"),
        ("seed", 0, None),
        ("speculative-config.method", "deepseek_mtp", "mtp"),
        ("speculative-config.method", None, "dflash"),
        ("speculative-config.model", "ngram", None),
        ("model", "/srv/models/target/", "/srv/models/target"),
        ("served-model-name", ["a", "b"], "a"),
        ("max-model-len", -1, 4096),
        ("speculative-config", '{"method": "dflash"}', {"method": "dflash"}),
        ("tensor-parallel-size", "8", 8),
        ("api-key", "abcdefgh", "***"),
    ],
)
def test_what_vllm_may_make_of_a_value(setting: str, asked: Json, found: Json) -> None:
    assert VLLM.is_rewrite(setting, asked, found, {})


@pytest.mark.parametrize(
    "setting,asked,found",
    [
        ("tensor-parallel-size", 8, 4),
        ("tensor-parallel-size", 8, None),
        ("speculative-config.num_speculative_tokens", 7, 3),
        ("speculative-config.num_speculative_tokens", 7, None),
        ("dtype", "float16", "torch.bfloat16"),
        ("enable-prefix-caching", False, True),
        ("speculative-config", '{"method": "dflash"}', {"method": "eagle3"}),
    ],
)
def test_what_vllm_may_not(setting: str, asked: Json, found: Json) -> None:
    assert not VLLM.is_rewrite(setting, asked, found, {})


@given(st.text())
def test_any_metrics_are_read(text: str) -> None:
    counters.drafts(text)
    counters.load(text)
    counters.load("vllm:num_requests_running " + text)
