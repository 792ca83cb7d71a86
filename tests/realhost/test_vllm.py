"""The acceptance run against a real vLLM with a trained DFlash draft, on a real systemd host over real ssh."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.realhost.services import Service
from tests.realhost.test_acceptance import finding, outcomes, red, run

BUDGET = "speculative-config.num_speculative_tokens"
PROFILE = """
reviewed = true
[service]
unit = "vllm-dflash.service"
engine = "vllm"
served_model = "tiny"
ready_timeout_s = 240
[endpoint]
prompt = "Reply with the word ready."
[flags]
max-model-len = 1024
enforce-eager = true
enable-prefix-caching = false
seed = 0
"speculative-config.method" = "dflash"
"speculative-config.num_speculative_tokens" = 7
speculative-config = '{"num_speculative_tokens": 7, "method": "dflash", "model": "/srv/models/dflash"}'
[environment]
NCCL_P2P_LEVEL = "SYS"
[exposure]
bind = "127.0.0.1"
"""


def accepted(service: Service, folder: Path, *options: str) -> dict[str, Any]:
    """findings.json of a run with the profile of this module."""
    folder.mkdir(exist_ok=True)
    (folder / "dflash.toml").write_text(PROFILE)
    return run(service, folder, *options)


def flag(document: dict[str, Any], name: str) -> dict[str, Any]:
    """The finding of one flag."""
    return dict(
        next(f for f in document["findings"] if f["check"] == "flags.in_force" and f["param"] == name)
    )


@pytest.fixture(scope="module")
def healthy(vllm_host: Service, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return accepted(vllm_host, tmp_path_factory.mktemp("healthy"))


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
    with vllm_host.edited_not_reloaded(3):
        document = accepted(vllm_host, tmp_path / "run")
    budget = flag(document, BUDGET)
    assert (budget["outcome"], budget["between"]) == ("fail", ["unit_file", "loaded_unit"])
    assert budget["observed"] == 3
    assert outcomes(document)["systemd.reloaded"] == "fail"
    assert BUDGET in finding(document, "flags.no_drift")["observed"]


def test_a_reloaded_unit_differs_up_to_the_manager(vllm_host: Service, tmp_path: Path) -> None:
    with vllm_host.reloaded_not_restarted(3):
        document = accepted(vllm_host, tmp_path / "run")
    budget = flag(document, BUDGET)
    assert (budget["outcome"], budget["between"]) == ("fail", ["loaded_unit", "process_argv"])
    assert outcomes(document)["systemd.restarted"] == "fail"


def test_a_stopped_process_does_not_serve(vllm_host: Service, tmp_path: Path) -> None:
    with vllm_host.active_not_serving():
        document = accepted(vllm_host, tmp_path / "run")
    serves = finding(document, "endpoint.serves")
    assert (serves["outcome"], serves["observed"]) == ("fail", "active_not_serving")


def test_a_profile_is_written_from_it(vllm_host: Service, tmp_path: Path) -> None:
    written = tmp_path / "dflash.toml"
    host = (f"--host=root@{vllm_host.machine.name}", f"--ssh-config={vllm_host.machine.ssh_config}")
    command = (
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "no:cacheprovider",
        *host,
        f"--dflash-write-profile={written}",
    )
    ran = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert written.exists(), ran.stdout + ran.stderr
    text = written.read_text()
    assert 'engine = "vllm"' in text
    assert '"speculative-config.num_speculative_tokens" = 7' in text
    assert 'vllm = ">=0.32.0"' in text
