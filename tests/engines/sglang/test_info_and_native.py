"""/server_info, the drafter's own window, and the small answers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_dflash.engines.registry import dialect
from pytest_dflash.facts.reading import Absent, Reading, Silent, Value
from pytest_dflash.findings import Json

SGLANG = dialect("sglang")
SLIDING: dict[str, Json] = {"layer_types": ["full_attention", "sliding_attention"], "sliding_window": 2048}
WHERE = "config.json of the drafter"

_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)


def test_a_value_that_was_changed_at_run_time_counts() -> None:
    document: Json = {
        "model_path": "/m",
        "speculative_accept_threshold_single": 1.0,
        "tp_size": 8,
        "internal_states": [{"speculative_accept_threshold_single": 0.5, "memory_usage": {}, "tp_size": 8}],
        "scheduler_info": {"status": "ready"},
        "version": "0.5.11",
        "launch_command": "--x",
    }
    found = SGLANG.from_info(document)
    assert isinstance(found, Value)
    assert found.value.values == {
        "model-path": "/m",
        "speculative-accept-threshold-single": 0.5,
        "tp-size": 8,
    }
    assert found.where == "/server_info (speculative-accept-threshold-single: internal_states[0])"
    assert SGLANG.version(document) == "0.5.11"


def test_the_old_name_of_the_window_is_read() -> None:
    found = SGLANG.from_info({"model_path": "/m", "speculative_dflash_draft_window_size": 2048})
    assert isinstance(found, Value)
    assert found.value.values["speculative-draft-window-size"] == 2048
    assert found.value.spelled == {"speculative-draft-window-size": "speculative_dflash_draft_window_size"}


@pytest.mark.parametrize("document", [None, [], {}, "x", {"error": "x"}])
def test_another_document_is_silent(document: Json) -> None:
    assert SGLANG.from_info(document) == Silent(
        "the answer is not SGLang's account of itself: it has no model_path"
    )
    assert SGLANG.version(document) is None


@pytest.mark.parametrize(
    "config, version, wanted",
    [
        (SLIDING, "0.5.14", Value(2048, f"{WHERE}: sliding_window")),
        ({"text_config": SLIDING}, "0.5.23", Value(2048, f"{WHERE}: sliding_window")),
        (
            SLIDING,
            "0.5.13.post1",
            Absent(f"{WHERE}: sliding_window is 2048, but SGLang 0.5.13 ignores it (honoured from 0.5.14)"),
        ),
        (
            SLIDING,
            None,
            Silent(
                "sliding_window is 2048, but the engine's version is not known (honoured from 0.5.14)", WHERE
            ),
        ),
        ({"sliding_window": 2048}, "0.5.23", Absent(f"{WHERE}: no layer_types")),
        (
            {**SLIDING, "layer_types": ["full_attention"]},
            "0.5.23",
            Absent(f"{WHERE}: no layer is sliding_attention"),
        ),
        (
            {"layer_types": ["sliding_attention"]},
            "0.5.23",
            Silent("layers are sliding_attention, but sliding_window is None", WHERE),
        ),
        ([], "0.5.23", Silent("the drafter's config is not a JSON object", WHERE)),
    ],
)
def test_the_drafters_own_window(config: Json, version: str | None, wanted: Reading[int]) -> None:
    assert SGLANG.native_window(config, version) == wanted


def test_the_small_answers() -> None:
    assert SGLANG.default_port() == 30000
    assert SGLANG.info_paths() == ("/server_info", "/get_server_info")
    assert (SGLANG.window_setting, SGLANG.budget_flag, SGLANG.budget_flag_offset) == (
        "speculative-draft-window-size",
        "speculative-num-draft-tokens",
        1,
    )


@given(_JSON)
def test_any_document_is_read_without_an_exception(document: Json) -> None:
    SGLANG.from_info(document)
    SGLANG.from_info({"model_path": document, "internal_states": [document], "version": document})
    SGLANG.native_window(document, "0.5.23")
    SGLANG.native_window({"layer_types": document, "sliding_window": document}, "0.5.23")
