"""What is wrong, once each: what has one remedy or one cause is one card, and nothing is lost."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pytest_dflash.report import cards
from tests.report.documents import evidence, finding


def test_findings_with_one_remedy_are_one_card() -> None:
    made = cards.cards(
        [
            finding("flags.no_drift", "fail", remedy="ask otherwise"),
            finding("window.reaches_draft_runner", "fail", remedy="ask otherwise"),
        ]
    )
    assert [(card.title, card.others) for card in made] == [
        ("window.reaches_draft_runner", ("flags.no_drift",))
    ]


def test_findings_without_a_remedy_stand_for_themselves() -> None:
    made = cards.cards([finding("gpu.ecc", "fail", param="a"), finding("gpu.ecc", "fail", param="b")])
    assert [card.title for card in made] == ["gpu.ecc[a]", "gpu.ecc[b]"]


def test_failures_come_before_what_is_unproven_and_what_is_waived() -> None:
    made = cards.cards(
        [
            finding("host.xid", "waived"),
            finding("gpu.count", "unproven"),
            finding("gpu.ecc", "fail"),
            finding("endpoint.serves", "fail"),
            finding("gpu.mig"),
        ]
    )
    assert [card.title for card in made] == ["endpoint.serves", "gpu.ecc", "gpu.count", "host.xid"]


def test_one_fault_seen_at_rest_and_at_work_is_one_card_with_both_pieces_of_advice() -> None:
    (card,) = cards.cards(
        [
            finding("gpu.pcie_link", "fail", param="GPU-1", remedy="look at the BIOS"),
            finding("throughput.host_under_load", "fail", param="GPU-1", remedy="reseat the card"),
        ]
    )
    assert (card.title, [(each.title, each.told["remedy"]) for each in card.followers]) == (
        "gpu.pcie_link[GPU-1]",
        [("throughput.host_under_load[GPU-1]", "reseat the card")],
    )


def test_all_that_one_missing_reload_explains_is_one_card() -> None:
    step = ["unit_file", "loaded_unit"]
    (card, other) = cards.cards(
        [
            finding("systemd.reloaded", "fail", between=step, remedy="decide which is right"),
            finding("window.reaches_draft_runner", "fail", between=step, remedy="reload"),
            finding("flags.no_drift", "fail", between=step, remedy="if it is meant, reload"),
            finding("flags.in_force", "fail", between=["server_info", "draft_runner_log"], remedy="ask"),
        ]
    )
    assert card.title == "window.reaches_draft_runner"
    assert sorted(each.title for each in card.followers) == ["flags.no_drift", "systemd.reloaded"]
    assert other.title == "flags.in_force"


def test_another_card_at_work_is_another_fault() -> None:
    made = cards.cards(
        [
            finding("gpu.pcie_link", "fail", param="GPU-1"),
            finding("throughput.host_under_load", "fail", param="GPU-2"),
            finding("throughput.host_under_load", "fail", param="GPU-1", host="gpu2"),
        ]
    )
    assert [card.number for card in made] == [1, 2, 3]


def test_what_is_quoted_as_a_cause_is_told_with_what_it_causes() -> None:
    line = "--draft-window has no effect with this algorithm"
    ignored = finding("flags.none_ignored", "fail", evidence=[evidence("journal", line, differs=True)])
    (card,) = cards.cards(
        [ignored, finding("window.reaches_draft_runner", "fail", cause=f'the engine warns: "{line}"')]
    )
    assert (card.title, [each.title for each in card.followers]) == (
        "window.reaches_draft_runner",
        ["flags.none_ignored"],
    )


LINES = ("a line of the log that is long enough", "another line that is long enough", "short")


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["gpu.ecc", "throughput.host_under_load", "flags.none_ignored"]),
            st.sampled_from(["fail", "unproven"]),
            st.sampled_from([None, "GPU-1"]),
            st.sampled_from([None, *LINES, " ".join(LINES)]),
            st.sampled_from(LINES),
        ),
        max_size=6,
    )
)
def test_every_finding_is_told_once_however_they_quote_each_other(
    found: list[tuple[str, str, str | None, str | None, str]],
) -> None:
    findings = [
        finding(
            check,
            outcome,
            param=param,
            cause=cause,
            nodeid=str(n),
            evidence=[evidence("x", line, differs=True)],
        )
        for n, (check, outcome, param, cause, line) in enumerate(found)
    ]
    made = cards.cards(findings)
    told = [each.told["nodeid"] for card in made for each in (card, *card.followers)]
    assert [card.number for card in made] == list(range(1, len(made) + 1))
    assert (
        len(told)
        == len(set(told))
        == len(findings) - sum(len(each.others) for card in made for each in (card, *card.followers))
    )
