"""One value or two, and what the engine may do to a setting."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_dflash.engines.registry import dialect
from pytest_dflash.findings import Json

SGLANG = dialect("sglang")
DFLASH: dict[str, Json] = {"speculative-algorithm": "DFLASH"}


@pytest.mark.parametrize(
    "setting, left, right",
    [
        ("tp-size", "8", 8),
        ("mem-fraction-static", "0.90", 0.9),
        ("mem-fraction-static", 1, 1.0),
        ("trust-remote-code", True, "true"),
        ("trust-remote-code", False, None),
        ("served-model-name", "8", 8),
        ("json-model-override-args", '{"a": 1, "b": [2]}', {"b": [2], "a": 1}),
        ("cuda-graph-bs-decode", [1, 2], ["1", "2"]),
        ("cuda-graph-bs-decode", 1, [1]),
        ("cuda-graph-bs-decode", "[1, 2]", [1, 2]),
        ("a-fork-knows-this", "true", True),
        ("a-fork-knows-this", False, None),
        ("api-key", "****", "secret-value"),
        ("watermark-key", None, "<redacted>"),
    ],
)
def test_two_spellings_of_one_value_are_the_same(setting: str, left: Json, right: Json) -> None:
    assert SGLANG.same(setting, left, right)
    assert SGLANG.same(setting, right, left)
    assert SGLANG.is_rewrite(setting, left, right, {})


@pytest.mark.parametrize(
    "setting, left, right",
    [
        ("tp-size", 8, 4),
        ("speculative-draft-window-size", 2048, None),
        ("speculative-draft-window-size", None, 2048),
        ("speculative-draft-window-size", 0, None),
        ("served-model-name", "1.10", "1.1"),
        ("trust-remote-code", True, False),
        ("json-model-override-args", '{"a": 1}', "{}"),
        ("cuda-graph-bs-decode", [1, 2], [2, 1]),
        ("a-fork-knows-this", "a", "b"),
    ],
)
def test_two_values_are_two(setting: str, left: Json, right: Json) -> None:
    assert not SGLANG.same(setting, left, right)


@pytest.mark.parametrize(
    "setting, asked, found, context",
    [
        ("speculative-algorithm", "dflash", "DFLASH", {}),
        ("speculative-algorithm", "ddtree", "DDTREE", {}),
        ("speculative-algorithm", "NEXTN", "EAGLE", {}),
        ("speculative-algorithm", "EAGLE", "FROZEN_KV_MTP", {}),
        ("speculative-num-steps", 5, 1, DFLASH),
        ("speculative-eagle-topk", 4, 1, DFLASH),
        ("speculative-num-draft-tokens", None, 16, DFLASH),
        ("speculative-num-draft-tokens", 8, 4, {"speculative-num-steps": 3, "speculative-eagle-topk": 1}),
        (
            "speculative-num-draft-tokens",
            16,
            32,
            {"speculative-algorithm": "DDTREE", "speculative-ddtree-budget": 31},
        ),
        ("max-running-requests", None, 48, DFLASH),
        ("speculative-draft-model-revision", None, "main", DFLASH),
        ("speculative-draft-model-path", "org/m", "/c/hub/models--org--m/snapshots/a1", {}),
        ("speculative-draft-model-path", None, "/m", {"model-path": "/m"}),
        ("model-path", "models/target", "/srv/models/target", {}),
        ("model-path", "/srv/models/target/", "/srv/models/target", {}),
        ("tokenizer-path", None, "/m", {"model-path": "/m"}),
        ("attention-backend", None, "triton", {}),
        ("kv-cache-dtype", "auto", "fp8_e4m3", {}),
        ("disable-overlap-schedule", False, True, DFLASH),
        ("disable-overlap-schedule", None, True, DFLASH),
        ("enable-mixed-chunk", True, False, DFLASH),
        ("chunked-prefill-size", 8192, 1024, {"dp-size": 8}),
        ("schedule-conservativeness", 1.0, 0.3, {"enable-dp-attention": True}),
        ("page-size", 1, 64, {"attention-backend": "flashmla"}),
        ("lora-paths", ["a=/x"], [{"lora_name": "a", "lora_path": "/x"}], {}),
        ("random-seed", None, 31584634, {}),
        ("tp-size", None, 1, {}),
        ("disable-piecewise-cuda-graph", True, None, {}),
        ("config", "c.yaml", None, {}),
        ("attention-backend", "nsa", "dsa", {}),
        ("quantization", "unquant", None, {}),
        ("ep-size", 1, 8, {"tp-size": 8, "moe-a2a-backend": "deepep"}),
    ],
)
def test_what_the_engine_does_by_itself_is_legal(
    setting: str, asked: Json, found: Json, context: dict[str, Json]
) -> None:
    assert SGLANG.is_rewrite(setting, asked, found, context)


@pytest.mark.parametrize(
    "setting, asked, found, context",
    [
        ("speculative-draft-window-size", 2048, None, DFLASH),
        ("speculative-draft-window-size", None, 2048, DFLASH),
        ("speculative-draft-attention-backend", "triton", "flashinfer", DFLASH),
        ("speculative-algorithm", "DFLASH", None, {}),
        ("speculative-algorithm", "DFLASH", "EAGLE", {}),
        ("speculative-algorithm", None, "EAGLE", {}),
        ("speculative-num-steps", 5, 1, {"speculative-algorithm": "EAGLE"}),
        ("speculative-num-draft-tokens", 16, 8, DFLASH),
        ("max-running-requests", 64, 48, DFLASH),
        ("attention-backend", "triton", "flashinfer", {}),
        ("tp-size", None, 8, {}),
        ("tp-size", 8, 1, {}),
        ("ep-size", 1, 8, {"tp-size": 8}),
        ("quantization", "fp8", None, {}),
        ("model-path", "/a/target", "/b/target", {}),
        ("chunked-prefill-size", 8192, 4096, {}),
        ("page-size", 1, 64, {"attention-backend": "triton"}),
        ("trust-remote-code", True, False, {}),
    ],
)
def test_an_explicit_value_that_became_another_is_drift(
    setting: str, asked: Json, found: Json, context: dict[str, Json]
) -> None:
    assert not SGLANG.is_rewrite(setting, asked, found, context)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
_SETTING = st.sampled_from(
    ["tp-size", "mem-fraction-static", "trust-remote-code", "served-model-name", "cuda-graph-bs-decode", "x"]
)


@given(_SETTING, _JSON, _JSON)
def test_sameness_is_reflexive_and_symmetric_for_any_values(setting: str, left: Json, right: Json) -> None:
    assert SGLANG.same(setting, left, left)
    assert SGLANG.same(setting, left, right) == SGLANG.same(setting, right, left)
    SGLANG.is_rewrite(setting, left, right, {"speculative-algorithm": left, "dp-size": right})
