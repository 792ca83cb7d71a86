"""The acceptance run against a real vLLM with a trained DFlash draft, on a real systemd host over real ssh."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pytest_dflash.endpoint.client import Client
from pytest_dflash.engines.vllm.counters import drafts
from pytest_dflash.facts.reading import Value
from tests.realhost.services import Service
from tests.realhost.test_acceptance import finding, outcomes, red
from tests.realhost.vllm_runs import BUDGET, PROFILE, accepted, flag

PROBE = "--dflash-allow=probe"


@pytest.fixture(scope="module")
def healthy(vllm_host: Service, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return accepted(vllm_host, tmp_path_factory.mktemp("healthy"), PROBE)


def test_a_healthy_vllm_is_accepted(healthy: dict[str, Any]) -> None:
    assert red(healthy) == set(), healthy["stdout"][-3000:]
    assert healthy["hosts"][0]["engine_version"] == "0.32.0"


def test_the_budget_is_followed_into_the_engine_core(healthy: dict[str, Any]) -> None:
    budget = flag(healthy, BUDGET)
    assert budget["outcome"] == "pass", budget
    assert [each["source"] for each in budget["evidence"]] == [
        "unit_file", "loaded_unit", "process_argv", "server_args_log", "draft_runner_log",
    ]  # fmt: skip
    assert all(each["value"] == 7 for each in budget["evidence"])
    assert budget["evidence"][0]["where"].startswith("/etc/systemd/system/vllm-dflash.service:")


def test_the_whole_json_is_followed_too(healthy: dict[str, Any]) -> None:
    assert flag(healthy, "speculative-config")["outcome"] == "pass"


def test_an_edited_unit_differs_on_disk_only(vllm_host: Service, tmp_path: Path) -> None:
    window = '[window]\ntokens = 512\nvia = "native"\n'  # which its drafter does not have
    with vllm_host.edited_not_reloaded(3):
        document = accepted(vllm_host, tmp_path / "run", PROBE, profile=PROFILE + window)
    budget = flag(document, BUDGET)
    assert (budget["outcome"], budget["between"]) == ("fail", ["unit_file", "loaded_unit"])
    assert budget["observed"] == 3
    assert outcomes(document)["systemd.reloaded"] == "fail"
    assert BUDGET in finding(document, "flags.no_drift")["observed"]
    assert finding(document, "window.reaches_draft_runner")["summary"] == (
        "the drafter's own config gives it none that this engine honours: expected a window of 512 tokens"
    )


def test_a_reloaded_unit_differs_up_to_the_manager(vllm_host: Service, tmp_path: Path) -> None:
    with vllm_host.reloaded_not_restarted(3):
        document = accepted(vllm_host, tmp_path / "run", PROBE)
    budget = flag(document, BUDGET)
    assert (budget["outcome"], budget["between"]) == ("fail", ["loaded_unit", "process_argv"])
    assert outcomes(document)["systemd.restarted"] == "fail"


def test_a_stopped_process_does_not_serve(vllm_host: Service, tmp_path: Path) -> None:
    with vllm_host.active_not_serving():
        document = accepted(vllm_host, tmp_path / "run", PROBE)
    serves = finding(document, "endpoint.serves")
    assert (serves["outcome"], serves["observed"]) == ("fail", "active_not_serving")


def test_a_written_profile_accepts_the_host_that_it_was_written_from(
    vllm_host: Service, tmp_path: Path
) -> None:
    written = tmp_path / "written.toml"
    host = (f"--host=root@{vllm_host.machine.name}", f"--ssh-config={vllm_host.machine.ssh_config}")
    ran = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-p", "no:cacheprovider"),
            *host,
            f"--dflash-write-profile={written}",
        ],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    text = written.read_text()
    assert 'engine = "vllm"' in text
    assert '"speculative-config.num_speculative_tokens" = 7' in text
    assert 'vllm = ">=0.32.0"' in text
    reviewed = text.replace("reviewed = false", "reviewed = true")
    document = accepted(vllm_host, tmp_path / "run", PROBE, profile=reviewed)
    assert red(document) == set(), document["stdout"][-3000:]
    assert flag(document, BUDGET)["outcome"] == "pass"


def test_acceptance_is_counted_with_the_bonus_token_in_the_log_and_in_the_counters(
    vllm_host: Service, healthy: dict[str, Any]
) -> None:
    del healthy  # it has asked already: the log has lines
    url = f"http://127.0.0.1:{vllm_host.port}"
    with Client(url, served_model="tiny", deadline_s=120) as client:
        before = drafts(client.get("/metrics").text)
        answer = client.stream("import os", route="completions", max_tokens=80)
        after = drafts(client.get("/metrics").text)
    assert isinstance(before, Value)
    assert isinstance(after, Value)
    moved = after.value.since(before.value)
    assert moved is not None
    assert answer.usage is not None
    assert answer.usage.completion_tokens == 80
    # Each step gives what it accepted and one token more. The first token comes from the prompt, without a step.
    generated = moved.accepted + moved.steps
    assert 79 <= generated <= 79 + 7
    assert moved.accept_length == pytest.approx(generated / moved.steps)
    assert 2 < generated / moved.steps < 8
    assert moved.accepted == sum(moved.per_position.values())
    assert list(moved.per_position) == list(range(7))
