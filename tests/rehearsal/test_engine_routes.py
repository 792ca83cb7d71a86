"""What the miniature engine answers over HTTP: scores, batches, streams, grammars, details, in SGLang's shapes."""

from __future__ import annotations

import http.client
import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pytest_dflash.rehearsal import venv
from pytest_dflash.rehearsal.engine import mischief
from pytest_dflash.rehearsal.host import free_port

ARGV = ("--model-path", "/srv/models/target", "--served-model-name", "tiny", "--enable-metrics", "--enable-cache-report",
        "--speculative-algorithm", "DFLASH", "--speculative-draft-model-path", "/srv/models/draft",
        "--speculative-dflash-enable-ddtree", "--speculative-num-draft-tokens", "16")  # fmt: skip
PROMPT = "The window of the machine "
SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 9},
        "size": {"type": "integer"},
        "kind": {"enum": ["tree", "trunk", "chain"]},
        "tags": {"type": "array", "items": {"type": "boolean"}},
    },
}


@dataclass(slots=True)
class Served:
    """An engine under test."""

    process: subprocess.Popen[str]
    port: int
    lines: list[str]

    def post(self, path: str, body: object) -> tuple[int, Any]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        connection.request("POST", path, json.dumps(body))
        answer = connection.getresponse()
        said = answer.read().decode()
        connection.close()
        is_json = (answer.getheader("content-type") or "").startswith("application/json")
        return answer.status, json.loads(said) if is_json else said

    def generate(self, body: dict[str, object], **sampling: object) -> Any:
        status, said = self.post(
            "/generate", body | {"sampling_params": {"temperature": 0, "max_new_tokens": 24} | sampling}
        )
        assert status == 200, said
        return said

    def complete(self, **body: object) -> Any:
        status, said = self.post("/v1/completions", {"prompt": PROMPT, "temperature": 0} | body)
        assert status == 200, said
        return said

    def events(self, path: str, body: Mapping[str, object]) -> list[Any]:
        _, said = self.post(path, {**body, "stream": True})
        data = [block.removeprefix("data: ") for block in said.split("\n\n") if block]
        assert data.pop() == "[DONE]"
        return [json.loads(line) for line in data]


def serve(program: list[str], *argv: str) -> Served:
    port = free_port()
    process = subprocess.Popen(
        [*program, *ARGV, *argv, "--port", str(port)], stderr=subprocess.PIPE, text=True, errors="replace"
    )
    assert process.stderr is not None
    lines: list[str] = []
    for line in process.stderr:
        lines.append(line)
        if "fired up" in line:
            break
    threading.Thread(target=lambda: lines.extend(process.stderr or ()), daemon=True).start()
    return Served(process, port, lines)


def end(served: Served) -> None:
    served.process.terminate()
    served.process.wait(10)
    assert served.process.stderr is not None
    served.process.stderr.close()


@pytest.fixture(scope="module")
def engine() -> Iterator[Served]:
    served = serve([sys.executable, "-m", "pytest_dflash.rehearsal.engine"])
    yield served
    end(served)


@pytest.fixture
def broken(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Served]:
    """An engine with the switches of the test's parameter, run from a copy, as the stand-in does."""
    python = venv.lay_out(tmp_path / "venv")
    folder = venv.site_packages(tmp_path / "venv") / "sglang/miniature"
    (folder / mischief.FILE).write_text(json.dumps(request.param), "utf-8")
    served = serve([str(python), "-m", "sglang.launch_server"])
    yield served
    end(served)


def test_generate_scores_its_prompt_and_its_answer(engine: Served) -> None:
    ids = engine.post("/tokenize", {"prompt": PROMPT})[1]["tokens"]
    said = engine.generate({
        "input_ids": ids, "return_logprob": True, "logprob_start_len": 10, "top_logprobs_num": 2,
        "token_ids_logprob": [0, 1],
    })  # fmt: skip

    meta = said["meta_info"]
    assert (meta["prompt_tokens"], meta["completion_tokens"], len(said["output_ids"])) == (len(ids), 24, 24)
    assert [each[1] for each in meta["input_token_logprobs"]] == ids[10:]
    assert meta["input_token_logprobs"][0] == [None, ids[10], None]
    assert (meta["input_top_logprobs"][0], meta["input_token_ids_logprobs"][0]) == (None, None)
    assert [len(each) for each in meta["input_top_logprobs"][1:]] == [2] * (len(ids) - 11)
    assert [each[1] for each in meta["output_token_logprobs"]] == said["output_ids"]
    assert [each[0][1] for each in meta["output_top_logprobs"]] == said["output_ids"]
    assert [[each[1] for each in pair] for pair in meta["output_token_ids_logprobs"]] == [[0, 1]] * 24
    assert meta["finish_reason"] == {"type": "length", "length": 24}


def test_scores_are_told_with_text_where_that_is_wanted(engine: Served) -> None:
    said = engine.generate(
        {"text": "Reply with the word ready.", "return_logprob": True, "return_text_in_logprobs": True}
    )

    assert said["meta_info"]["input_token_logprobs"] == []
    assert "".join(each[2] for each in said["meta_info"]["output_token_logprobs"]) == said["text"] == "ready"
    assert said["meta_info"]["finish_reason"] == {"type": "stop", "matched": 2}


def test_reading_an_answer_again_finds_every_token_the_likeliest(engine: Served) -> None:
    said = engine.generate({"text": PROMPT})
    prompt = engine.post("/tokenize", {"prompt": PROMPT})[1]["tokens"]
    read = engine.generate(
        {"input_ids": prompt + said["output_ids"], "return_logprob": True,
         "logprob_start_len": len(prompt) - 1, "top_logprobs_num": 1},
        max_new_tokens=0,
    )  # fmt: skip

    assert (read["output_ids"], read["text"], read["meta_info"]["completion_tokens"]) == ([], "", 0)
    assert [each[0][1] for each in read["meta_info"]["input_top_logprobs"][1:]] == said["output_ids"]
    assert read["meta_info"]["cached_tokens"] <= len(prompt) - 1


def test_several_prompts_are_answered_in_their_order(engine: Served) -> None:
    alone = [engine.generate({"text": text})["text"] for text in (PROMPT, "a tree")]
    both = engine.generate({"text": [PROMPT, "a tree"]})

    assert [each["text"] for each in both] == alone
    each_its_own = engine.post("/generate", {
        "text": [PROMPT, "a tree"], "sampling_params": [{"max_new_tokens": 3}, {"max_new_tokens": 5}],
    })[1]  # fmt: skip
    assert [len(each["output_ids"]) for each in each_its_own] == [3, 5]


def test_a_stream_of_generate_grows_to_the_whole_answer(engine: Served) -> None:
    whole = engine.generate({"text": PROMPT}, max_new_tokens=40)
    body = {"text": PROMPT, "sampling_params": {"temperature": 0, "max_new_tokens": 40}}
    events = engine.events("/generate", body)

    sizes = [len(event["output_ids"]) for event in events]
    assert sizes == sorted(set(sizes))
    assert (events[-1]["text"], events[-1]["output_ids"]) == (whole["text"], whole["output_ids"])
    assert events[0]["meta_info"]["finish_reason"] is None
    assert events[-1]["meta_info"]["finish_reason"] == {"type": "length", "length": 40}


def test_a_prompt_asked_again_comes_from_the_cache_until_it_is_flushed(engine: Served) -> None:
    prompt = "a prompt that nobody else asks for"
    first, again = (engine.generate({"text": prompt}) for _ in range(2))
    assert engine.post("/flush_cache", {})[0] == 200
    cold = engine.generate({"text": prompt})

    assert [each["meta_info"]["cached_tokens"] for each in (again, cold)] == [len(prompt) - 1, 0]
    assert first["output_ids"] == again["output_ids"] == cold["output_ids"]


def test_usage_reports_what_was_cached(engine: Served) -> None:
    engine.complete(prompt="seen before: the usage of the cache")
    usage = engine.complete(prompt="seen before: the usage of the cache")["usage"]

    assert usage["prompt_tokens"] == len("seen before: the usage of the cache")
    assert usage["prompt_tokens_details"] == {"cached_tokens": usage["prompt_tokens"] - 1}


def test_completions_tell_log_probabilities_and_echo(engine: Served) -> None:
    said = engine.complete(max_tokens=8, logprobs=2, echo=True)["choices"][0]

    logs = said["logprobs"]
    assert said["text"].startswith(PROMPT)
    assert "".join(logs["tokens"]) == said["text"]
    assert (logs["token_logprobs"][0], logs["top_logprobs"][0]) == (None, None)
    assert [len(each) for each in logs["top_logprobs"][1:]] == [2] * (len(PROMPT) + 7)


@pytest.mark.parametrize("stream", [False, True])
def test_chats_tell_log_probabilities_by_token(engine: Served, *, stream: bool) -> None:
    body = {
        "messages": [{"role": "user", "content": "Reply with the word ready."}],
        "logprobs": True, "top_logprobs": 2, "temperature": 0,
    }  # fmt: skip
    if stream:
        events = engine.events("/v1/chat/completions", body)
        content = [each for e in events if (told := e["choices"][0]["logprobs"]) for each in told["content"]]
    else:
        content = engine.post("/v1/chat/completions", body)[1]["choices"][0]["logprobs"]["content"]

    assert [each["token"] for each in content] == [*"ready", ""]
    assert content[0]["bytes"] == [ord("r")]
    assert len(content[0]["top_logprobs"]) == 2


def test_several_prompts_of_a_completion_are_choices(engine: Served) -> None:
    said = engine.complete(prompt=[PROMPT, "a tree"], max_tokens=5)

    assert [choice["index"] for choice in said["choices"]] == [0, 1]
    assert said["usage"]["completion_tokens"] == 10
    assert said["usage"]["prompt_tokens"] == len(PROMPT) + len("a tree")


def test_the_same_seed_draws_the_same_and_another_does_not(engine: Served) -> None:
    def drawn(seed: int) -> str:
        text: str = engine.complete(temperature=1.0, seed=seed, max_tokens=60)["choices"][0]["text"]
        return text

    assert drawn(1) == drawn(1) != drawn(2)


def test_a_schema_is_obeyed_by_either_way_of_asking(engine: Served) -> None:
    form = {"type": "json_schema", "json_schema": {"name": "x", "schema": SCHEMA}}
    texts = [
        engine.complete(response_format=form, max_tokens=200)["choices"][0]["text"],
        engine.complete(response_format=form, max_tokens=200, temperature=1.0)["choices"][0]["text"],
        engine.generate({"text": PROMPT}, json_schema=json.dumps(SCHEMA), max_new_tokens=200)["text"],
    ]

    for text in texts:
        value = json.loads(text)
        assert list(value) == ["name", "size", "kind", "tags"]
        assert isinstance(value["name"], str)
        assert isinstance(value["size"], int)
        assert value["kind"] in ("tree", "trunk", "chain")
        assert all(isinstance(each, bool) for each in value["tags"])


@pytest.mark.parametrize("route", ["/v1/completions", "/v1/chat/completions"])
def test_details_of_speculation_are_told_on_request(engine: Served, route: str) -> None:
    body = {"prompt": PROMPT, "messages": [{"role": "user", "content": "x"}], "max_tokens": 40}
    details = engine.post(route, body | {"return_spec_tokens_details": True})[1]["sglext"][
        "spec_tokens_details"
    ]

    assert details["spec_accept_length"] == 40 / details["spec_verify_ct"]
    assert sum(details["spec_correct_drafts_histogram"]) == details["spec_verify_ct"]
    assert details["spec_num_proposed_drafts"] == 15 * details["spec_verify_ct"]


def test_a_chat_tells_meta_info_on_request_but_not_streamed(engine: Served) -> None:
    body = {"messages": [{"role": "user", "content": "x"}], "max_tokens": 10, "return_meta_info": True}
    said = engine.post("/v1/chat/completions", body)[1]

    assert said["choices"][0]["meta_info"]["completion_tokens"] == 10
    status, refused = engine.post("/v1/chat/completions", body | {"stream": True})
    assert (status, refused["message"]) == (400, "return_meta_info is not supported with stream.")


def test_requests_at_once_say_what_each_says_alone(engine: Served) -> None:
    prompts = [f"request number {index} of a batch " * (index + 1) for index in range(8)]
    alone = [engine.generate({"text": prompt})["output_ids"] for prompt in prompts]
    assert engine.post("/flush_cache", {})[0] == 200
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(lambda prompt: engine.generate({"text": prompt})["output_ids"], prompts))

    assert together == alone


@pytest.mark.parametrize(
    "body, words",
    [
        ({"text": ""}, "The prompt is empty."),
        ({"input_ids": [1, 999]}, "outside the vocabulary"),
        ({"text": "x", "sampling_params": {"temperature": -1}}, "temperature must be a non-negative"),
        ({"text": "x", "sampling_params": {"max_new_tokens": 9000}}, "maximum context length of 4096 tokens"),
        ({"text": "x", "return_logprob": True, "logprob_start_len": 7}, "higher than the number of input tokens 1"),
        ({"text": "x", "sampling_params": {"sampling_seed": "x"}}, "1 validation error"),
        ({"text": "x", "sampling_params": ["x"]}, "1 validation error"),
        ({"text": 7}, "1 validation error"),
        ({"text": "x", "sampling_params": {"json_schema": "{"}}, "Failed to compile json_schema grammar"),
        ({"text": "x", "sampling_params": {"json_schema": '{"type": "uuid"}'}}, "type 'uuid' is not among"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused_with_a_reason(engine: Served, body: object, words: str) -> None:
    status, said = engine.post("/generate", body)

    assert status == 400
    assert words in said["message"]


def test_a_client_that_goes_away_takes_its_request_along(engine: Served) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", engine.port, timeout=10)
    body = {"prompt": PROMPT, "max_tokens": 3500, "stream": True}
    connection.request("POST", "/v1/completions", json.dumps(body))
    connection.getresponse().read(100)
    connection.sock.close()
    connection.close()

    deadline = time.monotonic() + 10
    while engine.post("/flush_cache", {})[0] != 200:
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.mark.parametrize("broken", [{"corruptions": ["siblings-visible"]}], indirect=True)
def test_a_corruption_is_staged_by_the_file_of_switches(engine: Served, broken: Served) -> None:
    assert (
        broken.generate({"text": PROMPT}, max_new_tokens=80)["output_ids"]
        != (engine.generate({"text": PROMPT}, max_new_tokens=80)["output_ids"])
    )


@pytest.mark.parametrize("broken", [{"pace": {"step_ms": 20, "ttft_ms": 100}}], indirect=True)
def test_a_stream_keeps_the_pace(broken: Served) -> None:
    steps = broken.generate({"text": PROMPT}, max_new_tokens=60)["meta_info"]["spec_verify_ct"]
    began = time.monotonic()
    broken.events("/v1/completions", {"prompt": PROMPT, "max_tokens": 60, "temperature": 0})

    assert time.monotonic() - began >= 0.1 + 0.02 * steps
