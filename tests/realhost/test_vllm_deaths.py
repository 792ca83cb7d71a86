"""How a real vLLM dies, starts and is open: each state fails in the right place, with a true sentence.

In this order, so that five states cost two starts: its core is killed under a stream; it starts again, with a key and
with the development routes; it is put to sleep; it is killed, and systemd starts it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_dflash.endpoint import completion
from pytest_dflash.endpoint.client import Client
from pytest_dflash.endpoint.protocol import Ending, Generation
from pytest_dflash.engines.vllm import counters
from pytest_dflash.facts.reading import Value
from pytest_dflash.findings import Outcome
from tests.realhost.services import ENVIRONMENT, Service
from tests.realhost.test_acceptance import finding, outcomes, red
from tests.realhost.vllm_runs import BUDGET, PROFILE, accepted, flag

KEY = "sk-0123456789abcdef"
KEYED = PROFILE.replace("[flags]", 'api_key_env = "DFLASH_TEST_KEY"\n[flags]') + "key_required = true\n"
PASSIVE, PROBE = "--dflash-allow=read", "--dflash-allow=probe"
AT_ONCE = (PROBE, "--dflash-ready-timeout=2")
SLEEPS = "the engine sleeps: it lists its models, and answers nothing until it is woken"
CLOSE = f"chmod 0600 {ENVIRONMENT}"
SERVES = "vllm-dflash.service does not serve: "


def environment(service: Service, **more: str) -> None:
    """Writes the unit's environment file, with more variables."""
    lines = [f"{name}={value}\n" for name, value in (dict(service.environment) | more).items()]
    service.machine.put(ENVIRONMENT, "".join(lines))


def assert_said_by_itself(document: dict[str, Any]) -> None:
    """The budget is proven only where the new core has told it already, which it may on a busy machine."""
    budget = flag(document, BUDGET)
    assert budget["outcome"] in {"blocked", "unproven", "pass"}
    if budget["outcome"] == "pass":
        core = budget["evidence"][-1]
        assert (core["source"], core["reading"]) == ("draft_runner_log", "value")


def busy(client: Client) -> bool:
    load = counters.load(client.get("/metrics").text)
    return isinstance(load, Value) and load.value.running == 1


@pytest.fixture(scope="module")
def cut(vllm_host: Service) -> Iterator[Generation]:
    """A stream under which the engine core was killed; the unit has ended since."""
    answers: list[Generation] = []

    def ask() -> None:
        with Client(url, served_model="tiny", deadline_s=120) as asker:
            while not answers or answers[-1].error is None:  # one may be over before the kill arrives
                answers.append(asker.stream("import os", route="completions", max_tokens=900))

    url, deadline = f"http://127.0.0.1:{vllm_host.port}", time.monotonic() + 120
    asking = threading.Thread(target=ask)
    with Client(url) as client:
        asking.start()
        while not busy(client):
            assert time.monotonic() < deadline
    vllm_host.machine.sh("pkill -KILL -f ^VLLM::EngineCore")
    asking.join(120)
    while vllm_host.show("ActiveState") != "inactive":
        assert time.monotonic() < deadline
        time.sleep(0.2)
    yield answers[-1]
    environment(vllm_host)
    vllm_host.machine.sh(f"systemctl reset-failed {vllm_host.unit}; systemctl start {vllm_host.unit}")


def test_a_stream_under_which_the_core_dies_fails_although_it_ends_with_done(cut: Generation) -> None:
    assert cut.ending is Ending.DONE
    judgement = completion.judge(cut, max_tokens=900)
    assert judgement.outcome is Outcome.FAIL
    assert judgement.summary.startswith("the engine answered with an error: EngineCore encountered an issue")


def test_a_crash_that_ends_with_status_0_is_told_as_a_death(
    cut: Generation, vllm_host: Service, tmp_path: Path
) -> None:
    assert cut.error is not None
    assert vllm_host.show("Result") == "success"  # what systemd makes of it
    document = accepted(vllm_host, tmp_path / "run", *AT_ONCE)
    serves = finding(document, "endpoint.serves")
    assert (serves["outcome"], serves["observed"]) == ("fail", "not_running")
    assert serves["summary"].startswith(f"{SERVES}it is inactive")
    assert "its log ends with: the engine core died" in serves["summary"]
    assert outcomes(document)["systemd.active"] == "fail"
    assert flag(document, BUDGET)["outcome"] in {"blocked", "unproven"}


@pytest.mark.usefixtures("cut")
def test_a_start_that_has_logged_nothing_of_its_draft_proves_nothing(
    vllm_host: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DFLASH_TEST_KEY", KEY)
    environment(vllm_host, VLLM_API_KEY=KEY, VLLM_SERVER_DEV_MODE="1")
    vllm_host.machine.sh(f"systemctl start {vllm_host.unit}")
    document = accepted(vllm_host, tmp_path / "run", *AT_ONCE, profile=KEYED)
    serves = finding(document, "endpoint.serves")
    assert serves["outcome"] == "fail"
    assert serves["summary"].startswith((f"{SERVES}still loading after", f"{SERVES}still starting after"))
    assert outcomes(document)["systemd.active"] == "pass"
    assert_said_by_itself(document)


@pytest.mark.usefixtures("cut")
def test_routes_that_serve_without_the_key_are_found_and_those_that_tell_are_noted(
    vllm_host: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    vllm_host.wait()
    monkeypatch.setenv("DFLASH_TEST_KEY", KEY)
    document = accepted(vllm_host, tmp_path / "run", PROBE, profile=KEYED)
    expected = {"exposure.routes_guarded", "exposure.key_hidden", "flags.no_knobs"}
    assert red(document) == expected, document["stdout"][-3000:]
    opened = finding(document, "exposure.routes_guarded")
    assert opened["outcome"] == "fail"
    assert {"/invocations", "/tokenize", "/sleep", "/collective_rpc"} <= set(opened["observed"])
    assert not {"/v1/completions", "/inference/v1/generate", "/metrics", "/version"} & set(opened["observed"])
    assert "GET /metrics without a key" in {each["source"] for each in opened["evidence"]}
    with Client(f"http://127.0.0.1:{vllm_host.port}", key=KEY) as client:
        assert client.get("/is_sleeping").json == {"is_sleeping": False}
    assert outcomes(document)["exposure.key_required"] == "pass"
    hidden = finding(document, "exposure.key_hidden")
    assert hidden["summary"] == (
        f"a key can be read: {ENVIRONMENT} (mode 0644, of root) in EnvironmentFile=, which every user of the host can read"
    )
    assert hidden["remedy"] == f"change the key, then `{CLOSE}`"
    vllm_host.machine.sh(CLOSE)
    assert KEY not in document["stdout"]


@pytest.mark.usefixtures("cut")
def test_an_engine_that_was_put_to_sleep_is_told_and_is_awake_once_it_was_woken(
    vllm_host: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    vllm_host.wait()
    monkeypatch.setenv("DFLASH_TEST_KEY", KEY)
    with Client(f"http://127.0.0.1:{vllm_host.port}", key=KEY) as client:
        # Level 0 is what a CPU can do: it keeps the weights, and schedules nothing.
        assert client.post("/sleep?level=0", {}).json == {"status": "sleeping", "level": 0}
        try:
            assert client.models() == ("tiny",)
            asleep = accepted(vllm_host, tmp_path / "asleep", PROBE, profile=KEYED)
        finally:
            assert client.post("/wake_up", {}).json == {"status": "awake", "tags": None}
        woken = accepted(vllm_host, tmp_path / "woken", PROBE, profile=KEYED)
    assert red(asleep) - red(woken) == {"endpoint.awake"}
    sleeps = finding(asleep, "endpoint.awake")
    assert (sleeps["outcome"], sleeps["observed"]) == ("fail", "asleep")
    assert sleeps["summary"] == SLEEPS
    waiting = finding(asleep, "endpoint.completion")
    assert (waiting["outcome"], waiting["summary"]) == ("blocked", f"{SLEEPS} (told by {sleeps['nodeid']})")
    assert outcomes(asleep)["endpoint.stream_ends"] == "blocked"
    assert finding(woken, "endpoint.awake")["summary"] == "the engine is awake"
    assert outcomes(woken)["endpoint.completion"] == "pass"
    assert (
        outcomes(woken)["exposure.key_hidden"] == "pass"
    )  # its file was closed as the test before was told to


@pytest.mark.usefixtures("cut")
def test_lines_of_the_process_before_prove_nothing_of_the_one_that_systemd_started(
    vllm_host: Service, tmp_path: Path
) -> None:
    environment(vllm_host)
    vllm_host.killed_and_started_again()
    document = accepted(vllm_host, tmp_path / "run", *AT_ONCE)
    assert {"endpoint.serves", "systemd.stable"} <= red(document)
    stable = finding(document, "systemd.stable")
    assert "the manager restarted the unit by itself" in stable["summary"]
    assert "killed by SIGKILL" in stable["summary"]
    assert_said_by_itself(document)
