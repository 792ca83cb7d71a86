"""The truth server, asked without our own client."""

from __future__ import annotations

import json
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_dflash.rehearsal.truth import wire
from pytest_dflash.rehearsal.truth.scenario import SCENARIOS, Scenario


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    command = [sys.executable, "-m", "pytest_dflash.rehearsal.truth"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield f"http://127.0.0.1:{int(process.stdout.readline())}"
        finally:
            process.kill()


def ask(url: str, path: str, **body: Any) -> str:
    data = json.dumps(body).encode() if body else None
    request = urllib.request.Request(f"{url}{path}", data)
    with urllib.request.urlopen(request, timeout=30) as answer:
        said: bytes = answer.read()
    return said.decode()


def events(said: str) -> list[Any]:
    told = [line.removeprefix("data: ") for line in said.split("\n\n") if line]
    assert told[-1] == "[DONE]"
    return [json.loads(each) for each in told[:-1]]


def stream(url: str, model: str, tokens: int = 8, **more: Any) -> str:
    body = {"model": model, "messages": [], "max_tokens": tokens, "stream": True}
    return ask(url, "/v1/chat/completions", **body, **more)


def test_a_stream_has_a_chunk_for_each_token_and_usage_where_it_was_asked_for(url: str) -> None:
    told = events(stream(url, "plain", stream_options={"include_usage": True}))
    words = [each["choices"][0]["delta"].get("content") for each in told if each["choices"]]
    assert words == [" the"] * 8 + [None]
    assert told[-1]["usage"]["completion_tokens"] == 8
    assert told[-2]["choices"][0]["finish_reason"] == "length"


def test_without_asking_there_is_no_usage(url: str) -> None:
    assert not any("usage" in each for each in events(stream(url, "plain")))


def test_a_chunk_of_the_speculative_server_has_several_tokens(url: str) -> None:
    told = events(stream(url, "spec", 12))
    assert [each["choices"][0]["delta"].get("content", "").count("the") for each in told] == [4, 7, 1, 0]


def test_a_short_answer_says_that_it_ended_by_itself(url: str) -> None:
    told = events(stream(url, "short", stream_options={"include_usage": True}))
    assert told[-1]["usage"]["completion_tokens"] == 4
    assert told[-2]["choices"][0]["finish_reason"] == "stop"


def test_the_role_comes_at_once_and_the_text_later(url: str) -> None:
    begun = time.monotonic()
    told = events(stream(url, "role", 1))
    assert told[0]["choices"][0]["delta"] == {"role": "assistant", "content": ""}
    assert time.monotonic() - begun >= 0.5


def test_reasoning_comes_before_content(url: str) -> None:
    told = events(stream(url, "reason", 10))
    assert ["reasoning_content" in each["choices"][0]["delta"] for each in told[:10]] == [True] * 7 + [
        False
    ] * 3


def test_the_truth_tells_what_happened_and_is_told_once(url: str) -> None:
    ask(url, "/truth")
    stream(url, "plain", 5)
    (truth,) = json.loads(ask(url, "/truth"))
    assert (truth["model"], truth["tokens"], truth["chunks"]) == ("plain", 5, 5)
    assert 0.099 <= truth["first_at_s"] - truth["there_at_s"] < 5
    assert 0.030 <= truth["last_at_s"] - truth["first_at_s"] < 5
    assert truth["there_at_s"] < time.monotonic()
    assert json.loads(ask(url, "/truth")) == []


def test_what_clients_ask_besides_is_answered(url: str) -> None:
    models = [model["id"] for model in json.loads(ask(url, "/v1/models"))["data"]]
    assert models == list(SCENARIOS)
    whole = json.loads(ask(url, "/v1/completions", model="plain", prompt="a", max_tokens=3))
    assert whole["usage"]["completion_tokens"] == 3
    with pytest.raises(urllib.error.HTTPError, match="404"):
        ask(url, "/metrics")
    with pytest.raises(urllib.error.HTTPError, match="404"):
        stream(url, "nope")


@given(st.sampled_from(list(SCENARIOS.values())), st.integers(1, 500))
def test_the_chunks_hold_the_tokens_that_were_asked_for(scenario: Scenario, asked: int) -> None:
    chunks = scenario.chunks(asked)
    assert sum(chunks) == max(int(asked * scenario.ends_at), 1)
    assert min(chunks) > 0
    assert 0 <= scenario.thinks_until(chunks) <= len(chunks)


@given(st.binary(max_size=300))
def test_any_bytes_are_a_request_or_not_yet(raw: bytes) -> None:
    wire.take(bytearray(raw))


def test_a_request_is_taken_when_its_last_byte_is_there() -> None:
    whole = b'POST /v1/chat/completions HTTP/1.1\r\nContent-Length: 10\r\n\r\n{"a": [1]}'
    raw = bytearray()
    for byte in whole[:-1]:
        raw.append(byte)
        assert wire.take(raw) is None
    raw += whole[-1:] + b"GET"
    assert wire.take(raw) == wire.Asked("POST", "/v1/chat/completions", {"a": [1]})
    assert raw == b"GET"
