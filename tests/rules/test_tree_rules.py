from __future__ import annotations

import math
from dataclasses import replace
from types import SimpleNamespace
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_dflash.endpoint.trial import SCHEMA
from pytest_dflash.engines.scoring import Scored, Spoken
from pytest_dflash.findings import Judgement, Outcome, passed, unproven
from pytest_dflash.levels import Allowed
from pytest_dflash.lifecycle.changing import Changed
from pytest_dflash.lifecycle.restart import Restart
from pytest_dflash.oracle import sampling
from pytest_dflash.oracle.acceptance import Drafted
from pytest_dflash.oracle.answers import Grounds, Part, Said
from pytest_dflash.oracle.choice import Choice, Oracle
from pytest_dflash.oracle.noise import Noise
from pytest_dflash.oracle.prefill import Sample
from pytest_dflash.oracle.rescoring import Line
from pytest_dflash.profile.schema import Range
from pytest_dflash.rules import tree_acceptance, tree_budget, tree_lossless, tree_text
from pytest_dflash.rules.tree_lossless import lossless, pointless

GROUNDS = Grounds(Choice(Oracle.RESCORING), Noise((0.0,) * 200), 0, 0)
WEAK = Grounds(Choice(Oracle.PREFILL, "no logprobs: refused"), Noise(()), 0, 40)
GOOD = '{"name": "plums", "count": 12}'
VARIED = {0: 10, 1: 12, 2: 9, 3: 8, 5: 6}


def said(
    tokens: tuple[int, ...], label: str = "A, cold", *, cached: int | None = None, text: str = ""
) -> Said:
    spoken = Spoken(
        tokens=tokens, text=text, prompt_tokens=3, completion_tokens=len(tokens), cached_tokens=cached
    )
    return Said(label, (7, 8, 9), spoken)


def line(tokens: tuple[int, ...], label: str = "A, cold", gap: float = 0.0) -> Line:
    """Every token the target's own, but the last, which is `gap` nats behind."""
    last = len(tokens) - 1
    scored = tuple(
        Scored(token, -0.1, ((token, -0.1), (99, -9.0)))
        if index < last or not gap
        else Scored(token, -0.1 - gap, ((98, -0.1), (token, -0.1 - gap)))
        for index, token in enumerate(tokens)
    )
    return Line(label, (7, 8, 9), tokens, scored)


def part(*lines: Line, silent: tuple[str, ...] = ()) -> Part:
    return Part(
        tuple(said(each.said, each.label) for each in lines),
        lines,
        silent=silent,
        generating_s=2.0,
        judging_s=0.2,
    )


class TestLossless:
    def test_the_targets_own_tokens_pass_with_the_cost_beside(self) -> None:
        found = lossless([part(line(tuple(range(60))))], GROUNDS)
        assert found.outcome == "pass"
        assert (
            found.summary
            == "all 60 tokens are the target's own: 60 its first choice; by rescoring by input logprobs"
        )
        assert (found.measures["generating_s"], found.measures["judging_share"]) == (2.0, 0.1)

    def test_a_tie_passes_and_is_told(self) -> None:
        found = lossless([part(line(tuple(range(60)), gap=0.05))], GROUNDS)
        assert found.outcome == "pass"
        assert "59 its first choice, 1 within 0.05 nats of it (a tie; noise explains 0.125)" in found.summary

    def test_an_answer_that_could_not_be_scored_leaves_it_unproven(self) -> None:
        found = lossless([part(line(tuple(range(60))), silent=("B: timeout",))], GROUNDS)
        assert (found.outcome, found.summary) == (
            "unproven", "1 answers could not be scored, the first is B: timeout; by rescoring by input logprobs",
        )  # fmt: skip

    def test_a_violation_fails_also_beside_answers_that_could_not_be_scored(self) -> None:
        assert lossless([part(line((1, 2, 3), gap=4.0), silent=("B: timeout",))], GROUNDS).outcome == "fail"

    def test_how_far_the_others_are_from_the_first_choice_is_kept_for_the_picture(self) -> None:
        tied = lossless([part(line(tuple(range(60)), gap=0.05))], GROUNDS)
        wrong = lossless([part(line((1, 2, 3), gap=4.0))], GROUNDS)
        assert (tied.series, wrong.series) == ({"margins": [0.05]}, {"margins": [4.0]})
        assert lossless([part(line(tuple(range(60))))], GROUNDS).series == {}

    def test_of_many_margins_evenly_picked_ones_are_kept_with_both_ends(self) -> None:
        kept = tree_lossless.thinned([float(n) for n in range(1000)])
        assert (len(kept), kept[0], kept[-1]) == (tree_lossless.DRAWN, 0.0, 999.0)
        assert tree_lossless.thinned([0.5]) == [0.5]

    def test_too_few_tokens_are_no_verdict(self) -> None:
        found = lossless([part(line((1, 2, 3)))], GROUNDS)
        assert found.outcome == "unproven"
        assert "only 3 tokens were said, too few" in found.summary

    def test_a_tie_without_measured_noise_is_unproven(self) -> None:
        found = lossless([part(line(tuple(range(60)), gap=0.05))], Grounds(GROUNDS.choice, Noise(()), 0, 0))
        assert found.outcome == "unproven"
        assert "could not be measured" in found.summary

    def test_what_follows_from_wrong_answers_is_pointless(self) -> None:
        wrong = lossless([part(line((1, 2, 3), gap=4.0))], GROUNDS)
        blocked = pointless(wrong, "what is sampled")
        assert blocked is not None
        assert blocked.outcome is Outcome.BLOCKED
        assert blocked.summary.startswith(
            "what is sampled proves nothing, as greedy answers are wrong: 1 of 3 tokens"
        )
        assert pointless(lossless([part(line(tuple(range(60))))], GROUNDS), "x") is None


class TestCache:
    TOKENS = tuple(range(60))

    def judged(self, *again: Said, gap: float = 0.0) -> str:
        answers = (said(self.TOKENS), *again)
        lines = (line(self.TOKENS, gap=gap),)
        found = tree_text.cache_consistent(Part(answers, lines), GROUNDS)
        return f"{found.outcome}: {found.summary}"

    def test_the_same_answer_from_the_cache_passes_and_tells_the_hit(self) -> None:
        assert self.judged(said(self.TOKENS, "A, warm", cached=2)).endswith(
            "of 3 prompt tokens 2 came from the cache"
        )

    def test_where_nothing_came_from_a_cache_there_is_none_to_judge(self) -> None:
        assert self.judged(said(self.TOKENS, "A, warm", cached=0)) == (
            "not_applicable: nothing came from a prefix cache, by the engine's own count, so there is none that could "
            "change an answer"
        )

    def test_another_answer_is_unproven_where_nobody_tells_how_near_tokens_were(self) -> None:
        same = tuple(Sample("A, cold", n, 1, 1) for n in range(60))
        other = said((0, 1, 5), "A, warm", cached=2)
        found = tree_text.cache_consistent(Part((said(self.TOKENS), other), samples=same), WEAK)
        assert found.outcome is Outcome.UNPROVEN
        assert found.summary.startswith(
            "'A, warm' is answered otherwise than 'A, cold': at token 3 it says 5 instead of 2, and nobody tells"
        )

    def test_another_answer_from_the_cache_fails(self) -> None:
        found = self.judged(said((0, 1, 5, *self.TOKENS[3:]), "A, warm", cached=2))
        assert found.startswith(
            "fail: 'A, warm' is answered otherwise than 'A, cold': at token 3 it says 5 instead of 2"
        )


class TestSameTokens:
    def judged(self, mine: tuple[int, ...], other: tuple[int, ...]) -> str:
        parts = [[Part((said(each),))] for each in (mine, other)]
        found = tree_text.same_tokens(parts[0], parts[1], "without speculation", GROUNDS)
        return f"{found.outcome}: {found.summary}"

    def test_an_answer_that_ends_early_is_not_the_same(self) -> None:
        assert self.judged((1, 2), (1, 2, 3, 4)).startswith(
            "unproven: 1 of 1 answers are other ones than without speculation, first 'A, cold' (it ends after 2 tokens"
        )
        assert self.judged((), (1, 2)).startswith("unproven: 1 of 1 answers are other ones")

    def test_two_empty_answers_compare_nothing(self) -> None:
        assert self.judged((), ()) == (
            "unproven: neither it nor the one without speculation said anything, so nothing was compared"
        )
        assert self.judged((1, 2), (1, 2)) == "pass: 1 answers are the same as without speculation: 2 tokens"


class TestPrefills:
    def judged(self, differing: int, of: int, own: int, repeats: int, empty: int = 0) -> str:
        samples = tuple(Sample("x", n, 1, 2 if n < differing else 1) for n in range(of))
        whole = Part((), samples=samples, silent=tuple(f"place {n} of x" for n in range(empty)))
        found = lossless([whole], Grounds(WEAK.choice, Noise(()), own, repeats))
        return f"{found.outcome}: {found.summary}"

    @pytest.mark.parametrize(
        "differing, own, says",
        [
            (0, 0, "pass: 76 of 76 tokens are what a prefill says there"),
            (1, 1, "pass: 75 of 76 tokens are what a prefill says there, and 1 ties are not too many"),
            (20, 1, "fail: 20 of 76 tokens differ from what a prefill says there"),
            (
                10,
                1,
                "unproven: 10 of 76 tokens differ from what a prefill says there, too many for ties and too few",
            ),
            (
                10,
                8,
                "unproven: a prefill disagrees with itself at 8 of 76 places, so 10 of 76 tokens that differ",
            ),
        ],
    )
    def test_disagreements_are_held_against_those_with_itself(
        self, differing: int, own: int, says: str
    ) -> None:
        assert self.judged(differing, 76, own, 76).startswith(says)

    def test_places_at_which_a_prefill_says_nothing_are_no_agreement(self) -> None:
        assert self.judged(0, 46, 0, 46, empty=30).startswith(
            "unproven: at 30 of 76 places a prefill says nothing, the first is place 0 of x"
        )


class TestSampling:
    def answers(self, *tokens: tuple[int, ...]) -> Part:
        return Part(tuple(said(each, f"seed {n}") for n, each in enumerate(tokens)))

    def lines(self, *answers: tuple[int, ...], sure: float) -> Part:
        """Answers of tokens of which the target gives the first choice, 1, this probability."""
        best = ((1, math.log(sure)), (2, math.log(1 - sure)))
        return replace(
            self.answers(*answers),
            lines=tuple(
                Line("x", (7, 8, 9), each, tuple(Scored(token, dict(best)[token], best) for token in each))
                for each in answers
            ),
        )

    def test_answers_that_are_all_the_same_are_not_sampled(self) -> None:
        for found in (
            tree_text.sampled(self.answers((1, 2), (1, 2), (1, 2)), ((), {}), WEAK),
            tree_text.sampled(self.lines(*[(1,) * 60] * 3, sure=0.7), ((), {}), GROUNDS),
        ):
            assert found.outcome == "fail"
            assert (
                found.summary
                == "3 answers at temperature 1 to one prompt are all the same: it does not sample"
            )

    def test_a_target_that_is_sure_of_every_token_proves_nothing_either_way(self) -> None:
        for answers in ([(1,) * 40] * 16, [(1,) * 40] * 15 + [(1,) * 39 + (2,)]):
            found = tree_text.sampled(self.lines(*answers, sure=0.999), ((), {}), GROUNDS)
            assert found.outcome == "unproven"
            assert found.summary == (
                "16 answers at temperature 1 to one prompt do not tell whether it samples: the target is too sure of "
                "their tokens (a doubt of 0.6 in 640 positions, of 25 that it takes)"
            )
            assert "leave this check out by name (-k 'not tree.sampling')" in str(found.remedy)

    @pytest.mark.parametrize("sure", [0.55, 0.8, 0.95, 0.99])
    def test_with_doubt_enough_greedy_answers_fail_at_any_rate_of_false_alarms(self, sure: float) -> None:
        tokens = math.ceil(sampling.ENOUGH_DOUBT / (sure * (1 - sure)))
        part = self.lines((1,) * tokens, (1,) * tokens + (2,), sure=sure)
        found = tree_text.sampled(part, ((), {}), replace(GROUNDS, cells=64))
        assert found.outcome == "fail"
        assert "are not distributed as the target says" in found.summary

    def test_without_logprobs_only_the_difference_is_told(self) -> None:
        found = tree_text.sampled(self.answers((1, 2), (1, 3)), ((), {}), WEAK)
        assert found.outcome == "unproven"
        assert "could not be told by one-token prefill over token ids (no logprobs: refused)" in found.summary

    def test_first_tokens_that_are_not_the_targets_fail_with_alpha(self) -> None:
        found = tree_text.sampled(
            self.answers((1, 2), (2, 3)), ([1] * 170 + [2] * 6, {1: math.log(0.5), 2: math.log(0.4)}), GROUNDS
        )
        assert found.outcome == "fail"
        assert "alpha 0.0001" in found.summary


class TestGrammar:
    def judged(self, text: str, finish: str = "stop") -> str:
        good = Spoken(tokens=None, text=GOOD, finish="stop")
        found = tree_text.grammatical([good], [good, Spoken(tokens=None, text=text, finish=finish)], SCHEMA)
        return f"{found.outcome}: {found.summary}"

    def test_objects_of_the_schema_pass(self) -> None:
        assert self.judged(GOOD).startswith(
            "pass: all 3 answers under a JSON schema fulfil it, alone and 2 at once"
        )

    @pytest.mark.parametrize(
        "text, why",
        [
            ("a basket of", "it is no JSON"),
            ('{"name": "plums"}', "it has other keys than name, count"),
            ('{"name": "plums", "count": "12"}', "count is no integer"),
            ('{"name": 3, "count": 12}', "name is no string"),
            ('{"name": "x", "count": true}', "count is no integer"),
        ],
    )
    def test_anything_else_fails_and_says_when(self, text: str, why: str) -> None:
        assert self.judged(text).startswith("fail: 1 of 2 answers under a JSON schema, asked 2 at once")
        assert why in self.judged(text)

    def test_an_object_that_was_cut_is_not_yet_wrong(self) -> None:
        assert self.judged('{"name": "plu', "length").startswith("unproven")
        assert self.judged("a basket of plums", "length").startswith("fail")

    @pytest.mark.parametrize(
        "text, cause",
        [
            (
                '{"name": "plums and',
                "the model had not ended its answer: a small or untrained one seldom does",
            ),
            (
                '{"name": "plums",' + " \n" * 40,
                "the engine's grammar lets blanks stand between words without end",
            ),
            ('{"name": "' + "plum" * 20, "the engine's grammar does not hold the schema's maxLength of 12"),
        ],
    )
    def test_an_object_that_was_cut_has_a_cause_and_a_next_step(self, text: str, cause: str) -> None:
        found = tree_text.grammatical([Spoken(tokens=None, text=text, finish="length")], [], SCHEMA)
        assert found.outcome is Outcome.UNPROVEN
        assert found.summary.endswith("tokens, and are right as far as they go")
        assert str(found.cause).startswith(cause)
        assert str(found.remedy).startswith("ask by hand with the same schema and a larger max_tokens")

    @given(st.text())
    def test_any_text_is_judged(self, text: str) -> None:
        assert self.judged(text, "length").startswith(("fail", "unproven"))


class TestDegeneration:
    def test_an_answer_that_the_target_repeats_itself_is_not_speculations_fault(self) -> None:
        tokens = (9, *(1, 2, 3) * 30)
        found = tree_text.no_degeneration(part(line(tokens)), GROUNDS)
        assert found.outcome == "pass"
        assert (
            "from token 2 on the answer repeats 3 tokens: [1, 2, 3]; the target alone says the same"
            in found.summary
        )

    def test_a_loop_that_the_target_would_not_say_fails(self) -> None:
        found = tree_text.no_degeneration(part(line((9, *(1, 2, 3) * 30), gap=6.0)), GROUNDS)
        assert found.outcome == "fail"
        assert "which the target alone would not" in found.summary


class TestAcceptance:
    def test_the_definition_stands_beside_the_number(self) -> None:
        found = tree_acceptance.within_bounds([Drafted(100, 121, 45, VARIED)], Range(min=2.0, max=4.0), 7)
        assert found.summary == (
            "accept length 2.69 (generated tokens per verify step, the bonus token included; 121 tokens in 45 steps), "
            "expected at least 2 and at most 4"
        )

    @pytest.mark.parametrize(
        "drafted, depth, says",
        [
            (Drafted(100, 101, 100, {0: 100}), 7, "no draft is accepted"),
            (Drafted(100, 121, 45, {9: 1, 1: 44}), 7, "9 drafts were accepted in one step, and a tree of depth 7 gives at"),
            (Drafted(100, 500, 45), 7, "tokens a step, and a tree of depth 7 gives at most 8"),
            (Drafted(100, 60, 45, VARIED), 7, "expected at least 2"),
            (Drafted(100, 300, 45, VARIED), 7, "expected at most 4"),
        ],
    )  # fmt: skip
    def test_what_is_out_of_bounds_fails(self, drafted: Drafted, depth: int, says: str) -> None:
        found = tree_acceptance.within_bounds([drafted], Range(min=2.0, max=4.0), depth)
        assert found.outcome == "fail"
        assert says in found.summary

    def test_bounds_without_an_account_of_verify_steps_are_unproven(self) -> None:
        found = tree_acceptance.within_bounds([], Range(min=2.0), 7)
        assert (found.outcome, found.expected) == ("unproven", "at least 2")
        assert tree_acceptance.within_bounds([], None, 7).outcome == "not_applicable"

    def test_a_larger_tree_that_accepts_less_than_a_smaller_one_fails(self) -> None:
        small = Drafted(100, 1001, 250, {2: 50, 3: 150, 4: 50}, 1)
        large = Drafted(100, 501, 250, {0: 50, 1: 150, 2: 50}, 1)
        found = tree_acceptance.grows("15", {"7": (7, small), "15": (15, large)})
        assert found is not None
        assert found.summary.startswith("budget 15 accepts 2.00 tokens a step and the smaller budget 7 4.00")
        assert tree_acceptance.grows("15", {"7": (7, large), "15": (15, small)}) is None
        assert tree_acceptance.grows("15-topk4", {"7-topk1": (7, small), "15-topk4": (15, large)}) is None


def test_budgets_need_sustained_requests_too() -> None:
    found = tree_budget.untold(Allowed(("read", "reconfigure")))
    assert found is not None
    assert found.outcome is Outcome.NOT_RUN
    assert "needs --dflash-allow=load,reconfigure" in found.summary
    assert tree_budget.untold(Allowed(("load", "reconfigure"))) is None
    assert tree_budget.nothing().outcome is Outcome.NOT_APPLICABLE


def restarted(*proofs: Judgement) -> Changed:
    return Changed(cast("Restart", SimpleNamespace(ready=True)), proofs)


def test_a_budget_with_which_the_engine_does_not_start_fails() -> None:
    settled = SimpleNamespace(why="it ended (exited 2)", phase="failed")
    found = tree_budget.never_ready(
        "7", Changed(cast("Restart", SimpleNamespace(ready=False, settled=settled)))
    )
    assert found is not None
    assert found.outcome is Outcome.FAIL
    assert found.summary == "the engine does not get ready with budget 7: it ended (exited 2)"
    assert found.remedy == "leave this budget out, or see the journal for what the engine says of it"


def test_a_budget_that_is_not_proven_is_not_judged() -> None:
    assert tree_budget.unready("7", restarted(passed("in force"))) is None
    for changed, why in (
        (restarted(passed("x"), unproven("server_info is silent")), "server_info is silent"),
        (restarted(), "no flag of it was followed"),
    ):
        found = tree_budget.unready("7", changed)
        assert found is not None
        assert (found.outcome, found.summary) == (
            "unproven",
            f"whether budget 7 is in force is not proven, so what is said now says nothing about it: {why}",
        )


def test_the_only_budget_without_a_reference_is_compared_with_nothing() -> None:
    assert (tree_budget.alone("7").outcome, tree_budget.first("7").outcome) == ("unproven", "not_applicable")
    assert tree_budget.alone("7").summary == (
        "budget 7 is the only one and was not compared with the unit without speculation"
    )
