"""How SGLang, vLLM and unknown engines are asked for tokens and for what they think of given ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_dflash.engines.llamacpp.scoring import LlamaCppScoring
from pytest_dflash.engines.registry import OWN
from pytest_dflash.engines.scoring import Bounds, Drafting, Order, Scored, Scoring, Spoken
from pytest_dflash.engines.sglang.scoring import SGLangScoring
from pytest_dflash.engines.text_scoring import TextScoring
from pytest_dflash.engines.vllm.scoring import VLLMScoring
from pytest_dflash.facts.reading import Absent, Silent, Value

CASES = Path(__file__).parent / "cases" / "scoring"
SGLANG, VLLM, TEXT = SGLangScoring(), VLLMScoring(), TextScoring()
ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


def recorded(name: str) -> Any:
    return json.loads((CASES / name).read_text())


def test_every_engine_of_this_package_has_its_spelling() -> None:
    assert [type(engine.scoring()) for engine in OWN.values()] == [
        SGLangScoring,
        VLLMScoring,
        LlamaCppScoring,
    ]


def test_sglang_is_asked_one_position_earlier_since_the_first_has_no_logprob() -> None:
    ask = SGLANG.score((5, 6, 7, 8), 2, "tiny")
    assert ask is not None
    assert (ask.path, ask.body["logprob_start_len"]) == ("/generate", 1)
    afresh = SGLANG.score((5, 6, 7, 8), 2, "tiny", afresh=True)
    assert afresh is not None
    assert afresh.body["logprob_start_len"] == 0


def test_the_logprobs_of_sglang_are_those_of_the_last_positions() -> None:
    document: Any = {
        "meta_info": {
            "input_token_logprobs": [[None, 5, None], [-0.5, 6, None], [-2.0, 7, None]],
            "input_top_logprobs": [
                None,
                [[-0.5, 6, None], [-3.0, 1, None]],
                [[-0.25, 9, None], [-2.0, 7, None]],
            ],
        }
    }
    found = SGLANG.scored(document, 1, 3)
    assert found == Value(
        (Scored(6, -0.5, ((6, -0.5), (1, -3.0))), Scored(7, -2.0, ((9, -0.25), (7, -2.0)))),
        "POST /generate, input logprobs",
    )
    assert isinstance(found, Value)
    assert [each.gap for each in found.value] == [0.0, 1.75]
    assert found.value[0].lead == 2.5


def test_what_sglang_says_of_its_verify_steps_is_read_in_old_and_new_words() -> None:
    meta: dict[str, Any] = {
        "completion_tokens": 4,
        "prompt_tokens": 3,
        "cached_tokens": 2,
        "spec_verify_ct": 2,
    }
    for name in ("spec_correct_drafts_histogram", "spec_accept_histogram"):
        document: Any = {"text": "x", "output_ids": [1, 2, 3, 4], "meta_info": {**meta, name: [1, 0, 1]}}
        found = SGLANG.spoken(document)
        assert isinstance(found, Value)
        assert (found.value.steps, found.value.histogram) == (2, (1, 0, 1))
        assert found.value.tokens == (1, 2, 3, 4)


@pytest.mark.parametrize(
    "version, algorithm, why",
    [
        ("0.5.17", "DFLASH", "SGLang 0.5.17 refuses logprobs with DFLASH (allowed from 0.5.18)"),
        ("0.5.18", "DFLASH", ""),
        ("0.5.17", "EAGLE3", ""),
        (None, "DFLASH", ""),
        ("0.0.0", "DDTREE", ""),
    ],
)
def test_a_version_that_refuses_logprobs_is_not_asked(version: str | None, algorithm: str, why: str) -> None:
    assert SGLANG.withheld(version, {"speculative-algorithm": algorithm}) == why


def test_sampling_settings_are_neutral_whatever_the_server_has_as_defaults() -> None:
    order = Order(prompt=(1, 2), max_tokens=3, temperature=1.0, seed=9, schema={"type": "object"})
    sampling = SGLANG.generate(order, "tiny").body["sampling_params"]
    assert isinstance(sampling, dict)
    assert sampling.items() >= {"top_p": 1.0, "top_k": -1, "repetition_penalty": 1.0}.items()
    assert sampling["json_schema"] == '{"type": "object"}'
    assert sampling["sampling_seed"] == 9
    body = VLLM.generate(order, "tiny").body
    assert body.items() >= {"top_p": 1.0, "top_k": -1, "repetition_penalty": 1.0, "seed": 9}.items()


def test_the_prompt_logprobs_of_a_real_vllm_are_read() -> None:
    document = recorded("vllm-0.32.0-prompt-logprobs.json")
    found = VLLM.scored(document, 1, 8)
    assert isinstance(found, Value)
    assert [each.token for each in found.value] == [561, 66, 1423, 11, 281, 308, 202]
    third = found.value[2]
    assert third.best[0] == (1791, -2.6131350994110107)
    assert third.gap == pytest.approx(0.2389, abs=1e-4)


def test_the_token_ids_of_a_real_vllm_are_read() -> None:
    found = VLLM.spoken(recorded("vllm-0.32.0-token-ids.json"))
    assert found == Value(
        Spoken(tokens=(2,), text="", finish="stop", prompt_tokens=3, completion_tokens=1),
        "POST /v1/completions",
    )


def test_the_counters_of_vllm_make_generated_tokens_of_accepted_ones() -> None:
    text = "".join(
        f'vllm:spec_decode_num_{name}_total{{engine="0"}} {value}\n'
        for name, value in (("drafts", 399.0), ("draft_tokens", 2793.0), ("accepted_tokens", 1235.0))
    ) + 'vllm:spec_decode_num_accepted_tokens_per_pos_total{engine="0",position="0"} 270.0\n'  # fmt: skip
    assert VLLM.counters(text) == Value(Drafting(1634.0, 399.0, {0: 270.0}), "/metrics")


def test_the_counters_of_sglang_are_generated_tokens_and_verify_calls() -> None:
    text = (
        'sglang:generation_tokens_total{model_name="tiny"} 120.0\n'
        'sglang:spec_verify_calls_total{model_name="tiny"} 30.0\n'
        'sglang:spec_accept_length{model_name="tiny"} 4.0\n'
    )
    assert SGLANG.counters(text) == Value(Drafting(120.0, 30.0), "GET /metrics")


@pytest.mark.parametrize(
    "scoring, engine, family",
    [
        (SGLANG, "sglang", "spec_verify_calls"),
        (VLLM, "vllm", "spec_decode_num_drafts"),
        (LlamaCppScoring(), "llamacpp", "spec_decode_num_drafts"),
    ],
)
def test_counters_are_absent_only_from_a_page_of_this_engine(
    scoring: Scoring, engine: str, family: str
) -> None:
    page = f"{engine}:requests_total 3.0\n{engine}:generation_tokens_total 120.0\n"
    assert scoring.counters(page) == Absent(f"{engine}:{family} in GET /metrics")
    for other in ("", "<html>sign in</html>", "other:requests_total 3.0\n"):
        assert scoring.counters(other) == Silent(
            f"{engine}:{family} is not among the counters", "GET /metrics"
        )


def test_a_page_that_tells_only_some_of_the_counters_was_not_heard() -> None:
    assert SGLANG.counters("sglang:spec_verify_calls_total 3.0\n") == Silent(
        "sglang:generation_tokens is not among the counters", "GET /metrics"
    )
    assert VLLM.counters("vllm:spec_decode_num_drafts_total 3.0\n") == Silent(
        "vllm:spec_decode_num_draft_tokens is not among the counters", "GET /metrics"
    )


def test_edges_come_from_the_settings_that_the_engine_tells() -> None:
    assert SGLANG.bounds({"context-length": 4096, "page-size": 64, "chunked-prefill-size": -1}) == Bounds(
        4096, 64, -1
    )
    assert VLLM.bounds({"max-model-len": 1024, "block-size": 16}) == Bounds(1024, 16, None)


def test_of_an_unknown_engine_only_text_is_to_be_had() -> None:
    assert TEXT.tokenise("x", "tiny") is None
    assert TEXT.score((1, 2), 1, "tiny") is None
    assert "no way is known" in TEXT.withheld(None, {})
    found = TEXT.spoken(
        {"choices": [{"text": "hello", "finish_reason": "stop"}], "usage": {"completion_tokens": 2}}
    )
    assert found == Value(
        Spoken(tokens=None, text="hello", finish="stop", completion_tokens=2), "POST /v1/completions"
    )


@pytest.mark.parametrize("scoring", [SGLANG, VLLM, TEXT], ids=lambda each: type(each).__name__)
@given(document=ANY_JSON, start=st.integers(1, 4), more=st.integers(1, 4))
def test_any_json_gives_a_reading(scoring: Scoring, document: Any, start: int, more: int) -> None:
    wrapped = [document, {"meta_info": document}, {"choices": [document]}, {"choices": document},
               {"meta_info": {"input_token_logprobs": document, "input_top_logprobs": document}},
               {"choices": [{"prompt_logprobs": document, "token_ids": document}]}]  # fmt: skip
    for each in wrapped:
        scoring.ids(each)
        scoring.spoken(each)
        scoring.scored(each, start, start + more)


@pytest.mark.parametrize("scoring", [SGLANG, VLLM, TEXT], ids=lambda each: type(each).__name__)
@given(text=st.text())
def test_any_text_gives_counters_or_silence(scoring: Scoring, text: str) -> None:
    scoring.counters(text)
