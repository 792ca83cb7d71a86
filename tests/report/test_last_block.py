"""What decided the verdict, one line for each thing that is to be mended."""

from __future__ import annotations

from pytest_dflash.findings import Finding, failed
from pytest_dflash.report import terminal


def finding(check: str, remedy: str | None, *, param: str | None = None, host: str = "gpu1") -> Finding:
    judgement = failed(f"{check} is wrong", remedy=remedy)
    return Finding(
        check=check,
        param=param,
        nodeid=check,
        host=host,
        service="engine.service",
        invocation_id=None,
        level="read",
        judgement=judgement,
        duration_s=0.0,
    )


def test_failures_with_one_remedy_are_one_line_by_the_most_telling() -> None:
    found = [
        finding("flags.no_drift", "ask otherwise"),
        finding("host.xid", None),
        finding("window.reaches_draft_runner", "ask otherwise"),
    ]
    assert terminal.reasons(found, []) == [
        "fail      window.reaches_draft_runner on gpu1: window.reaches_draft_runner is wrong (seen as well by flags.no_drift)",
        "fail      host.xid on gpu1: host.xid is wrong",
    ]


def test_of_many_alike_the_number_is_told() -> None:
    found = [finding("gpu.power_limit", "raise it", param=f"GPU-{n}") for n in range(8)]
    (line,) = terminal.reasons(found, [])
    assert (
        line == "fail      gpu.power_limit[GPU-0] on gpu1: gpu.power_limit is wrong (seen as well by 7 more)"
    )


def test_the_same_on_another_host_and_what_has_no_remedy_stand_for_themselves() -> None:
    found = [
        finding("gpu.ecc", "mend"),
        finding("gpu.ecc", "mend", host="gpu2"),
        *[finding("host.xid", None)] * 2,
    ]
    assert len(terminal.reasons(found, [])) == 4
