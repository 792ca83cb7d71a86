"""Each fault of the rehearsal turns exactly its named checks red, in the words that it must be told in."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from pytest_dflash.rehearsal.faults import FAULTS
from tests.faults import matrix

pytestmark = pytest.mark.matrix
Record = Callable[[str, object], None]


def test_the_healthy_rehearsal_is_accepted_without_a_single_red_check(tmp_path: Path) -> None:
    document = matrix.run(tmp_path, "--dflash-allow=probe")
    assert matrix.red(document) == []
    assert document["run"]["verdict"] == "accept"
    assert document["run"]["exit_code"] == 0


@pytest.mark.parametrize("name", matrix.quick())
def test_a_fault_turns_exactly_its_named_checks_red(
    name: str, tmp_path: Path, record_property: Record
) -> None:
    fault, begun = FAULTS[name], time.monotonic()
    document = matrix.staged(tmp_path, name, allow=matrix.ALLOWED[fault.level])
    record_property("fault", [name, time.monotonic() - begun])
    assert matrix.complaints(fault, document) == []
    assert document["run"]["exit_code"] in {1, 10}
    assert document["run"]["faults"] == [name]


@pytest.mark.parametrize("name", matrix.speculating("load"))
def test_a_fault_of_the_draft_tree_turns_exactly_its_named_checks_red(
    name: str, tmp_path: Path, record_property: Record
) -> None:
    # Beside the named checks the full matrix asks all of the tree; so does the quick form of benchmarks/detection.py.
    fault, begun = FAULTS[name], time.monotonic()
    document = matrix.run(tmp_path, f"--dflash-fault={name}", "--dflash-allow=load", *matrix.selection(fault))
    record_property("fault", [name, time.monotonic() - begun])
    assert matrix.complaints(fault, document) == []
    assert document["run"]["exit_code"] == 1


@pytest.mark.parametrize("name", matrix.speculating("reconfigure"))
def test_a_fault_of_one_budget_turns_exactly_its_named_checks_red(
    name: str, tmp_path: Path, record_property: Record
) -> None:
    fault, begun = FAULTS[name], time.monotonic()
    options = ("--dflash-allow=load,reconfigure", "--dflash-ready-timeout=60", "-m", "tree")
    document = matrix.run(tmp_path, f"--dflash-fault={name}", *options)
    record_property("fault", [name, time.monotonic() - begun])
    assert matrix.complaints(fault, document) == []
    assert document["hosts"][0]["restored"] is True


@pytest.mark.parametrize("name", ["mask-stride-from-block", "siblings-visible", "state-lost-on-rejection"])
def test_a_fault_of_the_draft_tree_is_noticed_also_where_a_prefill_is_the_only_witness(
    name: str, tmp_path: Path
) -> None:
    """As on a host of SGLang with DDTree, which tells no logprobs while it drafts."""
    staged = [f"--dflash-fault={each}" for each in (name, "logprobs-refused")]
    document = matrix.run(
        tmp_path, *staged, "--dflash-allow=load", "-k", "tree.lossless or tree.lossless_batched"
    )
    failed = {each["check"]: each["summary"] for each in matrix.red(document) if each["outcome"] == "fail"}
    assert {"tree.lossless", "tree.lossless_batched"} <= failed.keys()
    assert "by one-token prefill over token ids" in failed["tree.lossless"]


def under_load(name: str, folder: Path, record_property: Record) -> None:
    """A run that narrows itself to where the fault must show."""
    fault, begun = FAULTS[name], time.monotonic()
    document = matrix.run(folder, f"--dflash-fault={name}", *matrix.far(fault), *matrix.selection(fault))
    record_property("fault", [name, time.monotonic() - begun])
    assert matrix.complaints(fault, document) == []
    assert document["run"]["exit_code"] in {1, 10}


@pytest.mark.alone
@pytest.mark.parametrize("name", matrix.timed())
def test_a_fault_of_speed_turns_its_named_checks_red(
    name: str, tmp_path: Path, record_property: Record
) -> None:
    under_load(name, tmp_path, record_property)


def test_a_host_with_foreign_requests_is_not_restarted_and_says_why(tmp_path: Path) -> None:
    document = matrix.run(
        tmp_path, "--dflash-fault=foreign-traffic", "--dflash-allow=restart", "-k", "makes_a_new"
    )
    (finding,) = document["findings"]
    assert finding["outcome"] == "unproven"
    assert finding["summary"].startswith(
        "foreign_traffic: requests that are not ours: 3 running and 0 queued (GET /v1/loads); rehearsal was not touched."
    )
    assert document["hosts"][0]["changed"] is False


def test_a_person_may_vouch_for_a_host_with_foreign_requests(tmp_path: Path) -> None:
    document = matrix.run(
        tmp_path,
        "--dflash-fault=foreign-traffic",
        "--dflash-allow=restart",
        "--dflash-drained",
        "--dflash-ready-timeout=30",
        "-k",
        "makes_a_new",
    )
    assert [finding["outcome"] for finding in document["findings"]] == ["pass"]
    assert document["hosts"][0]["changed"] is True
