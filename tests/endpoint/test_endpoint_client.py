from __future__ import annotations

import json
import logging
import socket
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_dflash.endpoint import client as client_module
from pytest_dflash.endpoint.client import Client
from pytest_dflash.endpoint.completion import judge
from pytest_dflash.endpoint.protocol import Ending
from pytest_dflash.endpoint.trouble import REMEDIES, EndpointTrouble, Kind
from pytest_dflash.findings import Outcome

CASES = Path(__file__).parent / "cases"
TLS = Path(__file__).parent / "tls"
CHAT = ("POST", "/v1/chat/completions")
KEY = "sesame-sesame"
MODELS = b'{"object": "list", "data": [{"id": "tiny"}, {"id": "other"}]}'


def trouble(ask: Callable[[], object]) -> EndpointTrouble:
    with pytest.raises(EndpointTrouble) as caught:
        ask()
    assert caught.value.remedy == REMEDIES[caught.value.kind]
    return caught.value


def closed_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def recorded(case: str) -> bytes:
    (body,) = (CASES / case).glob("body.*")
    return body.read_bytes()


class TestPassiveRoutes:
    def test_the_answer_is_handed_over_as_it_is(self, service: Any) -> None:
        service.answer("GET", "/server_info", b'{"tp_size": 8}', headers={"X-Engine": "7"})
        with Client(service.url + "/v1/") as client:
            answer = client.get("/server_info")
        assert (answer.status, answer.json, answer.text) == (200, {"tp_size": 8}, '{"tp_size": 8}')
        assert answer.headers["x-engine"] == "7"
        assert answer.document() == {"tp_size": 8}
        assert answer.elapsed_s < 5

    def test_a_status_is_part_of_the_answer(self, service: Any) -> None:
        with Client(service.url) as client:
            answer = client.get("/get_server_info")
            assert answer.status == 404
            error = trouble(answer.document)
        assert error.kind is Kind.NOT_FOUND
        assert str(error) == "GET /get_server_info answered 404: Not Found"

    def test_text_is_no_document(self, service: Any) -> None:
        service.answer("GET", "/metrics", b"# HELP sglang:x")
        with Client(service.url) as client:
            answer = client.get("/metrics")
        assert answer.json is None
        assert answer.text == "# HELP sglang:x"
        assert str(trouble(answer.document)) == "GET /metrics answered 200 with no JSON"

    def test_bytes_that_are_no_text_do_not_hurt(self, service: Any) -> None:
        service.answer("GET", "/x", b"\xff\x00{")
        with Client(service.url) as client:
            assert client.get("/x").text == "\ufffd\x00{"

    def test_a_redirect_is_not_followed(self, service: Any) -> None:
        service.answer("GET", "/x", b"", status=302, headers={"location": f"{service.url}/elsewhere"})
        with Client(service.url, key=KEY) as client:
            error = trouble(lambda: client.get("/x"))
        assert error.kind is Kind.REDIRECT
        assert error.status == 302
        assert [path for _, path, _, _ in service.requests] == ["/x"]

    def test_an_answer_without_end_is_cut_off(self, service: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(client_module, "MAX_PASSIVE_BYTES", 2**20)
        service.answer("GET", "/x", *[b"x" * 2**18] * 8)
        with Client(service.url) as client:
            error = trouble(lambda: client.get("/x"))
        assert error.kind is Kind.TOO_LARGE
        assert str(error) == f"GET {service.url}/x: the answer is larger than 1 MiB"

    def test_the_models_are_listed(self, service: Any) -> None:
        service.answer("GET", "/v1/models", MODELS)
        with Client(service.url) as client:
            assert client.models() == ("tiny", "other")

    @pytest.mark.parametrize("body", [b"[]", b'{"data": 7}', b'{"data": [1, {"id": 2}]}'])
    def test_an_odd_list_of_models_is_empty(self, body: bytes, service: Any) -> None:
        service.answer("GET", "/v1/models", body)
        with Client(service.url) as client:
            assert client.models() == ()


class TestCompletions:
    def test_a_chat_is_asked_greedily_of_the_first_model(self, service: Any) -> None:
        service.answer("GET", "/v1/models", MODELS)
        service.answer(*CHAT, recorded("sglang-chat"))
        with Client(service.url) as client:
            generation = client.complete("width", max_tokens=24)
        assert judge(generation, expect="width", max_tokens=24).outcome is Outcome.PASS
        assert generation.ending is Ending.WHOLE
        assert json.loads(service.requests[-1][3]) == {
            "model": "tiny",
            "messages": [{"role": "user", "content": "width"}],
            "temperature": 0,
            "max_tokens": 24,
        }

    def test_a_stream_is_asked_with_usage(self, service: Any) -> None:
        service.answer(*CHAT, recorded("vllm-chat-stream"), headers={"content-type": "text/event-stream"})
        with Client(service.url, served_model="tiny") as client:
            generation = client.stream("width")
        assert generation.ending is Ending.DONE
        assert generation.usage is not None
        assert generation.usage.completion_tokens == 15
        body = json.loads(service.requests[-1][3])
        assert body["stream"] is True
        assert body["stream_options"] == {"include_usage": True}
        assert body["max_tokens"] == 64

    def test_token_ids_are_asked_for_on_the_completions_route(self, service: Any) -> None:
        service.answer("POST", "/v1/completions", recorded("sglang-token-ids-stream"))
        with Client(service.url, served_model="tiny") as client:
            generation = client.stream("def", route="completions", token_ids=True)
        assert generation.token_ids is not None
        assert len(generation.token_ids) == 24
        body = json.loads(service.requests[-1][3])
        assert body["return_token_ids"] is True
        assert body["prompt"] == "def"

    def test_a_base_path_is_kept(self, service: Any) -> None:
        service.answer("POST", "/base/v1/chat/completions", recorded("sglang-chat"))
        with Client(service.url + "/base/", served_model="tiny") as client:
            assert client.complete("x").finish_reason == "stop"

    def test_a_connection_that_breaks_ends_the_stream(self, service: Any) -> None:
        service.answer(*CHAT, recorded("sglang-chat-stream")[:700], length=9999)
        with Client(service.url, served_model="tiny") as client:
            generation = client.stream("x")
        assert generation.ending is Ending.EARLY
        assert generation.text == "The"
        assert judge(generation).outcome is Outcome.FAIL

    def test_a_whole_answer_that_breaks_is_cut_off(self, service: Any) -> None:
        service.answer(*CHAT, b'{"choices"', length=9999)
        with Client(service.url, served_model="tiny") as client:
            assert trouble(lambda: client.complete("x")).kind is Kind.CUT_OFF

    def test_a_page_is_no_completion(self, service: Any) -> None:
        service.answer(*CHAT, b"<html>")
        with Client(service.url, served_model="tiny") as client:
            assert trouble(lambda: client.complete("x")).kind is Kind.NOT_JSON

    def test_a_page_is_no_stream(self, service: Any) -> None:
        service.answer(*CHAT, b"<html>")
        with Client(service.url, served_model="tiny") as client:
            assert client.stream("x").ending is Ending.NO_STREAM

    def test_a_service_without_models_cannot_be_asked(self, service: Any) -> None:
        service.answer("GET", "/v1/models", b'{"data": []}')
        with Client(service.url) as client:
            assert str(trouble(lambda: client.complete("x"))) == f"GET {service.url}/v1/models lists no model"

    @pytest.mark.parametrize(
        "status, kind",
        [
            (302, Kind.REDIRECT),
            (400, Kind.REJECTED),
            (401, Kind.UNAUTHORISED),
            (403, Kind.UNAUTHORISED),
            (404, Kind.NOT_FOUND),
            (500, Kind.SERVER_ERROR),
            (503, Kind.SERVER_ERROR),
        ],
    )
    def test_a_status_is_told_with_what_the_engine_said(self, status: int, kind: Kind, service: Any) -> None:
        said = json.dumps({"error": {"message": f"no, {KEY}"}}).encode()
        service.answer(*CHAT, said, status=status, headers={"location": "http://127.0.0.1:1/"})
        with Client(service.url, key=KEY, served_model="tiny") as client:
            error = trouble(lambda: client.stream("x"))
        assert (error.kind, error.status) == (kind, status)
        assert str(error) == f"POST {service.url}/v1/chat/completions answered {status}: no, ****"
        assert len(service.requests) == 1

    def test_nothing_is_retried(self, service: Any) -> None:
        service.answer(*CHAT, b"{}", status=503, headers={"retry-after": "1"})
        with Client(service.url, served_model="tiny") as client:
            trouble(lambda: client.complete("x"))
        assert len(service.requests) == 1


class TestNoAnswer:
    def test_a_closed_port_is_refused(self) -> None:
        port = closed_port()
        with Client(f"http://127.0.0.1:{port}", served_model="tiny") as client:
            for ask in (lambda: client.get("/x"), lambda: client.complete("x")):
                error = trouble(ask)
                assert error.kind is Kind.REFUSED
                assert str(error).endswith(": connection refused")

    def test_a_service_that_accepts_and_says_nothing_runs_into_the_deadline(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as silent:
            url = f"http://127.0.0.1:{silent.getsockname()[1]}"
            with Client(url, served_model="tiny", deadline_s=0.1) as client:
                for ask in (lambda: client.get("/x"), lambda: client.stream("x")):
                    error = trouble(ask)
                    assert error.kind is Kind.TIMEOUT
                    assert str(error).endswith(": no whole answer within 0.1 s")

    def test_an_answer_that_trickles_runs_into_the_deadline(self, service: Any) -> None:
        service.answer("GET", "/x", *[b"x"] * 100, before_each=lambda: service.released.wait(0.04))
        with Client(service.url, deadline_s=0.2) as client:
            assert trouble(lambda: client.get("/x")).kind is Kind.TIMEOUT

    def test_a_stream_that_stalls_runs_into_the_deadline(self, service: Any) -> None:
        pieces = (recorded("sglang-chat-stream")[:700], b"x")
        stalls = iter([lambda: None, service.wait])
        service.answer(
            *CHAT,
            *pieces,
            before_each=lambda: next(stalls)(),  # noqa: PLW0108 - each call takes the next one
        )
        with Client(service.url, served_model="tiny", deadline_s=0.2) as client:
            assert trouble(lambda: client.stream("x")).kind is Kind.TIMEOUT

    def test_a_service_that_does_not_speak_http_is_cut_off(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as odd:

            def talk() -> None:
                connection, _ = odd.accept()
                with connection:
                    connection.recv(1000)
                    connection.sendall(b"SSH-2.0-OpenSSH_9.2\r\n")

            thread = threading.Thread(target=talk)
            thread.start()
            with Client(f"http://127.0.0.1:{odd.getsockname()[1]}") as client:
                assert trouble(lambda: client.get("/x")).kind is Kind.CUT_OFF
            thread.join()


class TestTls:
    def test_a_private_authority_is_trusted_where_it_is_named(self, tls_service: Any) -> None:
        tls_service.answer("GET", "/v1/models", MODELS)
        with Client(f"https://127.0.0.1:{tls_service.port}", ca_file=str(TLS / "cert.pem")) as client:
            assert client.models() == ("tiny", "other")

    def test_an_unknown_authority_is_not_trusted(self, tls_service: Any) -> None:
        with Client(f"https://127.0.0.1:{tls_service.port}") as client:
            error = trouble(lambda: client.get("/x"))
        assert error.kind is Kind.TLS
        assert "certificate verify failed" in str(error)
        assert str(error).endswith(
            "; endpoint.ca_file names a private authority, endpoint.url a name that the certificate has"
        )

    def test_https_of_a_port_without_tls(self, service: Any) -> None:
        with Client(f"https://127.0.0.1:{service.port}") as client:
            assert trouble(lambda: client.get("/x")).kind is Kind.TLS

    def test_a_missing_file_of_certificates(self, tmp_path: Path) -> None:
        error = trouble(lambda: Client("https://h", ca_file=str(tmp_path / "none.pem")))
        assert str(error).endswith("none.pem: cannot be used as endpoint.ca_file: No such file or directory")

    def test_a_file_without_certificates(self, tmp_path: Path) -> None:
        (tmp_path / "ca.pem").write_text("x")
        error = trouble(lambda: Client("https://h", ca_file=str(tmp_path / "ca.pem")))
        assert str(error).endswith("ca.pem: cannot be used as endpoint.ca_file: it holds no certificate")


class TestKey:
    def test_it_goes_along(self, service: Any) -> None:
        service.answer("GET", "/v1/models", MODELS)
        service.answer(*CHAT, recorded("sglang-chat"))
        with Client(service.url, key=f"{KEY}\n") as client:
            client.complete("x")
        assert [headers["authorization"] for _, _, headers, _ in service.requests] == [f"Bearer {KEY}"] * 2

    def test_nothing_of_this_sides_environment_goes_along(
        self, service: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for name, value in {
            "OPENAI_API_KEY": KEY,
            "OPENAI_ORG_ID": KEY,
            "OPENAI_PROJECT_ID": KEY,
            "OPENAI_CUSTOM_HEADERS": f"X-Secret: {KEY}",
            "OPENAI_BASE_URL": "http://127.0.0.1:1",
            "HTTP_PROXY": "http://127.0.0.1:1",
            "ALL_PROXY": "http://127.0.0.1:1",
        }.items():
            monkeypatch.setenv(name, value)
            monkeypatch.setenv(name.lower(), value)
        service.answer("GET", "/v1/models", MODELS)
        service.answer(*CHAT, recorded("sglang-chat"))
        with Client(service.url) as client:
            client.complete("x")
        assert KEY not in repr(service.requests)
        assert not any("authorization" in headers for _, _, headers, _ in service.requests)

    def test_it_is_in_no_log(self, service: Any, caplog: pytest.LogCaptureFixture) -> None:
        caplog.set_level(logging.DEBUG)
        service.answer(*CHAT, recorded("sglang-chat"))
        with Client(service.url, key=KEY, served_model="tiny") as client:
            client.complete("x")
        assert KEY not in caplog.text
        assert KEY not in repr(vars(client)["_openai"].__dict__)

    @pytest.mark.parametrize("key", ["two words", "sésame", "a\nb"])
    def test_one_that_no_header_can_carry_is_refused_and_not_shown(self, key: str) -> None:
        error = trouble(lambda: Client("http://h", key=key))
        assert str(error) == "the API key has blanks or characters that no header can carry"
