from __future__ import annotations

import json
from array import array
from itertools import accumulate
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_dflash.load.exchange import Exchange
from pytest_dflash.load.framing import ended, head, spans
from pytest_dflash.load.records import Failure
from pytest_dflash.load.stream import record

CASES = sorted((Path(__file__).parents[1] / "endpoint" / "cases").glob("*/body.sse"))
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
PLAIN = b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n"
DONE = b"data: [DONE]\n\n"


def said(content: str, **more: object) -> bytes:
    return event({"choices": [{"index": 0, "delta": {"content": content}}], **more})


def event(document: object) -> bytes:
    return b"data: " + json.dumps(document).encode() + b"\n\n"


def usage(tokens: int) -> bytes:
    return event({"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": tokens}})


def chunk(data: bytes) -> bytes:
    return f"{len(data):x}\r\n".encode() + data + b"\r\n"


def exchange(*pieces: bytes, sent: float = 100.0) -> Exchange:
    """An answer of which a piece came each second."""
    found = Exchange(4, b"", stream=2, due_at_s=sent, sent_at_s=sent)
    found.raw = bytearray(b"".join(pieces))
    found.ends = array("q", accumulate(map(len, pieces)))
    found.stamps = array("d", [sent + 1 + at for at in range(len(pieces))])
    found.ended_at_s = sent + len(pieces)
    return found


def events(body: bytes) -> list[bytes]:
    return [part + b"\n\n" for part in body.replace(b"\r\n", b"\n").split(b"\n\n") if part]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.parent.name)
def test_a_recorded_answer_reads_under_load_as_it_reads_alone(case: Path) -> None:
    expected = json.loads((case.parent / "expected.json").read_text())
    pieces = [chunk(part) for part in events(case.read_bytes())]
    found = record(exchange(HEAD, *pieces, b"0\r\n\r\n"))
    assert len(found.arrived_at_s) == expected["chunks_with_text"]
    assert found.output_tokens == expected.get("usage", {}).get("completion_tokens")
    assert found.finish_reason == expected.get("finish_reason")
    sound = expected["ending"] == "done" and "error" not in expected and "malformed" not in expected
    if not (sound and expected["chunks_with_text"]):
        assert not found.ok
    elif found.output_tokens:
        assert found.failure is None


@pytest.mark.parametrize("engine, tokens", [("sglang", 15), ("vllm", 15), ("llamacpp", 24)])
def test_the_three_engines_answer_whole(engine: str, tokens: int) -> None:
    (case,) = [case for case in CASES if case.parent.name == f"{engine}-chat-stream"]
    found = record(exchange(HEAD, *map(chunk, events(case.read_bytes())), b"0\r\n\r\n"))
    assert found.ok, found.complaint
    assert found.output_tokens == tokens


def test_the_role_chunk_is_not_the_first_token() -> None:
    role = event({"choices": [{"index": 0, "delta": {"role": "assistant", "content": ""}}]})
    found = record(
        exchange(HEAD + chunk(role), chunk(said("a")), chunk(said("b") + usage(2) + DONE) + b"0\r\n\r\n")
    )
    assert found.ttft_s == 2.0
    assert found.arrived_at_s == (102.0, 103.0)
    assert found.tpot_s == 1.0


def test_reasoning_is_text_too() -> None:
    thought = event({"choices": [{"index": 0, "delta": {"reasoning_content": "hm", "content": None}}]})
    found = record(exchange(HEAD, chunk(thought), chunk(said("so") + usage(2) + DONE), b"0\r\n\r\n"))
    assert found.ttft_s == 2.0
    assert found.text == "hmso"


def test_several_tokens_of_a_chunk_are_counted_by_usage() -> None:
    found = record(exchange(HEAD, chunk(said("a b c")), chunk(said(" d e") + usage(9) + DONE), b"0\r\n\r\n"))
    assert found.output_tokens == 9
    assert found.tpot_s == pytest.approx(1 / 8)
    assert found.chunk_chars == (5, 4)


def test_usage_on_the_chunk_that_finishes_counts() -> None:
    last = said("b", usage={"prompt_tokens": 1, "completion_tokens": 2})
    assert record(exchange(HEAD, chunk(said("a")), chunk(last + DONE), b"0\r\n\r\n")).ok


def test_an_event_that_was_cut_in_two_came_with_its_second_half() -> None:
    whole = chunk(said("a") + usage(1) + DONE) + b"0\r\n\r\n"
    found = record(exchange(HEAD, whole[:20], whole[20:]))
    assert found.ok
    assert found.arrived_at_s == (103.0,)


def test_an_answer_that_ends_with_its_connection_keeps_its_times() -> None:
    found = record(exchange(PLAIN, said("a"), said("b"), usage(2) + DONE))
    assert found.ok
    assert found.arrived_at_s == (102.0, 103.0)


FAILURES = {
    "ends early": ([chunk(said("a")), chunk(usage(1))], Failure.CUT_OFF, "no [DONE] after 1 chunks with text"),
    "error event": (
        [chunk(said("a")), chunk(event({"error": {"message": "out of memory"}}) + DONE), b"0\r\n\r\n"],
        Failure.ERROR_EVENT,
        "the engine said: out of memory",
    ),
    "no usage": (
        [chunk(said("a") + DONE), b"0\r\n\r\n"],
        Failure.NO_USAGE,
        "the engine's usage counts no tokens",
    ),
    "zero usage": (
        [chunk(said("a") + usage(0) + DONE), b"0\r\n\r\n"],
        Failure.NO_USAGE,
        "the engine's usage counts no tokens",
    ),
    "no text": ([chunk(usage(1) + DONE), b"0\r\n\r\n"], Failure.EMPTY, "neither content nor reasoning"),
    "no event": ([b"0\r\n\r\n"], Failure.NO_STREAM, "no event came"),
    "no JSON": (
        [chunk(b"data: {\n\n" + said("a") + usage(1) + DONE), b"0\r\n\r\n"],
        Failure.MALFORMED,
        "1 events are no JSON object",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FAILURES)
def test_what_is_not_whole_and_counted_is_a_failed_request(name: str) -> None:
    pieces, failure, complaint = FAILURES[name]
    found = record(exchange(HEAD, *pieces))
    assert (found.failure, found.complaint) == (failure, complaint)
    assert not found.ok


def test_a_status_is_told_with_what_the_engine_says() -> None:
    body = b'{"error":{"message":"The model `nope` does not exist."}}'
    refused = f"HTTP/1.1 404 Not Found\r\ncontent-length: {len(body)}\r\n\r\n".encode() + body
    found = record(exchange(refused))
    assert found.status == 404
    assert found.failure is Failure.STATUS
    assert found.complaint == "status 404: The model `nope` does not exist."


def test_silence_is_a_cut_off_request() -> None:
    found = record(exchange())
    assert found.failure is Failure.CUT_OFF
    assert found.complaint == "the connection was closed before an answer came"


def test_what_this_side_knows_of_the_failure_comes_first() -> None:
    late = exchange(HEAD, chunk(said("a")))
    late.lost, late.why = Failure.TIMEOUT, "no whole answer within 3 s"
    found = record(late)
    assert (found.failure, found.complaint) == (Failure.TIMEOUT, "no whole answer within 3 s")


def test_where_an_answer_ends_is_told_by_its_last_bytes() -> None:
    whole = HEAD + chunk(said("0\r\n\r\n")) + b"0\r\n\r\n"
    found = head(whole)
    assert found is not None
    assert [at for at in range(len(whole) + 1) if ended(whole[:at], found)] == [len(whole)]


@pytest.mark.parametrize(
    "end", [b"000\r\n\r\n", b"0;why=over\r\n\r\n", b"0\r\nx-digest: a\r\nx-b: c\r\n\r\n"]
)
def test_an_unusual_last_chunk_ends_an_answer_too(end: bytes) -> None:
    whole = HEAD + chunk(b"data: 0\r\n\r\n" + said("a") + usage(1) + DONE.replace(b"\n", b"\r\n")) + end
    found = head(whole)
    assert found is not None
    assert [at for at in range(len(whole) + 1) if ended(whole[:at], found)] == [len(whole)]
    assert spans(whole, found)[1]


def test_an_answer_of_known_length_ends_with_its_last_byte() -> None:
    whole = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
    found = head(whole)
    assert found is not None
    assert ended(whole, found)
    assert not ended(whole[:-1], found)
    assert not found.closes


def test_a_connection_that_will_close_is_not_used_again() -> None:
    found = head(b"HTTP/1.1 200 OK\r\nConnection: Close\r\n\r\n")
    assert found is not None
    assert found.closes


def test_what_is_no_http_has_no_status() -> None:
    found = head(b"SSH-2.0-OpenSSH_9.2\r\n\r\n")
    assert found is not None
    assert found.status == 0
    assert record(exchange(b"SSH-2.0-OpenSSH_9.2\r\n\r\n")).failure is Failure.STATUS


@given(st.lists(st.binary(max_size=40), max_size=8), st.booleans())
def test_any_bytes_make_a_record(pieces: list[bytes], framed: bool) -> None:  # noqa: FBT001 - drawn
    pieces = [piece for piece in pieces if piece]
    found = record(exchange(*([HEAD] if framed else []), *pieces))
    assert not found.ok


@given(st.binary(max_size=200), st.data())
def test_chunks_cut_anywhere_give_the_same_body(body: bytes, data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(body)), max_size=5)))
    parts = [body[a:b] for a, b in zip([0, *cuts], [*cuts, len(body)], strict=True) if a < b]
    raw = HEAD + b"".join(map(chunk, parts)) + b"0\r\n\r\n"
    found = head(raw)
    assert found is not None
    places, whole = spans(raw, found)
    assert whole
    assert b"".join(raw[begin:end] for begin, end in places) == body
