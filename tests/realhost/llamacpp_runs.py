"""Runs against the real llama.cpp: their profile.

Law: a profile's text and one run; which findings it gives is the tests' business.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.realhost.services import Service
from tests.realhost.test_acceptance import run

BUDGET = "spec-draft-n-max"
PROFILE = """
reviewed = true
[service]
unit = "llamacpp-dflash.service"
engine = "llamacpp"
served_model = "tiny"
ready_timeout_s = 60
[endpoint]
prompt = "Reply with the word ready."
[flags]
parallel = 4
ctx-size = 4096
seed = 0
spec-type = "draft-dflash"
spec-draft-model = "/opt/llamacpp/models/dflash.gguf"
spec-draft-n-max = 7
[environment]
NCCL_P2P_LEVEL = "SYS"
[exposure]
bind = "127.0.0.1"
"""


def accepted(service: Service, folder: Path, *options: str, profile: str = PROFILE) -> dict[str, Any]:
    """findings.json of a run with this profile, or with another one."""
    folder.mkdir(exist_ok=True)
    (folder / "dflash.toml").write_text(profile)
    return run(service, folder, *options)
