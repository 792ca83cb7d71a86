"""What oddities of the engine do to it: so that an accepted host was an odd one."""

from __future__ import annotations

import json
import ssl
from collections.abc import Iterator
from pathlib import Path
from urllib.request import Request, urlopen

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_dflash.rehearsal.engine import log, reasoning
from pytest_dflash.rehearsal.host import StandInHost
from pytest_dflash.rehearsal.tls import CERTIFICATE

STAGED = ("tls-of-its-own", "reasoning-model", "log-in-json", "behind-numactl")


@pytest.fixture(scope="module")
def odd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StandInHost]:
    with StandInHost(tmp_path_factory.mktemp("odd") / "host", STAGED) as host:
        yield host


def ask(host: StandInHost, path: str, body: dict[str, object] | None = None) -> bytes:
    data = json.dumps(body).encode() if body else None
    request = Request(f"https://127.0.0.1:{host.port}{path}", data)
    with urlopen(request, timeout=10, context=ssl.create_default_context(cafile=CERTIFICATE)) as answer:
        return bytes(answer.read())


def test_it_speaks_tls_by_the_certificate_that_is_shipped(odd: StandInHost) -> None:
    assert b"Kimi-K2.6" in ask(odd, "/v1/models")


def test_thoughts_come_in_a_field_of_their_own_and_content_is_null_meanwhile(odd: StandInHost) -> None:
    question = {"role": "user", "content": "Reply with the word ready."}
    body: dict[str, object] = {"messages": [question], "max_tokens": 64, "stream": True}
    events = ask(odd, "/v1/chat/completions", body).decode().split("\n\n")
    deltas = [json.loads(each[6:])["choices"][0]["delta"] for each in events if each.startswith("data: {")]
    assert "".join(each["reasoning_content"] or "" for each in deltas) == "It wants one word."
    assert "".join(each.get("content") or "" for each in deltas) == "ready"
    assert any(each.get("content", "") is None for each in deltas)


def test_a_chat_that_is_asked_not_to_think_answers_at_once(odd: StandInHost) -> None:
    question = {"role": "user", "content": "Reply with the word ready."}
    wish = {"chat_template_kwargs": {"enable_thinking": False}}
    body: dict[str, object] = {"messages": [question], "max_tokens": 64, **wish}
    (choice,) = json.loads(ask(odd, "/v1/chat/completions", body))["choices"]
    assert (choice["message"]["content"], choice["message"]["reasoning_content"]) == ("ready", None)


def test_its_log_is_json_and_its_main_process_is_no_wrapper(odd: StandInHost) -> None:
    lines = odd.tool("journalctl", "-a", "-o", "cat", "-n", "3", "-u", odd.unit).splitlines()
    assert all("message" in json.loads(line) for line in lines)
    shown = odd.tool("systemctl", "show", "-p", "MainPID,ExecStart", odd.unit)
    assert "numactl" in shown
    pid = shown.partition("MainPID=")[2].split()[0]
    assert b"numactl" not in Path(f"/proc/{pid}/cmdline").read_bytes()


@given(st.text("ab</think>"), st.text("ab</think>"), st.data())
def test_however_an_answer_is_cut_its_parts_are_the_same(
    thought: str, answer: str, data: st.DataObject
) -> None:
    whole = f"{thought}{reasoning.END}{answer}"
    expected = whole.partition(reasoning.END)[::2]
    parser, found = reasoning.parser(asked=True), ("", "")
    at = 0
    while at < len(whole):
        until = data.draw(st.integers(at + 1, len(whole)))
        more = parser(whole[at:until])
        found, at = (found[0] + more[0], found[1] + more[1]), until
    assert found == expected


def test_lines_of_a_log_have_three_forms() -> None:
    assert log.FORMS["plain"]("text", "TP0").endswith(" TP0] text")
    assert log.FORMS["coloured"]("text", "TP0").endswith(" TP0]\x1b[0m \x1b[1mtext\x1b[0m")
    assert json.loads(log.FORMS["json"]("text", "TP0"))["message"] == "text"
