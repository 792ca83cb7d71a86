"""The runner against the truth server, and against a server that behaves as a test says."""

from __future__ import annotations

import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from pytest_dflash.endpoint.client import Client
from pytest_dflash.endpoint.trouble import EndpointTrouble, Kind
from pytest_dflash.load.phase import PhaseResult, Progress, Repeat, Stop
from pytest_dflash.load.plan import Plan
from pytest_dflash.load.records import Failure
from pytest_dflash.load.runner import run
from pytest_dflash.load.self_test import self_test, truth_server
from pytest_dflash.load.workload import prompt_of

TLS = Path(__file__).parents[1] / "endpoint" / "tls"
EVENTS = (
    b'data: {"choices":[{"index":0,"delta":{"content":"a"}}]}\n\n'
    b'data: {"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":1}}\n\ndata: [DONE]\n\n'
)
CHUNKED = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n"
GOOD = CHUNKED + b"\r\n%x\r\n%s\r\n0\r\n\r\n" % (len(EVENTS), EVENTS)
CLOSING = CHUNKED + b"connection: close\r\n\r\n%x\r\n%s\r\n0\r\n\r\n" % (len(EVENTS), EVENTS)

Answer = Callable[[int, int], bytes | None]
"""Number of the request over all, and over its connection -> what is sent; None: the connection is closed."""


def plan(**changes: Any) -> Plan:
    asked: dict[str, Any] = {
        "text_class": "prose",
        "concurrency": 2,
        "prompt_tokens": 40,
        "output_tokens": 6,
        "max_repeats": 1,
    }
    return Plan(**(asked | changes))


def carried_out(url: str, asked: Plan, model: str = "m", **options: Any) -> PhaseResult:
    client = {name: options.pop(name) for name in ("key", "ca_file") if name in options}
    with Client(url, served_model=model, **client) as way:
        return run(way.door(), asked, decided=options.pop("decided", lambda _: False), **options)


class Scripted:
    """A server in a thread; each connection is served until it is closed."""

    def __init__(self, answer: Answer, context: ssl.SSLContext | None = None) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.answer, self.context = answer, context
        self.asked: list[bytes] = []
        self.connections = 0
        self.ended = threading.Event()
        self.threads = [threading.Thread(target=self.accept)]
        self.threads[0].start()

    def accept(self) -> None:
        while True:
            connection, _ = self.listener.accept()
            if self.ended.is_set():
                connection.close()
                return
            self.connections += 1
            self.threads.append(threading.Thread(target=self.serve, args=(connection,)))
            self.threads[-1].start()

    def serve(self, connection: socket.socket) -> None:
        mine = 0
        try:
            if self.context:
                connection = self.context.wrap_socket(connection, server_side=True)
            connection.settimeout(0.05)
            raw = b""
            while not self.ended.is_set():
                try:
                    piece = connection.recv(65536)
                except TimeoutError:
                    continue
                if not piece:
                    return
                raw += piece
                head, blank, body = raw.partition(b"\r\n\r\n")
                length = (
                    int(head.partition(b"content-length: ")[2].partition(b"\r\n")[0] or 0) if blank else 1
                )
                if not blank or len(body) < length:
                    continue
                self.asked.append(raw)
                raw, mine = b"", mine + 1
                said = self.answer(len(self.asked) - 1, mine - 1)
                if said is None:
                    return
                connection.sendall(said)
        except OSError:
            return
        finally:
            connection.close()

    def close(self) -> None:
        self.ended.set()
        with socket.create_connection(self.listener.getsockname()):
            pass
        for thread in self.threads:
            thread.join()
        self.listener.close()


@contextmanager
def scripted(answer: Answer, context: ssl.SSLContext | None = None) -> Iterator[tuple[str, Scripted]]:
    server = Scripted(answer, context)
    try:
        scheme = "https" if context else "http"
        yield f"{scheme}://127.0.0.1:{server.listener.getsockname()[1]}", server
    finally:
        server.close()


@pytest.fixture(scope="module")
def truth() -> Iterator[str]:
    with truth_server() as url:
        yield url


def test_a_throw_away_request_and_a_wave_of_the_same_shape_come_first(truth: str) -> None:
    found = carried_out(truth, plan(concurrency=3), "plain")
    assert found.warm_up[0].index == 0
    assert sorted(each.index for each in found.warm_up) == [0, 1, 2, 3]  # those of one wave end as they end
    assert sorted(each.index for each in found.requests) == [4, 5, 6, 7, 8, 9]
    assert all(each.ok for each in [*found.warm_up, *found.requests])
    assert found.stop is Stop.ENOUGH
    assert found.model == "plain"


def test_a_closed_loop_has_no_more_in_flight_than_asked_and_begins_at_once(truth: str) -> None:
    found = carried_out(truth, plan(concurrency=3, per_stream=3), "plain")
    (repeat,) = found.repeats
    for each in repeat.requests:
        running = [o for o in repeat.requests if o.sent_at_s <= each.sent_at_s < o.ended_at_s]
        assert len(running) <= 3
    assert {each.stream for each in repeat.requests} == {0, 1, 2}
    assert max(each.connect_s for each in repeat.requests) == 0.0
    assert repeat.began_at_s <= min(each.sent_at_s for each in repeat.requests)


def test_after_each_repeat_it_is_asked_whether_enough_was_seen(truth: str) -> None:
    seen: list[int] = []

    def decided(repeats: Sequence[Repeat]) -> bool:
        seen.append(len(repeats))
        return len(repeats) == 2

    found = carried_out(truth, plan(max_repeats=9), "plain", decided=decided)
    assert seen == [1, 2]
    assert found.stop is Stop.DECIDED
    assert [repeat.number for repeat in found.repeats] == [0, 1]


def test_no_repeat_is_begun_that_would_not_fit_the_budget(truth: str) -> None:
    found = carried_out(truth, plan(max_repeats=50, time_budget_s=1.2), "plain")
    assert found.stop is Stop.TIME_UP
    assert 0 < len(found.repeats) < 6


@pytest.mark.parametrize("model, tokens", [("short", 3), ("spec", 6), ("reason", 6), ("fast", 6)])
def test_tokens_are_those_that_were_counted(truth: str, model: str, tokens: int) -> None:
    found = carried_out(truth, plan(), model)
    assert {each.output_tokens for each in found.requests} == {tokens}
    assert not found.failed


def test_an_empty_role_chunk_is_not_the_first_token(truth: str) -> None:
    found = carried_out(truth, plan(per_stream=1), "role")
    assert min(found.repeats[0].ttft_s) > 0.45


@pytest.mark.parametrize("route", ["chat", "completions"])
def test_both_routes_can_be_asked(truth: str, route: str) -> None:
    assert not carried_out(truth, plan(route=route), "plain").failed


@pytest.mark.parametrize(
    "model, complaint",
    [
        ("cut", "no [DONE] after 3 chunks with text"),
        ("uncounted", "the engine's usage counts no tokens"),
    ],
)
def test_a_load_of_which_nothing_was_answered_stops_with_the_reason(
    truth: str, model: str, complaint: str
) -> None:
    found = carried_out(truth, plan(max_repeats=9), model)
    assert found.stop is Stop.BROKEN
    assert found.why == complaint
    assert not found.repeats


def test_the_length_of_prompts_is_set_by_what_the_engine_counts(truth: str) -> None:
    found = carried_out(truth, plan(prompt_tokens=400), "plain")
    counted = [each.prompt_tokens or 0 for each in found.requests]
    assert all(abs(count - 400) < 40 for count in counted)
    assert found.warm_up[0].prompt_tokens not in counted


def test_every_prompt_is_another_and_can_be_made_again() -> None:
    with scripted(lambda _, __: GOOD) as (url, server):
        found = carried_out(url, plan(run="r1"))
        bodies = [request.partition(b"\r\n\r\n")[2] for request in server.asked]
    assert len(set(bodies)) == 7
    for each in found.requests:
        said = prompt_of(found.plan, each.index, found.chars_per_token).text
        assert sum(said.split("\n", 1)[0].encode() in body for body in bodies) == 1


def test_a_request_says_what_an_openai_client_would() -> None:
    with scripted(lambda _, __: GOOD) as (url, server):
        carried_out(f"{url}/base/v1/", plan(), key="sk-0123456789")
        head, _, body = server.asked[0].partition(b"\r\n\r\n")
    assert head.startswith(b"POST /base/v1/chat/completions HTTP/1.1\r\nhost: 127.0.0.1:")
    assert b"\r\nauthorization: Bearer sk-0123456789" in head
    assert b'"temperature":0,' in body
    assert b'"stream_options":{"include_usage":true}' in body
    assert b"ignore_eos" not in body


def test_without_a_key_none_is_sent() -> None:
    with scripted(lambda _, __: GOOD) as (url, server):
        carried_out(url, plan())
        assert not any(b"authorization" in request for request in server.asked)


def test_a_server_that_closes_after_each_answer_is_met_anew() -> None:
    with scripted(lambda _, __: CLOSING) as (url, server):
        found = carried_out(url, plan())
        assert not found.failed
        assert server.connections >= 7
    assert max(each.connect_s for each in found.requests) > 0.0


def test_a_connection_that_was_closed_under_a_request_is_no_failure() -> None:
    closed: list[int] = []

    def answer(number: int, mine: int) -> bytes | None:
        # One request meets a connection that was used before and is being closed.
        if mine == 1 and not closed:
            closed.append(number)
            return None
        return GOOD

    with scripted(answer) as (url, server):
        found = carried_out(url, plan())
        assert len(server.asked) == 8
    assert closed
    assert not found.failed


def test_a_server_that_dies_is_told_by_its_last_requests() -> None:
    with scripted(lambda number, _: GOOD if number < 4 else None) as (url, _):
        found = carried_out(url, plan(per_stream=4, max_repeats=5))
    assert found.stop is Stop.BROKEN
    (repeat,) = [each for each in found.repeats if each.failed][:1]
    assert {each.failure for each in repeat.failed} == {Failure.CUT_OFF}


def test_an_abort_ends_everything_within_two_seconds(truth: str) -> None:
    told: list[Progress] = []

    def abort(progress: Progress) -> str | None:
        told.append(progress)
        return "requests of others run" if progress.repeat == 0 else None

    begun = time.monotonic()
    found = carried_out(truth, plan(output_tokens=4000), "plain", abort=abort)
    assert found.stop is Stop.ABORTED
    assert found.why == "requests of others run"
    assert {each.failure for each in found.requests} == {Failure.STOPPED}
    assert not found.failed
    assert told[-1].in_flight == 2
    assert time.monotonic() - begun < 10.0
    (repeat,) = found.repeats
    assert repeat.ended_at_s - repeat.began_at_s < 2.0


def test_an_answer_that_takes_too_long_is_given_up() -> None:
    stuck = CHUNKED + b"\r\n"
    with scripted(lambda number, _: GOOD if number < 4 else stuck) as (url, _):
        found = carried_out(url, plan(request_timeout_s=0.4))
    assert found.repeats[0].failed
    assert found.repeats[0].failed[-1].complaint == "no whole answer within 0.4 s"


def test_each_wave_begins_with_word_of_how_many_requests_are_ours(truth: str) -> None:
    told: list[Progress] = []
    carried_out(truth, plan(), "plain", progress=told.append)
    first = [next(each for each in told if each.repeat == repeat) for repeat in (-1, 0)]
    assert [each.in_flight for each in first] == [1, 2]
    assert [each.ended for each in first] == [0, 3]


def test_progress_tells_how_far_the_load_is(truth: str) -> None:
    told: list[Progress] = []
    carried_out(truth, plan(output_tokens=80), "plain", progress=told.append)
    assert told[-1].repeat == 0
    assert told[-1].statuses == {200: told[-1].ended}
    assert told[-1].chunks > 80
    assert [each.begun for each in told] == sorted(each.begun for each in told)


def test_what_a_watcher_raises_ends_the_load_and_is_not_lost(truth: str) -> None:
    def progress(_: Progress) -> None:
        raise RuntimeError("the terminal is gone")

    with pytest.raises(RuntimeError, match="the terminal is gone"):
        carried_out(truth, plan(output_tokens=400), "plain", progress=progress)


@pytest.mark.slow
def test_ctrl_c_ends_a_load_without_a_trace() -> None:
    code = (
        "import sys; from pytest_dflash.endpoint.client import Client; from pytest_dflash.load.plan import Plan\n"
        "from pytest_dflash.load.runner import run\n"
        "plan = Plan(text_class='prose', concurrency=4, prompt_tokens=40, output_tokens=3000)\n"
        "door = Client(sys.argv[1], served_model='plain').door()\n"
        "tell = lambda seen: print(seen.repeat, flush=True)\n"
        "try: run(door, plan, decided=lambda _: False, progress=tell)\n"
        "except KeyboardInterrupt: print('stopped')\n"
    )
    with truth_server() as url:
        command = [sys.executable, "-W", "error", "-c", code, url]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        with subprocess.Popen(command, **pipes) as process:  # type: ignore[call-overload] # one dict for both
            try:
                while process.stdout.readline().strip() != "0":
                    assert process.poll() is None
                process.send_signal(signal.SIGINT)
                said, complained = process.communicate(timeout=60)
            finally:
                process.kill()
    assert said.splitlines()[-1] == "stopped"
    assert complained == ""


def test_a_service_that_refuses_is_an_error_with_its_words() -> None:
    with (
        scripted(lambda _, __: b"HTTP/1.1 401 Unauthorized\r\ncontent-length: 0\r\n\r\n") as (url, _),
        pytest.raises(EndpointTrouble) as trouble,
    ):
        carried_out(url, plan())
    assert trouble.value.kind is Kind.UNAUTHORISED
    assert str(trouble.value) == f"POST {url}/v1 answered status 401"


def test_a_redirect_is_not_followed() -> None:
    moved = b"HTTP/1.1 307 Temporary Redirect\r\nlocation: http://127.0.0.1:9/\r\ncontent-length: 0\r\n\r\n"
    with scripted(lambda _, __: moved) as (url, server):
        with pytest.raises(EndpointTrouble) as trouble:
            carried_out(url, plan())
        assert len(server.asked) == 1
    assert trouble.value.kind is Kind.REDIRECT


def test_nobody_there_is_an_error_with_the_next_step() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with pytest.raises(EndpointTrouble, match="no connection") as trouble:
        carried_out(f"http://127.0.0.1:{port}", plan())
    assert trouble.value.kind is Kind.UNREACHABLE
    assert trouble.value.remedy


def test_a_load_goes_over_tls_with_the_profiles_own_authority() -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(TLS / "cert.pem", TLS / "key.pem")
    with scripted(lambda _, __: GOOD, context) as (url, _):
        found = carried_out(url, plan(), ca_file=str(TLS / "cert.pem"))
        assert not found.failed
        with pytest.raises(EndpointTrouble, match="certificate") as trouble:
            carried_out(url, plan())
    assert trouble.value.kind is Kind.TLS


@pytest.mark.slow
@pytest.mark.parametrize("concurrency, scenario", [(1, "plain"), (16, "spec"), (64, "plain")])
def test_the_instrument_is_right_about_a_server_of_known_timing(concurrency: int, scenario: str) -> None:
    """Or says that it is not: on a machine that is busy with other things it is given some more tries."""
    for _ in range(5):
        found = self_test(concurrency, scenario)
        if found.late_s < 0.03 and found.busy is None:
            # Left alone it is ten times better: docs/measuring.md.
            assert abs(found.ttft_error_mean_s) < 0.010
            assert abs(found.tpot_error) < 0.02
            assert abs(found.rate_error) < 0.02
            return
    pytest.skip("this machine is too busy to time anything")
