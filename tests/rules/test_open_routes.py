"""Which routes answer without a key."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from pytest_dflash.engines.dialect import Route
from pytest_dflash.engines.registry import dialect
from pytest_dflash.facts.reading import Reading, Silent, Value
from pytest_dflash.findings import Judgement, Outcome
from pytest_dflash.rules.open_routes import routes_guarded

CHAT = Route("/v1/chat/completions", "generates text")
INVOKE = Route("/invocations", "generates text")
METRICS = Route("/metrics", "tells counters", serves=False)


def judged(**statuses: int | None) -> Judgement:
    paths = {"chat": CHAT.path, "invoke": INVOKE.path, "metrics": METRICS.path}
    said: Mapping[str, Reading[int]] = {
        paths[name]: Silent("no answer") if status is None else Value(status)
        for name, status in statuses.items()
    }
    return routes_guarded((CHAT, INVOKE, METRICS), said, required=True)


def test_routes_that_refuse_or_are_not_there_pass() -> None:
    judgement = judged(chat=401, invoke=404, metrics=403)
    assert judgement.outcome is Outcome.PASS
    assert judgement.summary == "2 routes refuse without the key, none that serves answers"


@pytest.mark.parametrize("status", [200, 204, 400, 405, 415, 422])
def test_a_route_that_serves_and_answers_fails_whatever_it_answers(status: int) -> None:
    judgement = judged(chat=401, invoke=status, metrics=401)
    assert judgement.outcome is Outcome.FAIL
    assert judgement.summary == "1 route answers without the key: /invocations (generates text)"
    assert judgement.observed == ["/invocations"]
    (seen,) = judgement.evidence
    assert (seen.source, seen.value) == ("GET /invocations without a key", f"HTTP {status}")
    assert judgement.remedy == (
        "put a proxy before the port that asks for the key on every path, and bind the engine to loopback"
    )


def test_a_route_that_only_tells_is_noted() -> None:
    judgement = judged(chat=401, invoke=401, metrics=200)
    assert judgement.outcome is Outcome.PASS
    assert judgement.summary.endswith("none that serves answers; without it answer /metrics (tells counters)")
    assert [each.source for each in judgement.evidence] == ["GET /metrics without a key"]


def test_a_redirect_leads_to_somebody_who_decides() -> None:
    assert judged(chat=401, invoke=307, metrics=302).outcome is Outcome.PASS


@pytest.mark.parametrize("status", [302, 307, 404, 410, 501])
def test_where_no_route_refuses_no_guard_was_seen(status: int) -> None:
    judgement = judged(chat=status, invoke=status, metrics=status)
    assert judgement.outcome is Outcome.UNPROVEN
    assert judgement.summary == (
        "no route refuses without the key: each answers that it is elsewhere or is not there, so no guard was seen"
    )
    assert judgement.remedy == (
        "ask past the proxy: set endpoint.url to the address of the engine or of the guard itself"
    )


@pytest.mark.parametrize("status", [None, 500, 503])
def test_a_route_that_was_not_heard_is_unproven(status: int | None) -> None:
    judgement = judged(chat=401, invoke=status, metrics=401)
    assert judgement.outcome is Outcome.UNPROVEN
    assert judgement.summary.startswith("whether /invocations is guarded could not be told: ")


def test_a_route_that_was_not_asked_is_unproven() -> None:
    assert judged(chat=401).outcome is Outcome.UNPROVEN


def test_one_open_route_outweighs_the_silence_of_others() -> None:
    assert judged(chat=405, invoke=None).outcome is Outcome.FAIL


@pytest.mark.parametrize("required", [None, False])
def test_where_no_key_is_required_nothing_is_judged(required: bool | None) -> None:  # noqa: FBT001 - parametrized
    assert routes_guarded((CHAT,), {}, required).outcome is Outcome.NOT_APPLICABLE


@pytest.mark.parametrize("engine", ["sglang", "vllm"])
def test_no_engine_lists_a_route_for_which_a_get_acts(engine: str) -> None:
    acts = {"/health", "/health_generate", "/flush_cache", "/start_expert_distribution_record", "/slow_down"}
    acts |= {"/release_memory_occupation", "/resume_memory_occupation", "/set_internal_state"}
    paths = [route.path for route in dialect(engine).routes()]
    assert not acts & set(paths)
    assert len(paths) == len(set(paths))
    assert "/v1/chat/completions" in paths
