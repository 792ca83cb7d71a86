from __future__ import annotations

import ast
import random
import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_dflash.load import material
from pytest_dflash.load.plan import Plan, TextClass
from pytest_dflash.load.workload import CHARS_PER_TOKEN, TASKS, prompt_of

CLASSES: tuple[TextClass, ...] = ("code", "mathematics", "prose", "long_context")


def plan(text_class: TextClass = "prose", tokens: int = 500) -> Plan:
    return Plan(text_class=text_class, concurrency=1, prompt_tokens=tokens, output_tokens=8)


@pytest.mark.parametrize("text_class", CLASSES)
def test_the_same_seed_and_number_give_the_same_prompt(text_class: TextClass) -> None:
    assert prompt_of(plan(text_class), 3, 4.0) == prompt_of(plan(text_class), 3, 4.0)


@pytest.mark.parametrize("text_class", CLASSES)
def test_no_two_prompts_begin_alike(text_class: TextClass) -> None:
    begins = {prompt_of(plan(text_class), index, 4.0).text[:16] for index in range(200)}
    assert len(begins) == 200


def test_another_run_changes_the_first_line_only() -> None:
    one, other = (prompt_of(replace(plan(), run=run), 0, 4.0).text.split("\n", 1) for run in ("a", "b"))
    assert one[0] != other[0]
    assert one[1] == other[1]


def test_another_seed_changes_the_text() -> None:
    one, other = (prompt_of(replace(plan(), seed=seed), 0, 4.0).text.split("\n", 1) for seed in (1, 2))
    assert one[1] != other[1]


def test_without_fresh_prompts_all_are_one() -> None:
    stale = replace(plan(), fresh=False)
    assert prompt_of(stale, 0, 4.0) == prompt_of(stale, 77, 4.0)


@pytest.mark.parametrize("text_class", CLASSES)
@pytest.mark.parametrize("tokens", [150, 512, 4096, 60_000])
def test_a_prompt_is_as_long_as_asked(text_class: TextClass, tokens: int) -> None:
    text = prompt_of(plan(text_class, tokens), 5, 4.0).text
    assert 0.93 * 4 * tokens - 40 < len(text) <= 4 * tokens + 1


@given(st.sampled_from(CLASSES), st.integers(1, 300), st.integers(0, 10_000), st.floats(0.5, 9))
def test_any_length_gives_a_prompt_that_asks_something(
    text_class: TextClass, tokens: int, index: int, chars: float
) -> None:
    text = prompt_of(plan(text_class, tokens), index, chars).text
    assert text.rstrip()[-1] in ".?"


@pytest.mark.parametrize("index", range(20))
def test_the_planted_fact_stands_in_a_long_context_once_and_on_its_own_line(index: int) -> None:
    prompt = prompt_of(plan("long_context", 2000), index, 4.0)
    assert prompt.expected is not None
    (line,) = [line for line in prompt.text.splitlines() if prompt.expected in line]
    assert line.startswith("Note of the shift leader: the key of room ")


def test_the_planted_fact_stands_anywhere() -> None:
    depths = []
    for index in range(40):
        prompt = prompt_of(plan("long_context", 2000), index, 4.0)
        depths.append(prompt.text.index("Note of the shift leader") / len(prompt.text))
    assert min(depths) < 0.3
    assert max(depths) > 0.7


def test_a_right_answer_to_a_problem_is_recognised_and_a_wrong_one_is_not() -> None:
    for seed in range(50):
        _, expected, _ = TASKS["mathematics"](random.Random(seed))
        assert expected is not None
        right = re.sub(r"\D", "", expected)
        assert re.search(expected, f"The answer is {right}.")
        assert not re.search(expected, f"The answer is {right}1.")


def test_functions_are_python() -> None:
    functions = material.code(random.Random(1))
    for _ in range(50):
        ast.parse(next(functions))


def test_every_class_has_a_first_guess_of_its_length() -> None:
    assert set(CHARS_PER_TOKEN) == set(CLASSES)
