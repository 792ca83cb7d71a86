"""The page: once each, in order, escaped, and whole for documents of any kind."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_dflash.report.page import matrix, render, untested
from tests.report.documents import HOSTILE, document, evidence, finding


def test_the_matrix_follows_the_witnesses_and_marks_the_loss() -> None:
    lost = finding(
        "flags.in_force",
        "fail",
        param="tp-size",
        expected=8,
        evidence=[
            evidence("unit_file", 8),
            evidence("loaded_unit", None, reading="absent"),
            evidence("process_argv", None, reading="silent", why="no permission"),
            evidence("server_info", 4, differs=True),
        ],
    )
    (row,) = matrix.settings([lost])
    assert (row.name, row.expected) == ("tp-size", "8")
    assert [(cell.shown, cell.tone) for cell in row.cells] == [
        ("8", "same"),
        ("-", "absent"),
        ("silent", "silent"),
        ("", "none"),
        ("4", "lost"),
        ("", "none"),
    ]
    assert row.cells[2].hint == "no permission"


def test_hosts_stand_side_by_side_and_those_that_differ_are_marked() -> None:
    found = [
        finding("gpu.count"),
        finding("gpu.count", host="gpu2"),
        finding("host.memory"),
        finding("host.memory", "fail", host="gpu2"),
        finding("flags.in_force", param="tp-size"),
    ]
    made = matrix.hosts(found, ["gpu1", "gpu2"])
    assert [(r.check, tuple(cell and cell["outcome"] for cell in r.cells), r.differs) for r in made] == [
        ("gpu.count", ("pass", "pass"), False),
        ("host.memory", ("pass", "fail"), True),
        ("flags.in_force[tp-size]", ("pass", None), True),
    ]


def test_cards_with_names_of_their_own_are_compared_together() -> None:
    found = [
        finding(check, param=f"GPU-{n}", host=host)
        for check in ("gpu.ecc", "stack.built_for_gpus")
        for host in ("gpu1", "gpu2")
        for n in (host, 9)
    ]
    made = matrix.hosts(found, ["gpu1", "gpu2"])
    assert [(row.check, row.differs) for row in made] == [("gpu.ecc", False), ("stack.built_for_gpus", False)]


def test_another_version_on_one_host_is_a_difference_though_both_pass() -> None:
    found = [
        finding("stack.driver", observed=version, host=host)
        for host, version in (("gpu1", "580.65"), ("gpu2", "590.44"))
    ]
    assert [row.differs for row in matrix.hosts(found, ["gpu1", "gpu2"])] == [True]


def test_what_was_not_tested_is_grouped_by_its_reason() -> None:
    made = untested.reasons(
        [
            finding("lifecycle.restarts", "not_run", summary="needs restart"),
            finding("lifecycle.stays_up", "not_run", summary="needs restart"),
            finding("throughput.ttft", "not_applicable", param="a", summary="ttft: 3 ms; no limit for it"),
            finding("throughput.ttft", "not_applicable", param="b", summary="ttft: 4 ms; no limit for it"),
        ]
    )
    assert [(each.outcome, each.why, each.checks) for each in made] == [
        ("not_run", "needs restart", (("lifecycle.restarts", ""), ("lifecycle.stays_up", ""))),
        (
            "not_applicable",
            "no limit for it",
            (("throughput.ttft[a]", "ttft: 3 ms"), ("throughput.ttft[b]", "ttft: 4 ms")),
        ),
    ]


def test_the_page_answers_in_this_order() -> None:
    page = render.page(
        document(finding("gpu.count", "fail", cause="a lost GPU", remedy="mend it"), finding("gpu.ecc"))
    )
    order = ["REJECT", "the host must not take traffic", "1 fail", "Next:", "engine.service", "What is wrong"]
    order += ["Cause:", "a lost GPU", "Not tested, and why", "remains by hand", "<h2>All checks"]
    places = [page.index(word, page.index("<section")) for word in order]
    assert places == sorted(places)


def test_a_failure_stands_once_above_the_table_of_checks() -> None:
    page = render.page(document(finding("gpu.count", "fail", remedy="turn it off and on")))
    assert page.partition('id="checks"')[0].count("<article") == 1
    assert page.count("<b>Do:</b> turn it off and on") == 1


def test_the_page_tells_of_the_run_before_of_waivers_and_of_the_way_back() -> None:
    host = {
        "name": "gpu1",
        "unit": "engine.service",
        "engine": "sglang",
        "engine_version": "0.5.23",
        "started": "2026-11-29T17:00:00Z",
        "gpus": "8 \u00d7 H200",
        "stack": {"driver": "580.95", "torch": "2.9"},
        "previous": {"ending": "killed by SIGKILL", "crashed": True, "ended": None, "last_lines": ["Killed"]},
        "waivers": [{"check": "gpu.*", "param": None, "reason": "ticket 4711", "expires": "2027-01-31"}],
        "restored": False,
    }
    page = render.page(document(hosts=[host], notes=["NOT PUT BACK: a drop-in"], unmet=["flags.* on gpu1"]))
    told = re.sub(r"<[^>]+>", "", page)
    for words in (
        "not put back",
        "driver 580.95, torch 2.9",
        "killed by SIGKILL",
        "ticket 4711",
        "2027-01-31",
        "NOT PUT BACK: a drop-in",
        "required: flags.* on gpu1",
        "pytest --host=gpu1 suites/",
    ):
        assert words in told


def test_several_hosts_stand_side_by_side() -> None:
    hosts = [{"name": name, "unit": "e.service", "engine": "sglang"} for name in ("gpu1", "gpu2")]
    page = render.page(document(finding("gpu.ecc"), finding("gpu.ecc", "fail", host="gpu2"), hosts=hosts))
    assert "Hosts side by side" in page
    assert "1 of 1 checks differ" in page
    assert 'id="filter-host"' in page


def test_every_text_is_data() -> None:
    hostile = finding(
        HOSTILE,
        "fail",
        param=HOSTILE,
        summary=HOSTILE,
        cause=HOSTILE,
        remedy=HOSTILE,
        host=HOSTILE,
        nodeid=HOSTILE,
        evidence=[evidence(HOSTILE, HOSTILE, where=HOSTILE)],
        measures={HOSTILE: 1.0},
    )
    page = render.page(
        document(hostile, hosts=[{"name": HOSTILE, "unit": HOSTILE, "engine": HOSTILE}], command=HOSTILE)
    )
    assert "<script>alert" not in page
    assert "\x1b" not in page
    assert "\u202e" not in page


@given(st.text(), st.sampled_from(["pass", "fail", "unproven", "waived", "blocked"]), st.floats())
def test_any_finding_makes_a_page(text: str, outcome: str, measure: float) -> None:
    made = render.page(document(finding(text, outcome, summary=text, measures={text: measure})))
    assert made.count("<script>") == 1


@pytest.mark.parametrize(
    "value, shown",
    [(3.0, "3"), (12345678, "12\u202f345\u202f678"), (0.123456, "0.1235"), (float("nan"), "nan")],
)
def test_a_measure_has_the_digits_that_a_reader_needs(value: float, shown: str) -> None:
    assert render.number(value) == shown


def test_what_was_captured_is_shown_as_text() -> None:
    assert render.captured([("stdout", "<b>\x1b[1m\n")]) == "<pre>--- stdout\n&lt;b&gt;\\x1b[1m\n</pre>"
    assert render.captured([("stdout", " ")]) == ""


def test_nothing_on_the_page_is_fetched_from_elsewhere() -> None:
    page = render.page(document(finding("gpu.count", "fail")))
    assert not re.search(r"(?:src|href)=[\"'](?!#)", page)
    assert "@import" not in page
    assert "url(" not in page
