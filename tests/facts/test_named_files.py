"""Files that the command line of a real process names, read as the process sees them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_dflash.facts.named_files import model_config, named_files
from pytest_dflash.facts.probe import Reply
from pytest_dflash.facts.reading import Silent, Value
from tests.facts.conftest import AskOfAProcess

PROBE = named_files(("--config",), ("--draft",))


@pytest.fixture
def ask(ask_of_a_process: AskOfAProcess) -> Callable[..., Reply]:
    """What the probe says of a Python that was started with these arguments."""
    return partial(ask_of_a_process, PROBE)


def test_a_config_and_the_drafters_own_config_are_read(ask: Callable[..., Reply], tmp_path: Path) -> None:
    (tmp_path / "engine.yaml").write_text("tp-size: 8\n# ümlaut\n")
    (tmp_path / "draft model").mkdir()
    (tmp_path / "draft model" / "config.json").write_text('{"sliding_window": 2048}')
    reading = PROBE.parse(ask("--config", "engine.yaml", f"--draft={tmp_path}/draft model", "--port", "1"))
    assert isinstance(reading, Value)
    assert reading.value == {
        "engine.yaml": "tp-size: 8\n# ümlaut\n",
        f"{tmp_path}/draft model/config.json": '{"sliding_window": 2048}',
    }


def test_what_is_not_there_is_not_in_it(ask: Callable[..., Reply]) -> None:
    reading = PROBE.parse(ask("--config", "missing.yaml", "--draft", "z-lab/a-name-at-a-hub"))
    assert isinstance(reading, Value)
    assert reading.value == {}


def test_text_of_the_command_line_is_data(ask: Callable[..., Reply], tmp_path: Path) -> None:
    reading = PROBE.parse(ask("--config", "$(touch hacked)", "--draft", "`touch hacked`; touch hacked"))
    assert isinstance(reading, Value)
    assert not (tmp_path / "hacked").exists()


def test_a_script_that_fails_is_silent_with_its_words() -> None:
    assert isinstance(PROBE.parse(Reply(b"", b"sh: 1: head: not found\n", 127)), Silent)


def test_the_drafters_config_is_the_first_that_is_json() -> None:
    named = Value(
        {"engine.yaml": "a: 1", "/srv/broken/config.json": "{", "/srv/draft/config.json": '{"a": 1}'}
    )
    assert model_config(named) == Value({"a": 1}, "/srv/draft/config.json")
    assert isinstance(model_config(Value({})), Silent)
    assert isinstance(model_config(Silent("no permission")), Silent)


@given(st.binary(max_size=200), st.integers(0, 255))
def test_any_answer_is_read(stdout: bytes, rc: int) -> None:
    assert isinstance(PROBE.parse(Reply(stdout, b"", rc)), (Value, Silent))
