"""The acceptance run against a real SGLang with a trained DFlash draft, on a real systemd host over real ssh."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import Any

import pytest

from pytest_dflash.endpoint.client import Client
from pytest_dflash.endpoint.speaking import Speaker
from pytest_dflash.endpoint.trial import Trial
from pytest_dflash.engines.scoring import Bounds
from pytest_dflash.engines.sglang.scoring import SGLangScoring
from pytest_dflash.rules import tree_text
from pytest_dflash.rules.tree_lossless import lossless
from tests.realhost.changing_runs import Host, outcome, restored
from tests.realhost.services import WINDOW_FLAG, Service
from tests.realhost.test_acceptance import assert_named, confused, finding, outcomes, red, run


def test_a_real_sglang_is_accepted(sglang_host: Service, tmp_path: Path) -> None:
    document = run(sglang_host, tmp_path)
    assert red(document) == set(), document["stdout"][-5000:]
    window = finding(document, "window.reaches_draft_runner")
    assert window["outcome"] == "pass"
    assert all(each["value"] == 32 for each in window["evidence"])


def test_what_a_real_sglang_says_of_its_own_sampling_is_quoted_and_picks_the_remedy(
    sglang_host: Service, tmp_path: Path
) -> None:
    """This build has no kernel that samples drafts on a CPU, and says so at the first request that samples."""
    document = run(
        sglang_host, tmp_path, "--dflash-allow=load", "-k", "test_temperature_one_samples", within_s=600
    )
    found = finding(document, "tree.sampling")
    assert found["outcome"] == "fail", found
    assert "falling back to greedy argmax verification" in found["cause"]
    assert found["remedy"].startswith("serve by a build and on a device that has the kernel")
    assert any("non-greedy verification is unavailable" in str(each["value"]) for each in found["evidence"])


def test_a_real_sglang_counts_a_verify_step_for_what_was_accepted_and_one_token_more(
    sglang_host: Service,
) -> None:
    def counted(name: str, text: str) -> float:
        return sum(
            float(number) for number in re.findall(rf"^sglang:{name}{{[^}}]*}} (\S+)$", text, re.MULTILINE)
        )

    with Client(f"http://127.0.0.1:{sglang_host.port}", served_model="tiny", deadline_s=240) as client:
        before = client.get("/metrics").text
        answer = client.stream("import os", route="completions", max_tokens=160)
        deadline = time.monotonic() + 30
        while True:  # its counters follow at its own pace
            after = client.get("/metrics").text
            tokens, steps = (
                counted(name, after) - counted(name, before)
                for name in ("generation_tokens_total", "spec_verify_calls_total")
            )
            if tokens >= 160 or time.monotonic() > deadline:
                break
    assert answer.usage is not None
    assert answer.usage.completion_tokens == 160
    assert 2 < tokens / steps < 8  # the same draft accepts about 4 under vLLM, counted in the same way
    lines = sglang_host.machine.sh(
        f"journalctl -u {sglang_host.unit} -o cat -a | grep -o 'accept len: [0-9.]*' || true"
    )
    assert all(1 <= float(line.split()[-1]) <= 8 for line in lines.splitlines())


@pytest.fixture(scope="module")
def loaded(sglang_host: Service, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return run(sglang_host, tmp_path_factory.mktemp("loaded"), "-m", "tree", "--dflash-allow=load")


@pytest.mark.parametrize(
    "check", ["tree.lossless", "tree.lossless_batched", "tree.lossless_at_edges", "tree.cache_consistent"]
)
def test_a_real_sglang_with_a_trained_draft_is_lossless(loaded: dict[str, Any], check: str) -> None:
    found = finding(loaded, check)
    assert found["outcome"] == "pass", found
    assert "by rescoring by input logprobs" in found["summary"]
    assert found["measures"]["positions"] > 100


def test_a_real_sglang_accepts_drafts_as_a_trained_drafter_should(loaded: dict[str, Any]) -> None:
    length = finding(loaded, "tree.acceptance")["measures"]["accept_length"]
    assert 1.5 < length < 8
    assert {outcomes(loaded)[f"tree.acceptance_{how}"] for how in ("varies", "by_depth", "over_context")} == {
        "pass"
    }


def test_a_build_of_sglang_that_verifies_greedily_is_told_so(
    sglang_host: Service, loaded: dict[str, Any]
) -> None:
    """On a CPU this version has no other verification, and says so once in its log."""
    assert red(loaded) <= {"tree.sampling", "tree.grammar"}, loaded["stdout"][-3000:]
    sampling = finding(loaded, "tree.sampling")
    assert sampling["outcome"] == "fail"
    # The first token of an answer is the prefill's, and sampled: where all of them are one, all answers are.
    assert (
        "are not distributed as the target says" in sampling["summary"]
        or "does not sample" in sampling["summary"]
    )
    said = sglang_host.machine.sh(
        f"journalctl -u {sglang_host.unit} -o cat -a | grep -c 'falling back to greedy'", check=False
    )
    assert int(said) > 0
    # The tiny model ends no JSON within the tokens that it is given: no proof, and no accusation.
    assert finding(loaded, "tree.grammar")["outcome"] in {"pass", "unproven"}


def test_where_logprobs_are_withheld_prefills_apart_from_the_cache_judge_a_real_sglang_alike(
    sglang_host: Service,
) -> None:
    """As SGLang with DDTree withholds them; that it keeps what an `extra_key` names apart is told by its own count."""
    sglang_host.wait()
    with Client(f"http://127.0.0.1:{sglang_host.port}", served_model="tiny") as client:
        of = Trial(Speaker(client, SGLangScoring()), 3, Bounds(context=1024), withheld="as if it told none")
        greedy = [lossless([part], of.grounds) for part in (of.alone, of.together)]
        cached = tree_text.cache_consistent(of.cached, of.grounds)
        sampled = tree_text.sampled(of.sampled, of.first_tokens, of.grounds)
    assert [each.outcome for each in (*greedy, cached)] == ["pass"] * 3, [*greedy, cached]
    assert of.alone.shared == of.together.shared == of.cached.shared == ()
    assert sampled.outcome == "fail"
    assert "where a prefill drew it" in sampled.summary


@pytest.mark.parametrize("name", ["edited_not_reloaded", "reloaded_not_restarted", "previous_process"])
def test_a_confusion_of_a_real_sglang_is_named(name: str, sglang_host: Service, tmp_path: Path) -> None:
    with confused(sglang_host, name):
        document = run(sglang_host, tmp_path, "--dflash-ready-timeout=3")
    assert_named(name, document)


@pytest.mark.usefixtures("put_back")
@pytest.mark.parametrize("at", [{}, {"wait": "kill -KILL $RUN_PID"}], ids=["by the run", "by its lease"])
def test_a_real_sglang_gets_another_window_and_its_own_back(
    at: dict[str, str], sglang_host: Service, tmp_path: Path
) -> None:
    host = Host(sglang_host, tmp_path)
    before, start_s = host.state(), 60 + 3 * sglang_host.took_s
    flag = f'budget_flag = "{WINDOW_FLAG.removeprefix("--")}"\nbudget_flag_offset = 0'
    code, said, document = host.run(
        at, timeout_s=60 + 2 * start_s, ready=start_s, lease=20, budget=16, flag=flag
    )
    if at:
        assert code == -9, said
    else:
        assert (code, outcome(document), restored(document)) == (0, "pass", True), said
        assert (document["findings"][0]["expected"], document["findings"][0]["observed"]) == (16, 16)
    host.comes_back(before, 20 + start_s)
