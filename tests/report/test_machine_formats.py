"""What machines read: CTRF, OpenMetrics, GitHub's step summary and annotations."""

from __future__ import annotations

import json
import unicodedata
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from pytest_dflash.report import ctrf, github, openmetrics
from tests.report.documents import HOSTILE, document, finding

SCHEMA = json.loads((Path(__file__).parent / "ctrf" / "ctrf-schema-0.0.json").read_text())
"""As npm's `ctrf` 0.3.0 ships it, the reference implementation of the format; its licence lies beside it."""
VALID = jsonschema.Draft7Validator(SCHEMA, format_checker=jsonschema.Draft7Validator.FORMAT_CHECKER)

EVERY = document(
    finding("gpu.count", "fail", remedy="mend | it", measures={"gpus": 7.0}),
    finding("gpu.ecc", param="GPU-1"),
    finding("gpu.ecc", "unproven", param="GPU-2"),
    finding("host.xid", "waived"),
    finding("lifecycle.restarts", "not_run"),
    finding("flags.no_drift", "blocked"),
)


def families(text: str) -> dict[str, Any]:
    return {family.name: family for family in text_string_to_metric_families(text)}  # type: ignore[no-untyped-call]  # of the library


def test_ctrf_has_a_test_for_each_finding_and_counts_them() -> None:
    results = ctrf.report(EVERY)["results"]
    assert [test["status"] for test in results["tests"]] == [
        "failed", "passed", "failed", "other", "skipped", "skipped",
    ]  # fmt: skip
    summary = results["summary"]
    assert (summary["tests"], summary["passed"], summary["failed"], summary["skipped"], summary["other"]) == (
        6,
        1,
        2,
        2,
        1,
    )
    assert summary["stop"] - summary["start"] == 60_000
    assert results["tests"][1]["name"] == "gpu.ecc[GPU-1] on gpu1"
    assert all(isinstance(test["duration"], int) for test in results["tests"])
    assert results["extra"]["verdict"] == "reject"
    json.dumps(results, allow_nan=False)


def complaints(report: Any) -> list[str]:
    """What the schema says against a report, each with its place."""
    return [f"{error.json_path}: {error.message}" for error in VALID.iter_errors(report)]


def test_ctrf_is_what_its_published_schema_allows() -> None:
    assert complaints(ctrf.report(EVERY)) == []
    assert complaints(ctrf.report(document())) == []


@given(st.text(), st.text(), st.none() | st.text())
def test_any_finding_is_valid_ctrf(check: str, summary: str, param: str | None) -> None:
    made = ctrf.report(document(finding(check, param=param, summary=summary, nodeid=summary)))
    assert complaints(made) == []


@pytest.mark.parametrize(
    "spoil, complaint",
    [
        (lambda r: r.pop("specVersion"), "$: 'specVersion' is a required"),
        (
            lambda r: r["results"]["tests"][0].update(status="broken"),
            "$.results.tests[0].status: 'broken' is not one of",
        ),
        (
            lambda r: r["results"]["tests"][0].update(duration="1"),
            "$.results.tests[0].duration: '1' is not of type 'integer'",
        ),
        (lambda r: r["results"]["summary"].update(unproven=1), "$.results.summary: Additional properties"),
    ],
)
def test_the_schema_refuses_what_is_none(spoil: Any, complaint: str) -> None:
    made = ctrf.report(EVERY)
    spoil(made)
    assert any(told.startswith(complaint) for told in complaints(made))


def test_openmetrics_is_read_by_its_own_parser() -> None:
    found = families(openmetrics.text(EVERY))
    verdicts = {s.labels["verdict"]: s.value for s in found["dflash_run_verdict"].samples}
    assert verdicts == {"accept": 0, "reject": 1, "undecided": 0, "partial": 0}
    assert {s.labels["outcome"] for s in found["dflash_finding"].samples} >= {"fail", "pass", "waived"}
    (measure,) = found["dflash_measure"].samples
    assert (measure.labels["check"], measure.labels["measure"], measure.value) == ("gpu.count", "gpus", 7)


@given(st.text(), st.text(), st.floats())
def test_any_text_and_number_makes_valid_openmetrics(param: str, name: str, value: float) -> None:
    twice = [finding("gpu.ecc", param=param, measures={name: value})] * 2
    text = openmetrics.text(document(*twice))
    families(text)
    assert not any(unicodedata.category(letter) in {"Cc", "Cf", "Cs"} for letter in text.replace("\n", ""))


def test_the_step_summary_says_verdict_counts_and_what_is_wrong() -> None:
    text = github.summary(EVERY)
    assert text.startswith("## REJECT: the host must not take traffic")
    assert "1 pass, 1 fail, 1 unproven, 1 waived, 1 blocked, 1 not run" in text
    assert "| fail | gpu.count | gpu1 | gpu.count says so | mend &#124; it |" in text
    assert "**Next:** mend it" in text


def test_each_thing_that_is_wrong_is_one_annotation() -> None:
    lines = github.commands(EVERY)
    assert lines[0] == "::error title=gpu.count on gpu1::gpu.count says so Do: mend | it"
    assert [line.partition(" ")[0] for line in lines] == ["::error", "::error", "::notice"]


def test_no_more_annotations_than_github_shows() -> None:
    many = [finding("gpu.ecc", "fail", param=str(n)) for n in range(40)]
    assert len(github.commands(document(*many))) == github.MOST


def test_text_from_a_host_starts_no_command_and_no_markup() -> None:
    nasty = f"{HOSTILE}\n::add-mask::x\r\n[link](http://x) | `y`"
    text = document(finding("gpu.ecc", "fail", param=nasty, summary=nasty, remedy=nasty))
    (line,) = github.commands(text)
    assert "\n" not in line
    assert "\x1b" not in line
    summary = github.summary(text)
    assert "<script>" not in summary
    assert "[link]" not in summary
    assert not any(each.startswith("::") for each in summary.splitlines())
