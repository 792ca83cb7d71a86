"""Runs against the real vLLM: their profile, and what differs of it.

Law: a profile's text and one run; which findings it gives is the tests' business.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.realhost.services import Service
from tests.realhost.test_acceptance import run

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


def accepted(
    service: Service, folder: Path, *options: str, profile: str = PROFILE, within_s: float = 400
) -> dict[str, Any]:
    """findings.json of a run with this profile, or with another one."""
    folder.mkdir(exist_ok=True)
    (folder / "dflash.toml").write_text(profile)
    return run(service, folder, *options, within_s=within_s)


def flag(document: dict[str, Any], name: str) -> dict[str, Any]:
    """The finding of one flag."""
    findings = document["findings"]
    return dict(next(f for f in findings if f["check"] == "flags.in_force" and f["param"] == name))
