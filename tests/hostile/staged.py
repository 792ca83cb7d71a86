"""A plugin for a run's command line: hosts that mean harm, under the names that `--dflash-fault` takes here.

Law: a table; `MARK` stands in all that they say, and so do the bytes that nobody may obey.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from pytest_dflash.rehearsal import staged
from pytest_dflash.rehearsal.faults import Fault, stages
from pytest_dflash.rehearsal.faults.stages import Stage

MARK = "dflashHostile"
TERMINAL = (
    "\x1b[2J\x1b]0;owned\x07\x1b]52;c;b3duZWQ=\x07\x1b]8;;http://x.example/\x07link\x1b]8;;\x07\x9b31m\r\x08"
)
BIDI = "\u202egnp.exe\u2066\u200b\ufeff\u2028"
MARKUP = f"<script>alert('{MARK}')</script><img src=x onerror=alert('{MARK}')>" + "{{7*7}}]]>"
ANNOTATION = f"\n::set-output name={MARK}::y\n::error file={MARK}::z\n##vso[task.setvariable variable=x]y\n%0A::warning::{MARK}"
WORDS = MARK + TERMINAL + BIDI + MARKUP + ANNOTATION
OK = "HTTP/1.1 200 OK\r\nconnection: close\r\n"
JSON = OK + "content-type: application/json\r\n\r\n"
EVENTS = OK + "content-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
INFO, MODELS, CHAT, WORDY = "/server_info", "/v1/models", "/v1/chat/completions", "/v1/completions"


def body(document: object) -> dict[str, Any]:
    return {"head": JSON, "piece": json.dumps(document)}


def chunk(text: str) -> str:
    return f"{len(text.encode()):x}\r\n{text}\r\n"


def said(text: str) -> str:
    return "data: " + json.dumps({"choices": [{"index": 0, "delta": {"content": text}}]}) + "\n\n"


def asked(answer: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """The same on both routes that generate."""
    return {CHAT: answer, WORDY: answer}


HUGE = '{"version":1e999,"tp_size":1' + "0" * 4200 + ',"max_total_num_tokens":-1e400}'
REDIRECT = f"HTTP/1.1 307 Go\r\nconnection: close\r\nlocation: http://127.0.0.1:1/{MARK}\r\n\r\n"
LONG = '{"choices":[{"message":{"content":"'
FAILED = "HTTP/1.1 500 x\r\nconnection: close\r\n\r\n"
ERROR = json.dumps({"error": {"message": WORDS}})


ANSWERS: Mapping[str, Mapping[str, Mapping[str, Any]]] = {
    "info of 50 MB": {
        INFO: {
            "head": JSON + "{",
            "piece": '"k%s": "v",',
            "each": 100_000,
            "times": 50,
            "tail": '"version":"0.5.23"}',
        }
    },
    "info of 7 MB, all lists": {
        INFO: {"head": JSON + "[", "piece": "[],", "each": 250_000, "times": 10, "tail": "0]"}
    },
    "info without bottom": {INFO: {"head": JSON, "piece": "[", "each": 100_000, "tail": "1"}},
    "info 900 deep": {INFO: {"head": JSON, "piece": '{"a":' * 900 + "1" + "}" * 900}},
    "info with one key many times": {
        INFO: {"head": JSON + "{", "piece": '"tp_size":1,', "each": 100_000, "tail": '"a":1}'}
    },
    "info with numbers beyond all": {INFO: {"head": JSON, "piece": HUGE}},
    "info that drips": {INFO: {"head": JSON, "piece": " ", "times": 0, "wait_s": 0.2}},
    "info without end": {INFO: {"head": JSON, "piece": " ", "each": 2**20, "times": 0}},
    "a head that drips": {
        MODELS: {"head": "HTTP/1.1 200 OK\r\n", "piece": "x: y\r\n", "times": 0, "wait_s": 0.2}
    },
    "a head without end": {
        MODELS: {"head": "HTTP/1.1 200 OK\r\nx: ", "piece": "y", "each": 2**16, "times": 0}
    },
    "ten thousand headers": {
        MODELS: {"head": "HTTP/1.1 200 OK\r\n", "piece": "x: y\r\n", "each": 10_000, "tail": "\r\n{}"}
    },
    "news without end": {
        MODELS: {"head": "", "piece": "HTTP/1.1 103 Early Hints\r\n\r\n", "times": 0, "wait_s": 0.01}
    },
    "no HTTP": {MODELS: {"head": "", "piece": "SSH-2.0-OpenSSH_9.2\r\n", "times": 3}},
    "a redirect": {MODELS: {"head": REDIRECT, "times": 0, "wait_s": 9}},
    "what is compressed": {
        MODELS: {"head": OK + "content-encoding: gzip\r\n\r\n", "piece": "x", "each": 1000}
    },
    "a stream without end": asked({"head": EVENTS, "piece": chunk(said("x ")), "times": 0, "wait_s": 0.01}),
    "a stream of nothing": asked({"head": EVENTS, "piece": chunk(": ping\n\n"), "times": 0, "wait_s": 0.05}),
    "a chunk of 100 MB": asked(
        {"head": EVENTS + "6400000\r\ndata: ", "piece": "x", "each": 2**20, "times": 100, "tail": "\r\n"}
    ),
    "an answer of 100 MB": asked(
        {"head": JSON + LONG, "piece": "x ", "each": 2**19, "times": 100, "tail": '"}}]}'}
    ),
    "words in answers": asked(
        {"head": EVENTS, "piece": chunk(said(WORDS)) + chunk("data: [DONE]\n\n"), "tail": "0\r\n\r\n"}
    ),
    "words in errors": asked({"head": FAILED, "piece": ERROR}),
    "words in events": asked(
        {"head": EVENTS, "piece": chunk("event: error\ndata: " + ERROR + "\n\n"), "tail": "0\r\n\r\n"}
    ),
    "words in models": {MODELS: body({"data": [{"id": WORDS, "object": "model"}]})},
    "words in info": {
        INFO: body(
            {
                "version": WORDS,
                "model_path": WORDS,
                "tp_size": WORDS,
                WORDS: WORDS,
                "internal_states": [{"speculative_draft_window_size": WORDS}],
            }
        )
    },
}
"""What is answered on which path."""


def _card_of_words() -> Stage:
    return stages.cards(name=WORDS.replace("\n", " ").replace("\r", " ").replace(",", ";"))


def _described(host: Any) -> None:
    stages.edit(
        host,
        host.unit_file.relative_to(host.root).as_posix(),
        "Description=",
        f"Description={MARK}\x1b[2J{BIDI}{MARKUP} ",
    )


def _log_of_words() -> Stage:
    lines = (
        WORDS,
        "\udcff\udcfe\udcf0 " + MARK,
        "::dflash:: end journal 0 -",
        "server_args=ServerArgs(" + WORDS,
    )
    return stages.both(*(stages.tool("control", "line", line) for text in lines for line in text.split("\n")))


HOSTS: Mapping[str, Stage] = {
    **{name: stages.switch(raw_answers=answers) for name, answers in ANSWERS.items()},
    "a line of 20 MB": stages.switch(remarks=[MARK + "x" * 20_000_000]),
    "NULs in the log": stages.switch(remarks=["\0" * 100_000 + MARK, WORDS]),
    "words in the unit": _described,
    "words on the cards": _card_of_words(),
}
LATER: Mapping[str, Stage] = {"words in the log": _log_of_words()}
"""Staged once the engine serves."""


def _entries() -> Iterator[Fault]:
    for name, stage in {**HOSTS, **LATER}.items():
        before, after = (stage, _nothing) if name in HOSTS else (_nothing, stage)
        yield Fault(
            name, "probe", ("endpoint.completion",), name,
            layer="tool", severity="exposure", says=MARK, before=before, after=after,
        )  # fmt: skip


def _nothing(_host: object) -> None:
    """No stage."""


staged.STAGED |= {fault.name: fault for fault in _entries()}  # type: ignore[operator]  # a dict, whatever others may rely on


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Tells how much memory this very process ever held, in KiB."""
    if place := os.environ.get("DFLASH_PEAK"):
        # Not ru_maxrss, which begins with what the parent held when it started us.
        told = Path("/proc/self/status").read_text("utf-8")
        Path(place).write_text(told.partition("VmHWM:")[2].split()[0], "utf-8")
