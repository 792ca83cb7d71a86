"""The acceptance run against a real vLLM with a trained DFlash draft, on a real systemd host over real ssh."""

from __future__ import annotations

from collections.abc import Iterator
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
def healthy(vllm_host: Service, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    yield accepted(vllm_host, tmp_path_factory.mktemp("healthy"))


def test_a_healthy_vllm_is_accepted(healthy: dict[str, Any]) -> None:
    assert red(healthy) == set(), healthy["stdout"][-3000:]
    assert healthy["hosts"][0]["engine_version"] == "0.32.0"
