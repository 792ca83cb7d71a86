"""One setting followed along its chain: every combination of what six witnesses may say."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_dflash.facts.reading import Absent, Reading, Silent, Value
from pytest_dflash.findings import Json, Judgement, Outcome
from pytest_dflash.witness.chain import WITNESSES, Witnessed
from pytest_dflash.witness.comparison import Rule
from pytest_dflash.witness.following import Subject, follow

STRICT = Rule(
    same=lambda left, right: left == right,
    meets=lambda value, expected: value == expected,
    rewritten=lambda _asked, _found: False,
)
AGREE, DIFFER, ABSENT, SILENT = Value(2048), Value(16), Absent("there"), Silent("rotated away")
LETTERS: dict[str, Reading[Json]] = {"A": AGREE, "d": DIFFER, "-": ABSENT, "s": SILENT}


def chain(letters: str, witnesses: tuple[str, ...] = WITNESSES) -> tuple[Witnessed, ...]:
    """Six readings, one letter each: A agrees, d differs, - absent, s silent."""
    return tuple(Witnessed(name, LETTERS[letter]) for name, letter in zip(witnesses, letters, strict=True))


def judged(letters: str, optional: tuple[str, ...] = (), warning: str = "") -> Judgement:
    return follow(
        Subject("window", "engine.service", warning, optional, "--window"), chain(letters), 2048, STRICT
    )


def everything() -> Iterator[str]:
    return map("".join, product(LETTERS, repeat=6))


def test_it_fails_if_and_only_if_somebody_who_was_heard_differs() -> None:
    for letters in everything():
        wrong = bool({"d", "-"} & set(letters))
        assert (judged(letters).outcome is Outcome.FAIL) == wrong, letters


def test_it_never_passes_when_the_last_witness_is_silent() -> None:
    for letters in everything():
        if letters[-1] == "s":
            assert judged(letters).outcome is not Outcome.PASS, letters


def test_it_passes_exactly_when_the_last_speaks_and_nobody_differs() -> None:
    for letters in everything():
        expected = letters[-1] == "A" and set(letters) <= {"A", "s"}
        assert (judged(letters).outcome is Outcome.PASS) == expected, letters


def test_an_optional_last_witness_may_be_silent_and_still_may_not_differ() -> None:
    for letters in everything():
        outcome = judged(letters, ("draft_runner_log",)).outcome
        if {"d", "-"} & set(letters):
            assert outcome is Outcome.FAIL, letters
        else:
            assert (outcome is Outcome.PASS) == (letters[4] == "A"), letters


def test_with_all_witnesses_optional_silence_alone_does_not_pass() -> None:
    assert judged("ssssss", WITNESSES).outcome is Outcome.UNPROVEN
    assert judged("Asssss", WITNESSES).outcome is Outcome.PASS


def test_the_pair_named_are_neighbours_among_those_that_were_heard_and_say_different_things() -> None:
    for letters in everything():
        judgement = judged(letters)
        if judgement.between is None:
            continue
        heard = [name for name, letter in zip(WITNESSES, letters, strict=True) if letter != "s"]
        assert judgement.between in list(pairwise(heard)), letters
        early, late = (letters[WITNESSES.index(name)] for name in judgement.between)
        assert early != late, letters


def test_no_pair_is_named_only_where_nobody_held_the_expected_value() -> None:
    for letters in everything():
        judgement = judged(letters)
        if judgement.outcome is Outcome.FAIL and judgement.between is None:
            assert "A" not in letters, letters


def test_exactly_one_row_is_marked_and_it_differs() -> None:
    for letters in everything():
        marked = [
            letter for letter, each in zip(letters, judged(letters).evidence, strict=True) if each.differs
        ]
        assert len(marked) == (1 if judged(letters).outcome is Outcome.FAIL else 0), letters
        assert set(marked) <= {"d", "-"}, letters


def test_every_judgement_shows_every_witness() -> None:
    for letters in everything():
        assert tuple(each.source for each in judged(letters).evidence) == WITNESSES


def test_every_failure_and_every_doubt_says_what_to_do() -> None:
    for letters in everything():
        judgement = judged(letters)
        if judgement.outcome is not Outcome.PASS:
            assert judgement.remedy, letters
            assert "{" not in f"{judgement.cause}{judgement.remedy}", letters


DISK, ASK, LAST = WITNESSES[:2], WITNESSES[1:3], WITNESSES[4:]
GAP, HOLDS = ("loaded_unit", "server_args_log"), " (loaded_unit holds it)"


@pytest.mark.parametrize(
    "letters, between, summary",
    [
        ("AAAAA-", LAST, "drifted between server_info and draft_runner_log: expected 2048, found nothing"),
        ("AAdddd", ASK, "drifted between loaded_unit and process_argv: expected 2048, found 16"),
        ("A-----", DISK, "drifted between unit_file and loaded_unit: expected 2048, found nothing"),
        ("AAsd--", GAP, "drifted between loaded_unit and server_args_log: expected 2048, found 16"),
        ("dAAAAA", DISK, f"drifted between unit_file and loaded_unit{HOLDS}: expected 2048, found 16"),
        ("dAAAA-", LAST, "drifted between server_info and draft_runner_log: expected 2048, found nothing"),
        ("dddddd", None, "is 16 all along: expected 2048"),
        ("------", None, "was never asked for: expected 2048, found nothing"),
        ("sssddd", None, "is 16 all along: expected 2048"),
        ("d-----", DISK, "drifted between unit_file and loaded_unit: expected 2048, found nothing"),
    ],
)
def test_a_failure_is_one_sentence_that_names_the_pair(
    letters: str, between: tuple[str, str] | None, summary: str
) -> None:
    judgement = judged(letters)
    assert (judgement.between, judgement.summary) == (between, f"window {summary}")


@pytest.mark.parametrize(
    "letters, cause",
    [
        ("A-----", "The file was edited and the manager has not read it since"),
        ("AA----", "The manager was reloaded and the service was not restarted"),
        ("AAA---", "The engine replaced the value at start-up"),
        ("AAAA--", "It was changed while running (set_internal_state)"),
        ("AAAAA-", "The target was told and the draft was not"),
        ("As----", "One of these. The file was edited"),
        ("-AAAAA", "Only the disk differs"),
        ("--AAAA", "The manager holds another value than the process runs with"),
        ("------", "It was never asked for"),
        ("dddddd", "The unit asks for another value"),
        ("d-----", "The value changed on its way, and was at no time the expected one"),
        ("AAA-AA", "The engine replaced the value at start-up"),
        ("---AAA", "A witness further on came back to the value"),
    ],
)
def test_a_failure_names_the_usual_cause(letters: str, cause: str) -> None:
    assert (judged(letters).cause or "").startswith(cause)


def test_the_engines_own_warning_is_quoted() -> None:
    cause = judged("AAAAA-", warning="has no effect with speculative_algorithm=DDTREE").cause
    assert cause == (
        "The target was told and the draft was not. "
        'This engine warns: "has no effect with speculative_algorithm=DDTREE"'
    )


def test_remedies_name_the_unit_and_the_flag() -> None:
    assert judged("AA----").remedy == "systemctl restart engine.service when drained, then run again"
    assert judged("------").remedy == (
        "Set --window to 2048 in the unit, then systemctl daemon-reload && systemctl restart engine.service"
    )


def test_an_unproven_judgement_names_the_silent_witness_why_and_how_far_it_was_followed() -> None:
    judgement = judged("AAAAAs")
    assert judgement.outcome is Outcome.UNPROVEN
    assert judgement.summary == (
        "window is not proven: draft_runner_log is silent: rotated away; 2048 as far as server_info"
    )
    assert "[witnesses] optional" in (judgement.remedy or "")


def test_a_pass_mentions_the_silent_witnesses() -> None:
    assert (
        judged("AsAAAA").summary
        == "window is 2048, from unit_file to draft_runner_log; loaded_unit is silent"
    )


SWITCH = Rule(
    same=lambda left, right: bool(left) == bool(right),
    meets=lambda left, right: bool(left) == bool(right),
    rewritten=lambda _asked, _found: False,
)


ON, OFF, UNSET = Value(value=True), Value(value=False), Value(value=None)
PRESENT: Json = True
GONE: Json = False


def switched(readings: tuple[Reading[Json], ...], expected: Json) -> Judgement:
    witnessed = tuple(Witnessed(name, each) for name, each in zip(WITNESSES, readings, strict=False))
    return follow(Subject("trust", "engine.service", setter="--trust"), witnessed, expected, SWITCH)


@pytest.mark.parametrize(
    "readings, expected, outcome",
    [
        ((ON, ON), PRESENT, Outcome.PASS),
        ((Absent(), OFF), GONE, Outcome.PASS),
        ((Absent(), UNSET), GONE, Outcome.PASS),
        ((Absent(), Absent()), PRESENT, Outcome.FAIL),
        ((ON, ON), GONE, Outcome.FAIL),
        ((Absent(), ON), GONE, Outcome.FAIL),
        ((Absent(), Silent("")), GONE, Outcome.UNPROVEN),
    ],
)
def test_a_bare_switch_is_expected_to_be_present_or_to_be_absent_or_off(
    readings: tuple[Reading[Json], ...], expected: Json, outcome: Outcome
) -> None:
    assert switched(readings, expected).outcome is outcome


def test_an_unwanted_switch_says_so() -> None:
    judgement = switched((ON, ON), GONE)
    assert judgement.summary == "trust is set: expected it to be absent, found true"
    assert (judgement.remedy or "").startswith("Take --trust out of the unit")


UPPER = Rule(
    same=lambda left, right: left == right,
    meets=lambda left, right: left == right,
    rewritten=lambda asked, found: (asked, found) in {("nextn", "EAGLE"), (None, "triton"), (False, True)},
)


def rewritten(
    letters: list[Reading[Json]], expected: Json, witnesses: tuple[str, ...] = WITNESSES
) -> Outcome:
    witnessed = tuple(Witnessed(name, each) for name, each in zip(witnesses, letters, strict=False))
    return follow(Subject("algorithm", "engine.service"), witnessed, expected, UPPER).outcome


ASKED, FOUND = Value("nextn"), Value("EAGLE")


def test_a_legal_rewrite_alarms_nobody_whichever_side_is_expected() -> None:
    assert rewritten([ASKED, ASKED, ASKED, FOUND, FOUND], "nextn") is Outcome.PASS
    assert rewritten([ASKED, ASKED, ASKED, FOUND, FOUND], "EAGLE") is Outcome.PASS


def test_nobody_rewrites_between_disk_and_process() -> None:
    assert rewritten([FOUND, ASKED, ASKED, FOUND, FOUND], "EAGLE") is Outcome.FAIL
    assert (
        rewritten([Absent(), Value("triton"), Value("triton"), Value("triton"), Value("triton")], "triton")
        is Outcome.FAIL
    )


def test_what_the_engine_chose_by_itself_is_in_force_when_the_engine_says_so() -> None:
    assert (
        rewritten([Absent(), Absent(), Absent(), Value("triton"), Value("triton")], "triton") is Outcome.PASS
    )
    assert rewritten([Absent(), Absent(), Absent(), Silent(""), Silent("")], "triton") is Outcome.UNPROVEN
    assert rewritten([Absent(), Absent(), Absent(), Value("other"), Value("other")], "triton") is Outcome.FAIL


def test_without_an_engines_own_word_asking_for_nothing_is_not_enough() -> None:
    assert rewritten([Absent(), Absent(), Absent()], "triton") is Outcome.FAIL


def test_no_engine_may_turn_on_what_must_be_off() -> None:
    assert rewritten([OFF, OFF, OFF, ON, ON], GONE) is Outcome.FAIL


@given(st.text(st.sampled_from("Ad-s"), min_size=1, max_size=6), st.sets(st.sampled_from(WITNESSES)))
def test_any_chain_under_any_option_is_judged_without_an_error(letters: str, optional: set[str]) -> None:
    judgement = follow(
        Subject("w", "u", optional=optional), chain(letters, WITNESSES[: len(letters)]), 2048, STRICT
    )
    assert judgement.outcome in {Outcome.PASS, Outcome.FAIL, Outcome.UNPROVEN}
    assert judgement.summary


def test_a_default_that_the_engine_does_not_print_is_told_by_its_value() -> None:
    lenient = Rule(same=STRICT.same, meets=STRICT.meets, rewritten=lambda _asked, found: found is None)
    judgement = follow(Subject("seed", "engine.service"), chain("AAA-", WITNESSES[:4]), 2048, lenient)
    assert judgement.outcome is Outcome.PASS
    assert judgement.summary == (
        "seed is 2048, from unit_file to server_args_log; server_args_log leaves out what is the default"
    )
