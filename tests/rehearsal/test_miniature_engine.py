from __future__ import annotations

import ast
import http.client
import json
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pytest_dflash.rehearsal import venv
from pytest_dflash.rehearsal.engine import arguments, mischief
from pytest_dflash.rehearsal.host import free_port

ARGV = (
    "--model-path",
    "/srv/models/target",
    "--served-model-name",
    "tiny",
    "--enable-metrics",
    "--tp-size",
    "8",
)
DRAFT = ("--speculative-algorithm", "dflash", "--speculative-draft-model-path", "/srv/models/draft")
ASKED = "Reply with the word ready."


@dataclass(slots=True)
class Running:
    """An engine under test, with all that it has logged."""

    process: subprocess.Popen[str]
    port: int
    lines: list[str]

    def wait_for(self, text: str) -> str:
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline:
            if found := [line for line in self.lines if text in line]:
                return found[0]
            time.sleep(0.01)
        raise AssertionError(f"never logged {text!r}: {self.lines[-5:]}")

    def ask(self, method: str, path: str, body: object = None, **headers: str) -> tuple[int, Any]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        data = body if isinstance(body, bytes) or body is None else json.dumps(body)
        connection.request(method, path, data, headers)
        answer = connection.getresponse()
        said = answer.read()
        connection.close()
        is_json = (answer.getheader("content-type") or "").startswith("application/json")
        return answer.status, json.loads(said) if is_json else said.decode()

    def events(self, path: str, body: dict[str, object]) -> list[Any]:
        _, said = self.ask("POST", path, body | {"stream": True})
        data = [block.removeprefix("data: ") for block in said.split("\n\n") if block]
        return [line if line == "[DONE]" else json.loads(line) for line in data]


def run(argv: Sequence[str], program: Sequence[str] = ("-m", "pytest_dflash.rehearsal.engine")) -> Running:
    port = free_port()
    process = subprocess.Popen(
        [sys.executable, *program, *argv, "--port", str(port)],
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
    )
    lines: list[str] = []
    assert process.stderr is not None
    threading.Thread(target=lambda: lines.extend(process.stderr or ()), daemon=True).start()
    return Running(process, port, lines)


def end(running: Running) -> int:
    running.process.terminate()
    status = running.process.wait(10)
    assert running.process.stderr is not None
    running.process.stderr.close()
    return status


@pytest.fixture(scope="module")
def engine() -> Iterator[Running]:
    running = run([*ARGV, *DRAFT, "--speculative-draft-window-size", "2048"])
    running.wait_for("fired up")
    yield running
    end(running)


def test_the_arguments_line_is_a_literal_with_all_fields(engine: Running) -> None:
    line = engine.wait_for("server_args=")
    fields = ast.literal_eval(line.split("server_args=", 1)[1])

    assert len(fields) == 547  # those of 0.5.23, and the fork's own
    assert (fields["speculative_algorithm"], fields["speculative_draft_window_size"]) == ("DFLASH", 2048)
    assert (fields["speculative_num_draft_tokens"], fields["max_running_requests"]) == (8, 48)


def test_the_draft_runner_tells_its_window(engine: Running) -> None:
    assert engine.wait_for("draft runner. ").endswith(
        " TP0] Initialized DFLASH draft runner. attention_backend=triton, model=DFlashDraftModel, block_size=8, "
        "draft_window_size=2048, compact_cache=True\n"
    )


def test_server_info_repeats_the_fields_above_and_per_scheduler(engine: Running) -> None:
    status, info = engine.ask("GET", "/server_info")

    assert (status, info["version"], info["speculative_draft_window_size"]) == (200, "0.5.23", 2048)
    assert info["internal_states"][0]["speculative_draft_window_size"] == 2048
    assert "--tp-size 8" in info["launch_command"]


def test_old_names_of_routes_still_answer_and_are_logged(engine: Running) -> None:
    assert engine.ask("GET", "/get_server_info")[1]["version"] == "0.5.23"
    assert engine.ask("GET", "/get_model_info")[1]["served_model_name"] == "tiny"
    engine.wait_for("Endpoint '/get_server_info' is deprecated and will be removed in a future version.")


def test_models_names_the_served_model(engine: Running) -> None:
    _, models = engine.ask("GET", "/v1/models")

    assert (models["data"][0]["id"], models["data"][0]["max_model_len"]) == ("tiny", 4096)


@pytest.mark.parametrize("path", ["/v1/completions", "/v1/chat/completions"])
def test_it_says_the_word_that_it_is_asked_for(engine: Running, path: str) -> None:
    body = {"prompt": ASKED, "messages": [{"role": "user", "content": ASKED}], "temperature": 0}
    status, said = engine.ask("POST", path, body)

    (choice,) = said["choices"]
    text = choice["text"] if "text" in choice else choice["message"]["content"]
    assert (status, text, choice["finish_reason"]) == (200, "ready", "stop")
    assert said["usage"]["completion_tokens"] == len("ready") + 1


@pytest.mark.parametrize("path", ["/v1/completions", "/v1/chat/completions"])
def test_a_stream_ends_with_finish_usage_and_done(engine: Running, path: str) -> None:
    events = engine.events(
        path,
        {
            "prompt": "def get_width(self):",
            "messages": [{"role": "user", "content": "width"}],
            "max_tokens": 20,
            "temperature": 0,
            "stream_options": {"include_usage": True},
            "return_token_ids": True,
        },
    )

    assert events[-1] == "[DONE]"
    assert (events[-2]["choices"], events[-2]["usage"]["completion_tokens"]) == ([], 20)
    assert events[-3]["choices"][0]["finish_reason"] == "length"
    widths = [
        len(event["choices"][0]["token_ids"]) for event in events[:-2] if "token_ids" in event["choices"][0]
    ]
    assert (widths[0], sum(widths)) == (1, 20)
    assert max(widths) > 1


def test_stream_and_whole_answer_are_the_same_text(engine: Running) -> None:
    body: dict[str, object] = {"prompt": "long", "max_tokens": 300, "temperature": 0}
    whole = engine.ask("POST", "/v1/completions", body)[1]["choices"][0]["text"]
    streamed = [event["choices"][0]["text"] for event in engine.events("/v1/completions", body)[:-1]]

    assert "".join(streamed) == whole
    assert len(whole) == 300


def test_a_stop_sequence_ends_the_text_before_it(engine: Running) -> None:
    choice = engine.ask("POST", "/v1/completions", {"prompt": ASKED, "stop": ["dy"]})[1]["choices"][0]

    assert (choice["text"], choice["finish_reason"]) == ("rea", "stop")


def test_generate_counts_verifications(engine: Running) -> None:
    body = {"text": "x", "sampling_params": {"max_new_tokens": 26, "ignore_eos": True}}
    _, said = engine.ask("POST", "/generate", body)

    meta = said["meta_info"]
    assert (len(said["output_ids"]), meta["completion_tokens"]) == (26, 26)
    assert meta["spec_accept_length"] == 26 / meta["spec_verify_ct"]
    assert sum(meta["spec_correct_drafts_histogram"]) == meta["spec_verify_ct"]
    assert (
        sum(k * times for k, times in enumerate(meta["spec_correct_drafts_histogram"]))
        == meta["spec_num_correct_drafts"]
    )


@pytest.mark.parametrize(
    "request_line, body, status, words",
    [
        ("GET /v1/nope", None, 404, "Not Found"),
        ("GET /v1/completions", None, 405, "Method Not Allowed"),
        ("POST /v1/completions", b"{not json", 400, "json_invalid"),
        ("POST /v1/chat/completions", {}, 400, "'loc': ('body', 'messages')"),
        (
            "POST /v1/completions",
            {"prompt": "x", "temperature": -3},
            400,
            "non-negative finite number, got -3.0.",
        ),
        (
            "POST /v1/completions",
            {"prompt": "x", "max_tokens": 5000},
            400,
            "maximum context length of 4096 tokens",
        ),
        ("POST /generate", {}, 400, "Either text, input_ids or input_embeds"),
    ],
)
def test_bad_requests_get_the_engines_errors(
    engine: Running, request_line: str, body: object, status: int, words: str
) -> None:
    method, path = request_line.split()
    answered, said = engine.ask(method, path, body)

    assert answered == status
    assert words in said.get("message", said.get("detail", ""))


def test_health_takes_a_second_and_a_generation(engine: Running) -> None:
    before = engine.ask("GET", "/v1/loads")[1]
    began = time.monotonic()

    assert engine.ask("GET", "/health") == (200, "")

    assert time.monotonic() - began >= 1
    assert before["aggregate"]["total_running_reqs"] == 0


def test_metrics_count_tokens_and_flush_forgets_them(engine: Running) -> None:
    engine.ask("POST", "/v1/completions", {"prompt": ASKED})
    text = engine.ask("GET", "/metrics")[1]
    assert 'sglang:generation_tokens_total{engine_type="unified",model_name="tiny"} ' in text
    assert "sglang:spec_accept_length" in text

    assert engine.ask("POST", "/flush_cache")[1].startswith("Cache flushed.")
    assert (
        'sglang:generation_tokens_total{engine_type="unified",model_name="tiny"} 0.0'
        in engine.ask("GET", "/metrics")[1]
    )


def test_each_request_is_one_line_of_the_access_log(engine: Running) -> None:
    engine.ask("GET", "/v1/models?unique=1")

    assert engine.wait_for("unique=1").endswith('- "GET /v1/models?unique=1 HTTP/1.1" 200 OK\n')


def test_a_key_is_asked_for_except_on_open_routes() -> None:
    running = run([*ARGV, "--api-key", "sk-rehearsal-0123456789"])
    try:
        running.wait_for("fired up")
        assert running.ask("GET", "/v1/models")[0] == 401
        assert running.ask("GET", "/v1/models", Authorization="Bearer wrong")[0] == 401
        assert running.ask("GET", "/v1/models", Authorization="Bearer sk-rehearsal-0123456789")[0] == 200
        assert running.ask("GET", "/ready")[0] == 200
    finally:
        end(running)


def test_without_speculation_tokens_come_one_by_one() -> None:
    running = run(ARGV)
    try:
        running.wait_for("fired up")
        events = running.events("/v1/completions", {"prompt": "x", "max_tokens": 4, "return_token_ids": True})
        assert [len(event["choices"][0]["token_ids"]) for event in events[:-1]] == [1, 1, 1, 1]
        assert "spec_accept_length" not in running.ask("POST", "/generate", {"text": "x"})[1]["meta_info"]
        assert not [line for line in running.lines if "draft runner" in line]
    finally:
        end(running)


def test_sigterm_ends_it_cleanly_also_while_loading(tmp_path: Path) -> None:
    python = venv.lay_out(tmp_path / "venv")
    folder = venv.site_packages(tmp_path / "venv") / "sglang/miniature"
    (folder / mischief.FILE).write_text('{"load_hangs": true}', "utf-8")
    process = subprocess.Popen(
        [str(python), "-m", "sglang.launch_server", *ARGV, "--port", str(free_port())],
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    for line in process.stderr:
        if "Load weight begin" in line:
            process.send_signal(signal.SIGTERM)
    assert process.wait(10) == 0
    process.stderr.close()


def test_an_unknown_flag_is_argparses_error() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pytest_dflash.rehearsal.engine", *ARGV, "--speculative-dflash-draft-window-size", "32"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert done.returncode == 2
    assert done.stderr.splitlines()[-1] == (
        "sglang serve: error: unrecognized arguments: --speculative-dflash-draft-window-size 32"
    )


def test_a_taken_port_is_said_and_still_fired_up(engine: Running) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pytest_dflash.rehearsal.engine", *ARGV, "--port", str(engine.port)],
        capture_output=True, text=True, check=False, timeout=10,
    )  # fmt: skip

    assert done.returncode == 3
    assert f"error while attempting to bind on address ('127.0.0.1', {engine.port})" in done.stderr
    assert "The server is fired up and ready to roll!" in done.stderr


def test_arguments_take_prefixes_and_equals_signs() -> None:
    fields, warnings = arguments.resolve(
        [*ARGV, *DRAFT, "--speculative-draft-win=64", "--speculative-num-steps", "3"]
    )

    assert (fields["speculative_draft_window_size"], fields["speculative_num_steps"]) == (64, 1)
    assert (
        "DFLASH only supports speculative_num_steps == 1; overriding speculative_num_steps=3 to 1."
        in warnings
    )


@pytest.mark.parametrize(
    "argv, complaint",
    [
        (("--speculative-algorithm", "DDTREE"), "Unknown speculative algorithm name: DDTREE"),
        (("--speculative-algorithm", "DFLASH"), "DFLASH requires setting --speculative-draft-model-path."),
        ((*DRAFT, "--speculative-draft-window-size", "4"), "must be >= speculative_num_draft_tokens"),
    ],
)
def test_arguments_that_the_engine_refuses(argv: tuple[str, ...], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        arguments.resolve([*ARGV, *argv])


def test_a_window_that_an_algorithm_ignores_is_warned_of() -> None:
    _, warnings = arguments.resolve(
        [
            *ARGV,
            "--speculative-algorithm",
            "NGRAM",
            "--speculative-draft-model-path",
            "x",
            "--speculative-draft-window-size",
            "64",
        ]
    )

    assert warnings == [arguments.window_warning("NGRAM")]


def test_a_misspelt_switch_is_no_healthy_engine(tmp_path: Path) -> None:
    (tmp_path / mischief.FILE).write_text('{"load_hang": true}', "utf-8")

    with pytest.raises(ValueError, match="unknown switches load_hang; known are clock_off_s, completions"):
        mischief.read(tmp_path)
