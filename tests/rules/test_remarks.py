"""What the engine says itself stands beside a red check, and picks the remedy where it is known to explain it."""

from __future__ import annotations

from pytest_dflash.engines.dialect import Warning_
from pytest_dflash.engines.registry import dialect
from pytest_dflash.facts.journal import Entry, Journal
from pytest_dflash.findings import Outcome, failed
from pytest_dflash.rules.remarks import QUOTED, in_its_own_words

GREEDY = "DFLASH non-greedy verification is unavailable on this build/device; falling back to greedy argmax verification."
RED = failed("16 answers are all the same", cause="one of three things", remedy="compare the thresholds")


def said(*lines: str) -> list[Warning_]:
    entries = tuple(Entry(n, n, 4121, 6, f"[2026-11-29 16:32:46 TP0] {line}") for n, line in enumerate(lines))
    return list(dialect("sglang").warnings(Journal("1f2e", entries, reaches_start=False, whole=False)))


def test_a_line_that_explains_the_check_is_quoted_and_picks_cause_and_remedy() -> None:
    found = in_its_own_words(RED, "tree.sampling", said(GREEDY))
    assert found.outcome is Outcome.FAIL
    assert found.summary == RED.summary
    assert found.cause == (
        "the kernel that verifies drafts by sampling is not in this build, or not for this device, so that every "
        f'request is answered greedily, whatever temperature it asks for. The engine says so: "{GREEDY}"'
    )
    assert found.remedy == (
        "serve by a build and on a device that has the kernel (SGLang's own CUDA wheels), or without speculation; "
        "until then send this host only requests at temperature 0"
    )
    (line,) = found.evidence
    assert (line.source, line.value, line.where, line.differs) == ("journal", GREEDY, "TP0, pid 4121", True)


def test_the_longer_line_of_later_versions_is_known_too() -> None:
    line = (
        f"{GREEDY} The requested sampling distribution will not be preserved; use temperature=0 and top_k=1."
    )
    assert "is answered greedily" in str(in_its_own_words(RED, "tree.sampling_per_budget", said(line)).cause)


def test_a_line_that_was_said_before_the_check_explains_it_all_the_same() -> None:
    assert in_its_own_words(RED, "tree.sampling", said(GREEDY), before=[GREEDY]).remedy != RED.remedy


def test_a_line_about_something_else_changes_neither_cause_nor_remedy() -> None:
    found = in_its_own_words(RED, "tree.lossless", said(GREEDY))
    assert found == RED


def test_what_the_engine_said_meanwhile_is_quoted() -> None:
    line = "--page-size has no effect"
    found = in_its_own_words(RED, "tree.lossless", said(line))
    assert (found.cause, found.remedy) == (RED.cause, RED.remedy)
    assert [each.value for each in found.evidence] == [line]
    assert in_its_own_words(RED, "tree.lossless", said(line), before=[line]) == RED


def test_at_most_some_lines_are_quoted() -> None:
    many = [Warning_(None, f"line {n}", "log") for n in range(QUOTED + 3)]
    assert len(in_its_own_words(RED, "tree.lossless", many).evidence) == QUOTED
