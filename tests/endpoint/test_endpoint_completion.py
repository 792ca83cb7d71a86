from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_dflash.endpoint.completion import asked, judge, repeated_text
from pytest_dflash.endpoint.protocol import Ending, Generation, Usage
from pytest_dflash.findings import Outcome

GOOD = Generation(
    ending=Ending.DONE,
    text="Ready.",
    finish_reason="stop",
    usage=Usage(10, 3),
    token_ids=(7, 8, 2),
    first_text_s=0.2,
    duration_s=0.5,
    arrivals_s=(0.2,),
)


def test_a_correct_answer_passes_with_its_measures() -> None:
    judgement = judge(GOOD, expect="(?i)ready", max_tokens=64)
    assert judgement.outcome is Outcome.PASS
    assert judgement.summary == "the answer matches '(?i)ready'"
    assert judgement.measures == {"duration_s": 0.5, "completion_tokens": 3.0, "ttft_ms": 200.0}


def test_without_an_expectation_the_summary_says_that_the_wording_was_not_checked() -> None:
    judgement = judge(GOOD)
    assert judgement.outcome is Outcome.PASS
    assert "its wording was not checked, the profile has no endpoint.expect" in judgement.summary


FAILURES = {
    "error": (
        replace(GOOD, error="CUDA error", ending=Ending.EARLY),
        "the engine answered with an error: CUDA error",
    ),
    "no stream": (
        replace(GOOD, ending=Ending.NO_STREAM),
        "a stream was asked for, and no event came",
    ),
    "cut": (
        replace(GOOD, ending=Ending.EARLY, finish_reason=None, malformed=1),
        "the stream ended without [DONE], after 1 chunks with text and no finish_reason",
    ),
    "no done": (
        replace(GOOD, ending=Ending.EARLY),
        "the stream ended without [DONE], after 1 chunks with text and finish_reason 'stop'",
    ),
    "malformed": (
        replace(GOOD, malformed=2),
        "2 events of the stream are no JSON object: it was cut or mixed up",
    ),
    "aborted": (replace(GOOD, finish_reason="abort"), "the answer ended with finish_reason 'abort'"),
    "no reason": (replace(GOOD, finish_reason=None), "the answer ended with finish_reason None"),
    "empty": (replace(GOOD, text=""), "the answer is empty: neither content nor reasoning"),
    "one token": (
        replace(GOOD, token_ids=(5,) * 8, usage=Usage(1, 8)),
        "the answer is nothing but token 5 again and again",
    ),
    "one character": (
        replace(GOOD, token_ids=None, text="!" * 20),
        "the answer is nothing but '!' again and again",
    ),
    "one word": (
        replace(GOOD, token_ids=None, text="the " * 20),
        "the answer is nothing but 'the ' again and again",
    ),
    "zero usage": (replace(GOOD, usage=Usage(0, 0)), "usage counts 0 tokens for an answer that has text"),
    "fewer received": (replace(GOOD, usage=Usage(1, 5)), "usage counts 5 tokens, 3 were received"),
    "one lost at the limit": (
        replace(GOOD, finish_reason="length", usage=Usage(1, 4)),
        "usage counts 4 tokens, 3 were received",
    ),
    "over the limit": (
        replace(GOOD, token_ids=None, usage=Usage(1, 65)),
        "usage counts 65 tokens, more than the 64 that the request allowed",
    ),
    "other answer": (
        replace(GOOD, text="No."),
        "the answer 'No.' does not match '(?i)ready'",
    ),
    "other answer in the reasoning": (
        replace(GOOD, text="", reasoning="No."),
        "the answer 'No.' does not match '(?i)ready' and stands in reasoning_content, content is empty",
    ),
}


@pytest.mark.parametrize("case", FAILURES)
def test_an_answer_that_is_wrong_fails_and_says_why(case: str) -> None:
    generation, said = FAILURES[case]
    judgement = judge(generation, expect="(?i)ready", max_tokens=64)
    assert judgement.outcome is Outcome.FAIL
    assert judgement.summary == said


def test_a_token_that_ends_the_answer_need_not_be_shown() -> None:
    assert judge(replace(GOOD, token_ids=(7, 8))).outcome is Outcome.PASS


@pytest.mark.parametrize("usage", [None, Usage(None, None), Usage(5, None)])
def test_without_usage_nothing_is_established(usage: Usage | None) -> None:
    judgement = judge(replace(GOOD, usage=usage))
    assert judgement.outcome is Outcome.UNPROVEN
    assert judgement.summary == "the engine gave no usage: the number of tokens cannot be established"


@pytest.mark.parametrize(
    "second, outcome",
    [
        (GOOD, Outcome.PASS),
        (replace(GOOD, text="No."), Outcome.UNPROVEN),
        (replace(GOOD, error="400"), Outcome.UNPROVEN),
    ],
)
def test_a_model_whose_thoughts_used_up_the_limit_is_asked_once_without_them(
    second: Generation, outcome: Outcome
) -> None:
    thinking = replace(GOOD, text="", reasoning="The user wants", finish_reason="length")
    said: list[bool] = []

    def ask(*, thinking: bool = True) -> Generation:
        said.append(thinking)
        return first if thinking else second

    first = thinking
    judgement = asked(ask, expect="(?i)ready", max_tokens=3)
    assert (judgement.outcome, said) == (outcome, [True, False])
    if outcome is Outcome.PASS:
        assert judgement.summary.endswith("; asked not to think, as its thoughts alone used up 3 tokens")
    else:
        assert "still reasoning" in judgement.summary


def test_a_model_that_answers_is_asked_once() -> None:
    said: list[bool] = []

    def ask(*, thinking: bool = True) -> Generation:
        said.append(thinking)
        return GOOD

    assert asked(ask, expect="(?i)ready").outcome is Outcome.PASS
    assert said == [True]


def test_a_limit_that_was_used_up_by_reasoning_decides_nothing() -> None:
    thinking = replace(GOOD, text="", reasoning="The user wants", finish_reason="length")
    judgement = judge(thinking, expect="(?i)ready")
    assert judgement.outcome is Outcome.UNPROVEN
    assert "still reasoning" in judgement.summary


def test_an_answer_in_the_reasoning_is_an_answer_and_is_remarked_upon() -> None:
    judgement = judge(replace(GOOD, text="", reasoning="ready"), expect="(?i)ready")
    assert judgement.outcome is Outcome.PASS
    assert "stands in reasoning_content" in judgement.summary


@pytest.mark.parametrize(
    "text", ["ready", "aaaaaaa", "haha", "The width is a total. The total is a width.", ""]
)
def test_an_ordinary_answer_is_no_babble(text: str) -> None:
    assert repeated_text(text) is None


@given(st.text(min_size=1, max_size=16), st.integers(8, 30))
def test_a_short_unit_many_times_is_babble(unit: str, times: int) -> None:
    assert unit.strip() == "" or len(unit.strip()) < len(unit) or repeated_text(unit * times) is not None
