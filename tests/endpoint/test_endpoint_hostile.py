"""Servers that speak HTTP in order to keep, flood or deceive whoever asks."""

from __future__ import annotations

import gzip
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import pytest

from pytest_dflash.endpoint import client as client_module
from pytest_dflash.endpoint.client import Client
from pytest_dflash.endpoint.trouble import EndpointTrouble, Kind

KEY = "canary-key-1"
OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"content-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
Piece = tuple[float, bytes]


@contextmanager
def saying(said: Callable[[], Iterator[Piece]]) -> Iterator[tuple[str, list[bytes]]]:
    """A server that says this to everybody: seconds to wait, and bytes. With the requests that it got."""
    listening = socket.create_server(("127.0.0.1", 0))
    asked: list[bytes] = []
    stopping = threading.Event()

    def answer() -> None:
        while not stopping.is_set():
            with suppress(OSError):
                peer, _ = listening.accept()
                with peer:
                    asked.append(peer.recv(65536))
                    for wait_s, piece in said():
                        if stopping.wait(wait_s):
                            return
                        peer.sendall(piece)

    thread = threading.Thread(target=answer)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}", asked
    finally:
        stopping.set()
        with suppress(OSError):
            listening.shutdown(socket.SHUT_RDWR)
        listening.close()
        thread.join()


def head_in_drips() -> Iterator[Piece]:
    yield 0, OK
    while True:
        yield 0.05, b"x: y\r\n"


def news_without_end() -> Iterator[Piece]:
    while True:
        yield 0.01, b"HTTP/1.1 103 Early Hints\r\n\r\n"


def body_in_drips() -> Iterator[Piece]:
    yield 0, OK + b"content-length: 100000\r\n\r\n"
    while True:
        yield 0.05, b" "


def pings_without_end() -> Iterator[Piece]:
    yield 0, CHUNKED
    while True:
        yield 0.01, b"8\r\n: ping\n\n\r\n"


def words_without_end() -> Iterator[Piece]:
    event = b"data: " + json.dumps({"choices": [{"delta": {"content": "x"}}]}).encode() + b"\n\n"
    yield 0, CHUNKED
    while True:
        yield 0.001, f"{len(event):x}\r\n".encode() + event + b"\r\n"


def half_a_head() -> Iterator[Piece]:
    yield 0, OK + b"x: "
    while True:
        yield 0, b"y" * 65536


def one_event_without_end() -> Iterator[Piece]:
    yield 0, CHUNKED + b"40000000\r\ndata: "
    while True:
        yield 0, b"x" * 2**20


def told(said: Callable[[], Iterator[Piece]], *, stream: bool) -> tuple[EndpointTrouble, float, list[bytes]]:
    with (
        saying(said) as (url, asked),
        Client(url, key=KEY, served_model="m", deadline_s=0.5) as client,
    ):
        begun = time.monotonic()
        with pytest.raises(EndpointTrouble) as caught:
            client.stream("hello") if stream else client.get("/server_info")
        return caught.value, time.monotonic() - begun, asked


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("said", [head_in_drips, news_without_end, body_in_drips])
def test_an_answer_that_never_comes_to_its_end_is_late(
    said: Callable[[], Iterator[Piece]],
    stream: bool,  # noqa: FBT001 - drawn
) -> None:
    trouble, took, _ = told(said, stream=stream)
    assert trouble.kind is Kind.TIMEOUT
    assert str(trouble).endswith("no whole answer within 0.5 s")
    assert took < 10


@pytest.mark.parametrize("said", [pings_without_end, words_without_end])
def test_a_stream_without_end_is_late(said: Callable[[], Iterator[Piece]]) -> None:
    assert told(said, stream=True)[0].kind is Kind.TIMEOUT


def test_a_head_without_end_is_given_up() -> None:
    assert told(half_a_head, stream=False)[0].kind in {Kind.CUT_OFF, Kind.TIMEOUT}


def test_an_event_without_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_module, "MAX_BYTES", 2**20)
    assert told(one_event_without_end, stream=True)[0].kind in {Kind.TOO_LARGE, Kind.TIMEOUT}


def test_what_is_compressed_is_not_unpacked() -> None:
    packed = gzip.compress(b" " * 2**26)

    def said() -> Iterator[Piece]:
        yield 0, OK + f"content-encoding: gzip\r\ncontent-length: {len(packed)}\r\n\r\n".encode() + packed

    trouble, _, asked = told(said, stream=False)
    assert trouble.kind is Kind.NOT_JSON
    assert "an encoding that nobody asked for" in str(trouble)
    assert b"accept-encoding: identity" in asked[0].lower()


def test_the_key_does_not_follow_to_where_a_redirect_leads() -> None:
    def nothing() -> Iterator[Piece]:
        yield 0, OK + b"content-length: 0\r\n\r\n"

    with saying(nothing) as (elsewhere, stolen):

        def said() -> Iterator[Piece]:
            yield (
                0,
                f"HTTP/1.1 307 Temporary Redirect\r\nlocation: {elsewhere}/v1?key={KEY}\r\ncontent-length: 0\r\n\r\n".encode(),
            )

        for stream in (False, True):
            trouble, _, _ = told(said, stream=stream)
            assert trouble.kind is Kind.REDIRECT
            assert KEY not in str(trouble)
        assert stolen == []
