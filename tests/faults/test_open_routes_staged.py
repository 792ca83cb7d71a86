"""A key that guards some paths only, staged on the stand-in host."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_dflash.endpoint.client import Client
from pytest_dflash.endpoint.service import Service
from pytest_dflash.engines.registry import dialect
from pytest_dflash.findings import Judgement, Outcome
from pytest_dflash.rehearsal.faults import stages
from pytest_dflash.rehearsal.faults.fault import Fault
from pytest_dflash.rehearsal.host import StandInHost
from pytest_dflash.rules.open_routes import routes_guarded

KEY = "sk-rehearsal-0123456789"


def judged(folder: Path, guards: str) -> Judgement:
    """What the check says of a host whose key guards the paths that begin so."""
    keyed = stages.replace("--port", f"--api-key {KEY} --port")
    fault = Fault(
        "key-guards-some-paths", "probe", ("exposure.routes_guarded",), "the key guards some paths only",
        layer="exposure", severity="exposure", says="/generate",
        before=stages.both(keyed, stages.switch(guards=guards)),
    )  # fmt: skip
    host = StandInHost(folder)
    host.faults = (fault,)
    with host:
        url = f"http://127.0.0.1:{host.port}"
        with Client(url, key=KEY) as client, Client(url) as keyless:
            service = Service(client, keyless, host.port, "it is there")
            assert service.status_without_key() == service.status_without_key("/v1/models")
            routes = dialect("sglang").routes()
            statuses = {route.path: service.status_without_key(route.path) for route in routes}
            before = client.get("/metrics").text
            assert 'generation_tokens_total{engine_type="unified",model_name="Kimi-K2.6"} 0.0' in before
            return routes_guarded(routes, statuses, required=True)


@pytest.mark.slow
def test_a_key_that_guards_some_paths_only_is_noticed_and_nothing_was_generated(tmp_path: Path) -> None:
    judgement = judged(tmp_path / "host", "/v1")
    assert judgement.outcome is Outcome.FAIL
    assert "/generate (generates text)" in judgement.summary
    assert "/v1" not in judgement.summary


@pytest.mark.slow
def test_a_key_that_guards_all_paths_is_accepted(tmp_path: Path) -> None:
    judgement = judged(tmp_path / "host", "")
    assert judgement.outcome is Outcome.PASS
    assert judgement.summary.endswith("without it answer /metrics (tells counters)")
