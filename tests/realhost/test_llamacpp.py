"""The acceptance run against a real llama.cpp with the same trained DFlash draft, on a real systemd host."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.realhost.llamacpp_runs import BUDGET, PROFILE, accepted
from tests.realhost.services import Service
from tests.realhost.test_acceptance import finding, outcomes, red
from tests.realhost.vllm_runs import flag

BUDGETS = ("1", "3", "5", "7")
BY = "by one-token prefill over token ids (llama.cpp tells the logprobs of tokens that it generates"
VISITED = f"""{PROFILE}
[tree]
budgets = [{", ".join(BUDGETS)}]
accept_length = {{ min = 1.2, max = 8.0 }}
[lifecycle]
stays_up_s = 1
lease_s = 600
"""


@pytest.fixture(scope="module")
def document(llamacpp_host: Service, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """A run of everything but throughput, over four budgets and without speculation."""
    folder = tmp_path_factory.mktemp("llamacpp")
    allowed = ("--dflash-allow=load,reconfigure", "--dflash-drained")
    return accepted(llamacpp_host, folder, *allowed, "-k", "not test_throughput", profile=VISITED)


def of_budgets(document: dict[str, Any], check: str) -> dict[str, str]:
    return {each["param"]: each["outcome"] for each in document["findings"] if each["check"] == check}


def test_a_healthy_llamacpp_is_accepted(document: dict[str, Any]) -> None:
    # The tiny model ends no JSON within the tokens that it is given, and some long answers of its own go round in circles.
    assert red(document) <= {"tree.grammar", "tree.no_degeneration"}, document["stdout"][-3000:]
    assert "fail" not in outcomes(document).values()
    assert document["hosts"][0]["restored"] is True


def test_the_budget_is_followed_into_the_drafter(document: dict[str, Any]) -> None:
    budget = flag(document, BUDGET)
    assert budget["outcome"] == "pass", budget
    assert [each["source"] for each in budget["evidence"]] == [
        "unit_file", "loaded_unit", "process_argv", "draft_runner_log",
    ]  # fmt: skip
    assert flag(document, "parallel")["evidence"][-1]["source"] == "server_info"
    assert flag(document, "spec-draft-model")["summary"].endswith(
        "from unit_file to process_argv"
    )  # written as -md


@pytest.mark.parametrize(
    "check", ["tree.lossless", "tree.lossless_batched", "tree.lossless_at_edges", "tree.cache_consistent"]
)
def test_what_it_says_is_what_a_prefill_says(document: dict[str, Any], check: str) -> None:
    found = finding(document, check)
    assert found["outcome"] == "pass", found
    assert BY in found["summary"]
    assert "Only sampled positions are compared" in found["summary"]
    assert found["measures"]["samples"] >= 40


def test_it_samples_as_a_prefill_draws_at_every_budget(document: dict[str, Any]) -> None:
    """It tells no logprobs of tokens that are handed over: what was said is held against draws at the same places."""
    sampling = finding(document, "tree.sampling")
    assert sampling["outcome"] == "pass", sampling
    assert "where a prefill drew it" in sampling["summary"]
    assert of_budgets(document, "tree.sampling_per_budget") == dict.fromkeys(BUDGETS, "pass")


def test_it_says_the_same_without_speculation_and_at_every_budget(document: dict[str, Any]) -> None:
    assert finding(document, "tree.reference")["outcome"] == "pass", finding(document, "tree.reference")
    assert of_budgets(document, "lifecycle.budget_in_force") == dict.fromkeys(BUDGETS, "pass")
    assert of_budgets(document, "tree.lossless_per_budget") == dict.fromkeys(BUDGETS, "pass")
    assert of_budgets(document, "tree.same_tokens_per_budget") == dict.fromkeys(BUDGETS, "pass")


def test_its_accept_length_is_that_of_a_trained_drafter_and_grows_with_the_budget(
    document: dict[str, Any],
) -> None:
    assert 1.5 < finding(document, "tree.acceptance")["measures"]["accept_length"] < 8
    assert outcomes(document)["tree.acceptance_by_depth"] == "pass"
    assert of_budgets(document, "tree.acceptance_per_budget") == dict.fromkeys(BUDGETS, "pass")


def test_an_edited_unit_differs_on_disk_only(llamacpp_host: Service, tmp_path: Path) -> None:
    with llamacpp_host.edited_not_reloaded(3):
        document = accepted(llamacpp_host, tmp_path / "run", "--dflash-allow=probe")
    budget = flag(document, BUDGET)
    assert (budget["outcome"], budget["between"], budget["observed"]) == (
        "fail",
        ["unit_file", "loaded_unit"],
        3,
    )
    assert outcomes(document)["systemd.reloaded"] == "fail"


@contextlib.contextmanager
def simulated_acceptance(service: Service) -> Iterator[None]:
    """The server accepts drafts by lot, as its flag for benchmarks lets it."""
    service.machine.put(
        service.fragment, service.text().replace("--spec-type", "--spec-synth-len 4.5 --spec-type")
    )
    service.restart()
    service.wait()
    try:
        yield
    finally:
        service.heal()


def test_wrong_text_under_wonderful_numbers_is_told(llamacpp_host: Service, tmp_path: Path) -> None:
    """A real engine that corrupts its text, while its counters say 4.5 tokens a step."""
    with simulated_acceptance(llamacpp_host):
        document = accepted(
            llamacpp_host, tmp_path / "run", "--dflash-allow=load", "-k", "test_tree or no_knobs or benchmark"
        )
    assert {name for name, outcome in outcomes(document).items() if outcome == "fail"} >= {
        "tree.lossless",
        "tree.lossless_batched",
        "flags.no_knobs",
    }, document["stdout"][-3000:]
    found = finding(document, "tree.lossless")
    assert "tokens differ from what a prefill says there: the first is place" in found["summary"]
    assert finding(document, "flags.no_knobs")["observed"] == ["--spec-synth-len 4.5"]
