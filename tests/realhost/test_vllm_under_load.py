"""A real vLLM with a trained draft under load, as a control: it says what its target would; where it does not, that is told."""

from __future__ import annotations

from typing import Any

import pytest

from tests.realhost.services import Service
from tests.realhost.test_acceptance import finding, red
from tests.realhost.vllm_runs import PROFILE, accepted

BY = "by rescoring by input logprobs"
LOADED = f"{PROFILE}[tree]\naccept_length = {{ min = 1.2, max = 8.0 }}\n"


def judged(document: dict[str, Any], check: str) -> dict[str, Any]:
    found = finding(document, check)
    assert found["outcome"] == "pass", found
    return found


@pytest.fixture(scope="module")
def vllm_document(vllm_host: Service, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("lossless")
    return accepted(vllm_host, folder, "--dflash-allow=load", profile=LOADED, within_s=600)


@pytest.mark.parametrize("check", ["tree.lossless", "tree.lossless_batched", "tree.lossless_at_edges"])
def test_a_real_vllm_with_a_trained_draft_is_lossless(vllm_document: dict[str, Any], check: str) -> None:
    found = judged(vllm_document, check)
    assert found["summary"].endswith(BY)
    assert found["measures"]["positions"] > 100


def test_a_real_vllm_tells_its_accept_length_by_its_counters(vllm_document: dict[str, Any]) -> None:
    assert judged(vllm_document, "tree.acceptance")["measures"]["accept_length"] > 1.5
    assert judged(vllm_document, "tree.acceptance_varies")["measures"]["verify_steps"] > 100


def test_under_load_only_what_this_build_does_wrong_is_red(vllm_document: dict[str, Any]) -> None:
    """vLLM 0.32 on a CPU with DFlash draws other tokens at temperature 1 than its target: seen apart from this tool.

    Over 768 positions the target's first choice was said 591 times where 711 are expected (one sigma: 5); the same
    engine without speculation: 735 where 740 are. And the tiny model ends no JSON within the tokens that it is given.
    """
    assert red(vllm_document) == {"tree.sampling", "tree.grammar"}
