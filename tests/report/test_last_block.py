"""The last block: what decided the verdict, numbered as in report.html, and how far the verdict reaches."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_dflash.report import scope, terminal


def finding(check: str, outcome: str = "fail", remedy: str | None = None, **rest: Any) -> dict[str, Any]:
    return {
        "check": check,
        "param": None,
        "nodeid": check,
        "host": "gpu1",
        "service": "engine.service",
        "invocation_id": None,
        "level": "read",
        "outcome": outcome,
        "summary": f"{check} is {'right' if outcome == 'pass' else 'wrong'}",
        "expected": None,
        "observed": None,
        "between": None,
        "cause": None,
        "remedy": remedy,
        "evidence": [],
        "measures": {},
        "duration_s": 0.0,
    } | rest


def run(verdict: str = "accept", *allow: str, command: str = "pytest --host=gpu1 suites/") -> dict[str, Any]:
    return {"verdict": verdict, "allow": list(allow or ("load",)), "command": command, "exit_code": 0}


def test_failures_with_one_remedy_are_one_line_by_the_most_telling() -> None:
    found = [
        finding("flags.no_drift", remedy="ask otherwise"),
        finding("host.xid"),
        finding("window.in_force", remedy="ask otherwise"),
    ]
    assert terminal.reasons(found, []) == [
        "  1. fail      window.in_force on gpu1: window.in_force is wrong (seen as well by flags.no_drift)",
        "     do: ask otherwise.",
        "  2. fail      host.xid on gpu1: host.xid is wrong",
    ]


def test_a_single_thing_has_no_number_and_its_remedy_is_the_next_step() -> None:
    found = [finding("host.xid", remedy="look at dmesg")]
    assert terminal.reasons(found, []) == ["  fail      host.xid on gpu1: host.xid is wrong"]
    assert terminal.next_step(found, run("reject")) == "look at dmesg"


def test_of_many_alike_the_number_is_told() -> None:
    found = [finding("gpu.power_limit", remedy="raise it", param=f"GPU-{n}") for n in range(8)]
    (line,) = terminal.reasons(found, [])
    assert (
        line
        == "  fail      gpu.power_limit[GPU-0] on gpu1: gpu.power_limit is wrong (seen as well by 7 more)"
    )


def test_what_is_unproven_without_a_remedy_is_one_line_a_check() -> None:
    found = [finding("gpu.ecc", "unproven", param=f"GPU-{n}") for n in range(8)]
    (line,) = terminal.reasons([finding("host.xid", "pass"), *found], [])
    assert line.endswith("(and 7 more of this check)")


def test_the_same_on_another_host_and_what_has_no_remedy_stand_for_themselves() -> None:
    found = [
        finding("gpu.ecc", remedy="mend"),
        finding("gpu.ecc", remedy="mend", host="gpu2"),
        finding("host.xid"),
        finding("host.xid", nodeid="again"),
    ]
    assert sum(". fail" in line for line in terminal.reasons(found, [])) == 4


def test_the_next_step_is_that_of_the_first_thing_of_the_report() -> None:
    found = [finding("gpu.ecc", remedy="change the card"), finding("endpoint.serves", remedy="start it")]
    assert terminal.next_step(found, run("reject")) == "start it"


def test_an_acceptance_without_a_load_does_not_say_that_the_host_may_take_traffic() -> None:
    found = [
        finding("systemd.active", "pass"),
        finding("tree.budget", "pass"),
        finding("tree.lossless", "not_run"),
        finding("throughput.floor", "not_run"),
    ]
    said = scope.headline(run("accept", "probe"), found)
    assert said == (
        "good as far as this run went, which does not say that the host may take traffic; "
        "accept at level probe: part of tree, throughput not judged"
    )


def test_an_acceptance_with_a_load_names_what_only_a_restart_judges() -> None:
    found = [finding("systemd.active", "pass"), finding("lifecycle.restart", "not_run")]
    assert scope.headline(run(), found) == (
        "the host may take traffic; accept at level load: lifecycle not judged"
    )
    assert scope.headline(run(), found[:1]) == "the host may take traffic"
    assert terminal.next_step(found, run()) is None


def test_what_comes_after_an_acceptance_without_a_load_is_the_run_with_one() -> None:
    found = [finding("systemd.active", "pass"), finding("tree.lossless", "not_run")]

    def then(command: str, *allow: str) -> str | None:
        return terminal.next_step(found, run("accept", *allow, command=command))

    assert then("pytest --dflash-allow=probe --host=gpu1 suites/", "probe") == "pytest --host=gpu1 suites/"
    assert then("pytest --host=gpu1 --dflash-allow read suites/", "read") == "pytest --host=gpu1 suites/"
    assert then("pytest --host=gpu1 suites/ --dflash-allow=restart", "read", "restart") == (
        "pytest --host=gpu1 suites/ --dflash-allow=load,restart"
    )
    assert "addopts" in (then("pytest --host=gpu1 suites/", "read") or "")


def test_tests_and_findings_are_both_counted_where_they_differ() -> None:
    found = [finding("gpu.ecc", "pass", nodeid="one", param=f"GPU-{n}") for n in range(8)]
    document = {"run": run() | {"unmet": [], "notes": [], "next": None}, "findings": found}
    assert terminal.block(document, "there")[1] == "1 tests gave 8 findings: 8 pass"


@pytest.mark.parametrize(
    "code, said, after",
    [
        (2, "broken off before all checks were judged", "run the same command again"),
        (
            3,
            "an error of this tool stopped the run",
            "report the traceback above, and run again without the check that it names",
        ),
        (
            12,
            "a host could not be put back as it was found",
            "type what is told above on that host, then run again",
        ),
    ],
)
def test_what_weighs_more_than_the_verdict_is_said_first_and_what_to_do_last(
    code: int, said: str, after: str
) -> None:
    told = run("undecided") | {"exit_code": code, "unmet": [], "notes": [], "next": None}
    assert terminal.block({"run": told, "findings": []}, "reports/x") == [
        f"{said} (exit code {code})",
        f"  {terminal.NOTHING}",
        "report: reports/x",
        f"next: {after}",
    ]
