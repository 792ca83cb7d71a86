"""A real vLLM is restarted and visits four budgets; the host is as before."""

from __future__ import annotations

from typing import Any

import pytest

from tests.realhost.services import Service
from tests.realhost.vllm_runs import BUDGET, PROFILE, accepted

BUDGETS = ("1", "3", "5", "8")  # the last is beyond the 7 that its draft was trained for, and runs
ASKED = "test_lifecycle or lossless_per_budget or same_tokens or acceptance_per_budget"
STATE = """
systemctl show -p ActiveState -p DropInPaths -p NeedDaemonReload -p ExecStart vllm-dflash.service | sed 's/start_time.*//'
tr '\\0' ' ' </proc/$(systemctl show -P MainPID vllm-dflash.service)/cmdline
find /etc/systemd /run/systemd/system -name 'vllm-dflash*' -exec ls -ld --time-style=+ {} +
cat /etc/systemd/system/vllm-dflash.service
ls /run/pytest-dflash 2>/dev/null
"""


def state(service: Service) -> str:
    return service.machine.sh(STATE, check=False)


@pytest.fixture(scope="module")
def visited(vllm_host: Service, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """A run that restarts and visits all budgets, with the state of the host before and after."""
    tree = f"[tree]\nbudgets = [{', '.join(BUDGETS)}]\n[lifecycle]\nstays_up_s = 1\nlease_s = 600\n"
    before = state(vllm_host)
    document = accepted(
        vllm_host, tmp_path_factory.mktemp("budgets"), "-k", ASKED, "--dflash-drained",
        "--dflash-allow=load,reconfigure", profile=PROFILE + tree, within_s=1800,
    )  # fmt: skip
    return document | {"before": before, "after": state(vllm_host)}


def outcomes_of(document: dict[str, Any], check: str) -> dict[str, str]:
    found = [each for each in document["findings"] if each["check"] == check]
    return {each["param"]: each["outcome"] for each in found}


def test_a_restart_makes_a_new_process_with_every_flag(visited: dict[str, Any]) -> None:
    assert outcomes_of(visited, "lifecycle.restarts") == {None: "pass"}, visited["stdout"][-3000:]
    assert outcomes_of(visited, "lifecycle.flags_after_restart")[BUDGET] == "pass"
    assert set(outcomes_of(visited, "lifecycle.flags_after_restart").values()) == {"pass"}


def test_each_budget_reaches_the_engine_core(visited: dict[str, Any]) -> None:
    assert outcomes_of(visited, "lifecycle.budget_in_force") == dict.fromkeys(BUDGETS, "pass")
    for each in visited["findings"]:
        if each["check"] == "lifecycle.budget_in_force":
            assert each["summary"] == (
                f"budget {each['param']} is in force: {BUDGET} is {each['param']}, from unit_file to draft_runner_log"
            )


def test_a_trained_draft_changes_no_token_at_any_budget(visited: dict[str, Any]) -> None:
    assert outcomes_of(visited, "tree.lossless_per_budget") == dict.fromkeys(BUDGETS, "pass")
    compared = outcomes_of(visited, "tree.same_tokens_per_budget")
    assert set(compared) == set(BUDGETS)
    # The first that is visited has nothing to be compared with; the others are compared with it.
    assert sorted(compared.values()) == ["not_applicable", "pass", "pass", "pass"]
    judged = [each for each in visited["findings"] if each["check"] == "tree.lossless_per_budget"]
    assert all(each["summary"].endswith("by rescoring by input logprobs") for each in judged)
    assert all(each["measures"]["positions"] > 900 for each in judged)


def test_accept_lengths_are_within_what_each_budget_holds(visited: dict[str, Any]) -> None:
    assert outcomes_of(visited, "tree.acceptance_per_budget") == dict.fromkeys(BUDGETS, "pass")


def test_the_host_is_put_back(visited: dict[str, Any]) -> None:
    assert visited["hosts"][0]["restored"] is True
    assert visited["after"] == visited["before"]
