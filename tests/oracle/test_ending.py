"""Answers that end by themselves: whether the target would have ended there, as far as it can be known."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import pytest

from pytest_dflash.endpoint.client import Client
from pytest_dflash.endpoint.speaking import Speaker
from pytest_dflash.endpoint.trial import Trial
from pytest_dflash.engines.scoring import Bounds, Scored, Scoring, Spoken
from pytest_dflash.engines.sglang.scoring import SGLangScoring
from pytest_dflash.engines.text_scoring import TextScoring
from pytest_dflash.facts.reading import Reading, Value
from pytest_dflash.oracle.ending import UNTOLD, Ending, Kind, asked_again, by_its_account
from pytest_dflash.oracle.rescoring import Line, tally
from pytest_dflash.rules import tree_ends
from pytest_dflash.rules.tree_lossless import lossless
from tests.oracle.small_target import UNSAID, SmallTarget

END = 5
"""A token that this target says at a dozen places of each answer."""
BEYOND = Ending(Kind.TOLD, END)


class Unnamed(SGLangScoring):
    """An engine that says "stop", and not by which token."""

    def spoken(self, document: Any) -> Reading[Spoken]:
        found = super().spoken(document)
        return Value(replace(found.value, ended_by=None), found.where) if isinstance(found, Value) else found


def trial(target: SmallTarget, scoring: Scoring | None = None) -> Trial:
    return Trial(Speaker(cast("Client", target), scoring or SGLangScoring()), 11, Bounds(context=1024))


@pytest.mark.parametrize(
    "spoken, found",
    [
        (Spoken(tokens=(1, 2), finish="length"), None),
        (Spoken(tokens=(1, 2), finish="stop", ended_by=2), Ending(Kind.SENT)),
        (Spoken(tokens=(1, 2), finish="stop", ended_by=9), Ending(Kind.TOLD, 9)),
        (Spoken(tokens=(), finish="stop", ended_by=9), Ending(Kind.TOLD, 9)),
        (Spoken(tokens=(1, 2), finish="stop"), Ending(Kind.OPEN, why=UNTOLD)),
        (
            Spoken(tokens=None, text="x", finish="stop"),
            Ending(Kind.OPEN, why="the engine sends no token ids"),
        ),
        (
            Spoken(tokens=(1,), finish="stop", ended_by="###"),
            Ending(Kind.OPEN, why="it was ended by the text '###'"),
        ),
    ],
)
def test_an_answer_tells_as_much_of_its_end_as_its_engine_does(spoken: Spoken, found: Ending | None) -> None:
    assert by_its_account(spoken) == found


@pytest.mark.parametrize(
    "tokens, finish, found",
    [
        ((2,), "stop", Ending(Kind.SENT)),
        ((2, 7, 8), "length", Ending(Kind.GOES_ON, 7)),
        ((2, 7, 9), "stop", Ending(Kind.GOES_ON, 7)),
        ((2, 9), "stop", Ending(Kind.TOLD, 9)),
        ((3, 7, 8), "length", Ending(Kind.OPEN, why=f"{UNTOLD}, and asked for its last token again it says another one")),
        ((), "stop", Ending(Kind.OPEN, why=f"{UNTOLD}, and asked for its last token again it says nothing")),
    ],
)  # fmt: skip
def test_asked_for_its_last_token_again_an_engine_ends_there_or_goes_on(
    tokens: tuple[int, ...], finish: str, found: Ending
) -> None:
    said = Spoken(tokens=(1, 2), finish="stop")
    assert asked_again(said, Spoken(tokens=tokens, finish=finish)) == found


def test_an_end_token_that_is_told_and_not_sent_belongs_to_the_answer() -> None:
    assert Spoken(tokens=(1, 2), finish="stop", ended_by=9).whole == (1, 2, 9)
    assert Spoken(tokens=(1, 9), finish="stop", ended_by=9).whole == (1, 9)
    assert Spoken(tokens=(1, 2), finish="stop", ended_by="###").whole == (1, 2)
    assert Spoken(tokens=None, finish="stop", ended_by=9).whole == ()


def line(ending: Ending, *, lead: float) -> Line:
    """One token that is right, and the end behind it, where the target holds another one for likelier by `lead`."""
    beyond = ending.beyond or 0
    other = 7 if ending.kind is Kind.TOLD else beyond
    best = ((other, -0.1), (beyond if ending.kind is Kind.TOLD else 4, -0.1 - lead))
    scored = (Scored(1, -0.1, ((1, -0.1), (2, -4.0))), Scored(beyond, dict(best)[beyond], best))
    return Line("alone", (3, 3), (1, beyond), scored, ending)


@pytest.mark.parametrize("ending", [BEYOND, Ending(Kind.GOES_ON, 7)])
def test_an_end_is_one_position_more_and_may_be_a_tie(ending: Ending) -> None:
    found = tally([line(ending, lead=0.05)], 0.1)
    assert (found.positions, found.argmax, found.near_ties, found.violations) == (2, 1, 1, ())


@pytest.mark.parametrize(
    "ending, said, words",
    [
        (BEYOND, END, "the end of alone: it ended by token 5 behind 1 tokens, where the target says 7"),
        (
            Ending(Kind.GOES_ON, 7),
            None,
            "the end of alone: it ended behind 1 tokens, where the target says 7",
        ),
    ],
)
def test_an_end_at_which_the_target_goes_on_is_a_violation(
    ending: Ending, said: int | None, words: str
) -> None:
    (first,) = tally([line(ending, lead=6.0)], 0.1).violations
    assert (first.ended, first.said, first.wanted) == (True, said, 7)
    assert first.gap == pytest.approx(6.0)
    assert tree_ends.place(first) == words


@pytest.mark.parametrize("scoring", [SGLangScoring(), Unnamed()], ids=["named", "unnamed"])
@pytest.mark.parametrize("sends_end", [True, False])
@pytest.mark.parametrize("noise", [0.0, 0.02])
def test_answers_that_end_where_the_target_ends_pass_with_their_ends_judged(
    scoring: Scoring, *, sends_end: bool, noise: float
) -> None:
    of = trial(SmallTarget(end=END, sends_end=sends_end, noise=noise), scoring)
    found = lossless([of.alone, of.together], of.grounds)
    assert found.outcome == "pass", found.summary
    ends = sum(each.spoken.finish == "stop" for each in of.alone.said)
    assert ends >= 3
    assert found.evidence[0].source == "ends of answers"
    assert found.evidence[0].value == f"{ends} of {ends} judged as one more token"
    assert found.measures["ends"] == ends


@pytest.mark.parametrize("scoring", [SGLangScoring(), Unnamed()], ids=["named", "unnamed"])
def test_answers_that_end_early_fail_although_all_their_tokens_are_right(scoring: Scoring) -> None:
    # Asked for the last token again, with a prompt that is longer, the engine ends nothing.
    of = trial(SmallTarget(cuts=lambda prompt, index: prompt < 100 and index == 30), scoring)
    found = lossless([of.alone], of.grounds)
    assert found.outcome == "fail"
    by = "" if isinstance(scoring, Unnamed) else f" by token {UNSAID}"
    assert (
        f"the first is the end of alone, prompt of 37 tokens: it ended{by} behind 30 tokens, where"
        in found.summary
    )
    assert found.cause == tree_ends.CAUSE
    assert found.evidence[-1].source == "ends of answers"
    assert found.observed == ("the end" if isinstance(scoring, Unnamed) else UNSAID)


def test_an_end_of_which_nobody_knows_is_told_and_accuses_nobody() -> None:
    class Other(Unnamed):
        """Asked again, it says another token."""

        def spoken(self, document: Any) -> Reading[Spoken]:
            found = super().spoken(document)
            if not isinstance(found, Value) or len(found.value.tokens or ()) > 3:
                return found
            return Value(replace(found.value, tokens=(46,)), found.where)

    of = trial(SmallTarget(cuts=lambda prompt, index: prompt < 40 and index == 30), Other())
    found = lossless([of.alone], of.grounds)
    assert found.outcome == "pass"
    (ends,) = found.evidence
    assert ends.reading == "silent"
    assert ends.why == (
        f"1 of 1 ends were not judged, the first: alone, prompt of 37 tokens: {UNTOLD}, and asked for its last token "
        "again it says another one"
    )
    assert found.measures["open_ends"] == 1.0


def test_a_prefill_is_asked_at_the_end_too_where_the_engine_names_its_token() -> None:
    right = trial(SmallTarget(refuses="no", end=END, sends_end=False))
    found = lossless([right.alone, right.together], right.grounds)
    assert found.outcome == "pass", found.summary
    assert found.evidence[0].value == "3 of 3 judged as one more token"
    early = trial(SmallTarget(refuses="no", cuts=lambda _prompt, index: index == 30))
    found = lossless([early.alone], early.grounds)
    assert found.outcome == "fail"
    assert found.summary.startswith(
        "4 of 4 answers end where a prefill goes on, the first is alone, prompt of 37 tokens, behind 30 tokens: a prefill "
        "says "
    )
    assert found.cause == tree_ends.CAUSE


def test_one_end_at_which_a_prefill_goes_on_is_no_proof_and_no_agreement() -> None:
    of = trial(SmallTarget(refuses="no", cuts=lambda prompt, index: prompt < 40 and index == 30))
    found = lossless([of.alone], of.grounds)
    assert found.outcome == "unproven"
    assert ": too many for ties and too few for a verdict; by one-token prefill" in found.summary


def test_where_a_prefill_judges_and_the_engine_names_no_token_it_is_asked_again() -> None:
    right = trial(SmallTarget(refuses="no", end=END), Unnamed())
    found = lossless([right.alone, right.together], right.grounds)
    assert found.outcome == "pass", found.summary
    assert found.evidence[0].value == "3 of 3 judged as one more token"
    early = trial(SmallTarget(refuses="no", cuts=lambda _prompt, index: index == 30), Unnamed())
    found = lossless([early.alone], early.grounds)
    assert found.outcome == "fail"
    assert found.summary.startswith(
        "4 of 4 answers end where a prefill goes on, the first is alone, prompt of 37 tokens"
    )


def test_of_text_alone_the_ends_stay_open() -> None:
    class Text(TextScoring):
        """Nothing but text."""

        def generate(self, order: Any, model: str) -> Any:
            return SGLangScoring().generate(order, model)

        def spoken(self, document: Any) -> Any:
            reason = document["meta_info"]["finish_reason"]["type"]
            text: Any = {"choices": [{"text": document["text"].replace("`", " "), "finish_reason": reason}]}
            return super().spoken(text)

    of = trial(SmallTarget(cuts=lambda _prompt, index: index == 30), Text())
    (ends,) = tree_ends.evidence([of.alone])
    assert (
        ends.why
        == "4 of 4 ends were not judged, the first: alone, prompt of 37 tokens: a text alone was compared"
    )
