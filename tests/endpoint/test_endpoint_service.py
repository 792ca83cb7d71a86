"""What the service answers to somebody without the key."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_dflash.endpoint.client import Client
from pytest_dflash.endpoint.service import Service
from pytest_dflash.facts.reading import Silent, Value

KEY = "sk-0123456789abcdef"


@pytest.mark.parametrize("status", [200, 302, 401, 404, 405, 500])
def test_a_status_is_told_as_it_came_and_the_key_stays_here(service: Any, status: int) -> None:
    service.answer("GET", "/invocations", b"{}", status=status, headers={"location": "/login"})
    with Client(service.url, key=KEY) as client, Client(service.url) as keyless:
        asked = Service(client, keyless, service.port, "it is there")
        assert asked.status_without_key("/invocations") == Value(status, "GET /invocations")
    ((method, path, headers, body),) = service.requests
    assert (method, path, body) == ("GET", "/invocations", b"")
    assert "authorization" not in headers


def test_no_answer_is_silence_with_its_reason(service: Any) -> None:
    with Client(service.url) as client, Client("http://127.0.0.1:9") as keyless:
        told = Service(client, keyless, service.port, "it is there").status_without_key("/invocations")
    assert isinstance(told, Silent)
    assert told.why.endswith("connection refused")
    assert told.where == "GET /invocations"
