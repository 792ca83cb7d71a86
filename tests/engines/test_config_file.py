"""The --config file of a command line."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_dflash.engines.config_file import Merged, merged


def words_of(key: str, value: object) -> list[str]:
    return [f"--{key}", str(value)]


def test_the_file_stands_in_front_of_the_line_so_that_the_line_wins() -> None:
    found = merged(("--port", "2", "--config", "/f", "--tp", "8"), {"/f": "port: 1\nseed: 3"}, words_of)
    assert found == Merged(
        ("--port", "1", "--seed", "3", "--port", "2", "--tp", "8"), "command line and /f", complete=True
    )


def test_the_first_word_of_the_line_may_lead() -> None:
    found = merged(
        ("--config", "/f", "model"), {"/f": "port: 1"}, words_of, leads=lambda word: word == "model"
    )
    assert found.words == ("model", "--port", "1")


def test_a_line_without_a_file_stays() -> None:
    assert merged(("--config=/f",), {"/f": "port: 1"}, words_of) == Merged(("--config=/f",))


@pytest.mark.parametrize("files", [{}, {"/f": "- a list"}, {"/f": "port: ["}, {"/f": "a: &a [*a]\n? *a"}])
def test_a_file_that_is_not_here_or_cannot_be_read_leaves_the_line_incomplete(files: dict[str, str]) -> None:
    found = merged(("--config", "/f", "--tp", "8"), files, words_of)
    assert found == Merged(("--tp", "8"), "command line, without /f", complete=False)


def test_an_empty_file_adds_nothing() -> None:
    assert merged(("--config", "/f"), {"/f": ""}, words_of) == Merged((), "command line and /f")


@given(st.lists(st.sampled_from(["--config", "/f", "--tp", "8", ""])), st.text(max_size=60))
def test_any_line_and_any_file_are_merged(words: list[str], text: str) -> None:
    merged(tuple(words), {"/f": text}, words_of)


@pytest.mark.parametrize("masked", ["****", "'****'", '"****"', "[****, ****]", "{a: ****}"])
def test_a_key_that_was_masked_leaves_the_rest_of_the_file_readable(masked: str) -> None:
    found = merged(("--config", "/f"), {"/f": f"api-key: {masked}\nport: 1\nname: a****b\n"}, words_of)
    assert found.complete
    assert found.words[-4:] == ("--port", "1", "--name", "a****b")
