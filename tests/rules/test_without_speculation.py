"""The unit without its flags of speculation: what proves that it drafts no more, and that nothing else does."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import pytest

from pytest_dflash.engines.scoring import Drafting, Spoken
from pytest_dflash.facts.reading import Absent, Reading, Silent, Value
from pytest_dflash.findings import Evidence, Judgement, Outcome, failed, passed
from pytest_dflash.lifecycle.changing import Changed
from pytest_dflash.lifecycle.restart import Restart
from pytest_dflash.oracle.answers import Part, Said
from pytest_dflash.rules.without_speculation import counted, drafts, in_answers, no_flags, unready

FLAGS = ("spec-type",)
STEPS, STILL = Value(40.0), Value(0.0)
GONE, DEAF = Absent("llamacpp:drafts in GET /metrics"), Silent("GET /metrics answered 404")
UNKNOWN = "whether the engine drafts without spec-type is not known, so it is nothing to compare with: "
ASKED = Evidence(source="process_argv", reading="absent")
TOLD = Evidence(source="server_info", reading="absent")


def judged(before: Reading[float], now: Reading[float], *proofs: Judgement) -> Judgement | None:
    return drafts([(before, now)], FLAGS, proofs)


@pytest.mark.parametrize("before, now", [(STEPS, STILL), (STEPS, GONE)])
def test_counters_that_stand_still_or_went_with_the_drafts_prove_that_none_is_made(
    before: Reading[float], now: Reading[float]
) -> None:
    assert judged(before, now) is None


@pytest.mark.parametrize("before", [STEPS, GONE, DEAF])
def test_verify_steps_without_the_flags_leave_nothing_to_compare_with(before: Reading[float]) -> None:
    found = judged(before, STEPS, passed("gone", evidence=(TOLD,)))
    assert found is not None
    assert (found.outcome, found.summary) == (
        "unproven", "without spec-type the engine still tells verify steps, so it is nothing to compare with",
    )  # fmt: skip


@pytest.mark.parametrize(
    "before, now, why",
    [
        (STEPS, DEAF, "GET /metrics answered 404"),
        (DEAF, GONE, "there is no llamacpp:drafts in GET /metrics"),
        (GONE, GONE, "there is no llamacpp:drafts in GET /metrics"),
        (STILL, STILL, "it counts no verify steps with its flags either"),
        (GONE, STILL, "it counts no verify steps with its flags either"),
        (DEAF, STILL, "it counts no verify steps with its flags either"),
    ],
)
def test_silence_proves_nothing(before: Reading[float], now: Reading[float], why: str) -> None:
    found = judged(before, now)
    assert found is not None
    assert (found.outcome, found.summary) == ("unproven", UNKNOWN + why)
    assert found.remedy == (
        "let the engine count its verify steps: SGLang needs --enable-metrics, llama.cpp --metrics"
    )


def test_the_engines_own_word_counts_where_its_counters_are_silent_and_nobody_elses_does() -> None:
    assert judged(STEPS, DEAF, passed("gone", evidence=(ASKED, TOLD))) is None
    for proofs in ([passed("gone", evidence=(ASKED,))], [failed("still there", evidence=(TOLD,))]):
        found = judged(STEPS, DEAF, *proofs)
        assert found is not None
        assert found.summary == UNKNOWN + DEAF.why


def test_one_source_that_proves_it_is_enough() -> None:
    assert drafts([(STEPS, GONE), (DEAF, DEAF)], FLAGS, ()) is None


def test_steps_are_counted_from_the_first_look_to_the_last() -> None:
    at = [Value(Drafting(10.0 * n, float(n))) for n in (3, 3, 8)]
    assert counted(at) == Value(5.0)
    assert counted(at[:2]) == Value(0.0)
    assert counted([GONE, at[0]]) == Value(3.0)
    assert counted([GONE, GONE]) == GONE
    assert counted([at[0], DEAF, at[2]]) == Value(5.0)
    assert counted([at[0], DEAF]) == DEAF
    assert counted(()) == Silent("no counters were asked for")


def test_answers_tell_their_own_steps() -> None:
    told, none = (Said("a", (1,), Spoken(tokens=(2,), steps=steps)) for steps in (4, None))
    assert in_answers([Part((told, none))]) == Value(4.0)
    assert in_answers([Part((none,))]) == Absent("count of verify steps in its answers")
    assert in_answers([]) == Silent("nothing was answered")


def test_a_start_that_fails_without_speculation_accuses_nobody() -> None:
    settled = SimpleNamespace(why="it ended (exited 2)", phase="failed")
    found = unready(Changed(cast("Restart", SimpleNamespace(ready=False, settled=settled))))
    assert found is not None
    assert (found.outcome, found.observed) == ("unproven", "failed")
    assert found.summary == (
        "the engine does not get ready without speculation, so that there is nothing to compare with: it ended (exited 2)"
    )


def test_flags_that_stay_in_force_leave_nothing_to_compare_with() -> None:
    ready = cast("Restart", SimpleNamespace(ready=True))
    proofs = (passed("a is absent"), failed("b is 4, expected nothing", remedy="look at the environment"))
    found = unready(Changed(ready, proofs))
    assert found is not None
    assert (found.outcome, found.remedy) == ("unproven", "look at the environment")
    assert found.summary == (
        "the flags of speculation are still in force, so that there is nothing to compare with: b is 4, expected nothing"
    )
    assert unready(Changed(ready, proofs[:1])) is None


def test_without_flags_there_is_nothing_to_take_out() -> None:
    assert no_flags(known=True).outcome is Outcome.NOT_APPLICABLE
    assert no_flags(known=True).summary == "the process was started without any flag of speculation"
    assert no_flags(known=False).summary == "which flags make this engine speculate is not known"
