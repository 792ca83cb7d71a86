"""What loads are measured with: counters by a passive route, lines that are shown for a moment."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from pytest_dflash.endpoint.answer import Answer
from pytest_dflash.engines.scoring import Drafting
from pytest_dflash.engines.sglang.dialect import SGLang
from pytest_dflash.errors import EndpointError
from pytest_dflash.facts.reading import Silent, Value
from pytest_dflash.loading import counters, passing

METRICS = 'sglang:generation_tokens_total{a="b"} 1672.0\nsglang:spec_verify_calls_total{a="b"} 406.0\n'


def run(status: int = 200, text: str = METRICS, error: EndpointError | None = None) -> Any:
    def get(path: str) -> Answer:
        if error is not None:
            raise error
        return Answer(path=path, status=status, text=text, json=None, headers={}, elapsed_s=0.0)

    return SimpleNamespace(dialect=SGLang(), service=SimpleNamespace(client=SimpleNamespace(get=get)))


def test_counters_are_read_by_the_engines_own_route() -> None:
    assert counters(run()) == Value(Drafting(1672.0, 406.0), "GET /metrics")


@pytest.mark.parametrize(
    "there, why",
    [
        (run(status=404), "GET /metrics answered 404"),
        (run(text="nothing"), "sglang:spec_verify_calls is not among the counters"),
        (run(error=EndpointError("no connection")), "no connection"),
    ],
)
def test_counters_that_cannot_be_heard_say_why(there: Any, why: str) -> None:
    found = counters(there)
    assert isinstance(found, Silent)
    assert found.why == why


def test_a_passing_line_is_shown_only_by_those_who_can_write_over_it() -> None:
    kept: list[str] = []

    class Terminal:
        def __call__(self, line: str) -> None:
            raise AssertionError(line)

        def passing(self, line: str) -> None:
            kept.append(line)

    passing(Terminal())("repeat 7")
    passing(lambda _line: kept.append("in CI"))("repeat 8")
    assert kept == ["repeat 7"]
