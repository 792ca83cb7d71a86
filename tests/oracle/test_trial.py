from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import pytest

from pytest_dflash.endpoint.client import Client
from pytest_dflash.endpoint.speaking import Speaker
from pytest_dflash.endpoint.trial import Trial
from pytest_dflash.engines.scoring import Bounds
from pytest_dflash.engines.sglang.scoring import SGLangScoring
from pytest_dflash.engines.text_scoring import TextScoring
from pytest_dflash.findings import Judgement
from pytest_dflash.oracle.choice import Oracle
from pytest_dflash.rules import tree_acceptance, tree_text
from pytest_dflash.rules.tree_lossless import lossless
from tests.oracle.small_target import SmallTarget


def trial(target: SmallTarget, **rest: Any) -> Trial:
    return Trial(Speaker(cast("Client", target), SGLangScoring()), 11, Bounds(context=1024), **rest)


def outcomes(of: Trial) -> dict[str, str]:
    grounds = of.grounds
    judged: dict[str, Callable[[], Judgement]] = {
        "lossless": lambda: lossless([of.alone], grounds),
        "batched": lambda: lossless([of.together], grounds),
        "edges": lambda: lossless([of.at_edges], grounds),
        "cached": lambda: tree_text.cache_consistent(of.cached, grounds),
        "sampled": lambda: tree_text.sampled(of.sampled, of.first_tokens, grounds),
        "long": lambda: tree_text.no_degeneration(of.long, grounds),
        "acceptance": lambda: tree_acceptance.within_bounds(of.drafted, None, 7),
        "varies": lambda: tree_acceptance.varies(of.drafted),
        "depth": lambda: tree_acceptance.reaches_depth(of.drafted, 7),
    }
    return {name: str(judge().outcome) for name, judge in judged.items()}


@pytest.mark.parametrize("noise", [0.0, 0.003, 0.02])
def test_a_lossless_engine_passes_whatever_its_noise(noise: float) -> None:
    of = trial(SmallTarget(noise=noise))
    assert set(outcomes(of).values()) == {"pass"}
    assert of.choice.oracle is Oracle.RESCORING


def test_one_wrong_token_in_a_hundred_is_found_and_shown_with_its_margin() -> None:
    of = trial(SmallTarget(wrong=lambda _prompt, index: index == 70))
    found = lossless([of.alone], of.grounds)
    assert found.outcome == "fail"
    assert (
        "4 of 448 tokens are not what the target would have said: the first is token 71 of alone, prompt of 37"
        in (found.summary)
    )
    assert "nats" in found.summary
    assert found.summary.endswith("by rescoring by input logprobs")
    assert [each.source for each in found.evidence][:3] == ["tokens before it", "target", "answer"]
    assert len(cast("list[int]", found.evidence[0].value)) == 8


def test_a_fault_at_one_edge_turns_the_edges_red_and_nothing_else() -> None:
    of = trial(SmallTarget(wrong=lambda prompt, _index: prompt == 65))
    assert {name for name, outcome in outcomes(of).items() if outcome != "pass"} == {"edges"}


def test_a_greedy_engine_turns_sampling_red_and_nothing_else() -> None:
    of = trial(SmallTarget(greedy=True))
    assert {name for name, outcome in outcomes(of).items() if outcome != "pass"} == {"sampled"}


@pytest.mark.parametrize(
    "sharp, prompts, outcomes", [(1.0, 1, ("pass", "fail")), (12.0, 2, ("pass", "fail")), (2000.0, 4, ("unproven", "unproven"))]
)  # fmt: skip
def test_a_target_that_is_sure_is_asked_by_more_prompts_until_a_greedy_engine_would_show(
    sharp: float, prompts: int, outcomes: tuple[str, str]
) -> None:
    for greedy, outcome in zip((False, True), outcomes, strict=True):
        of = trial(SmallTarget(sharp=sharp, greedy=greedy))
        found = tree_text.sampled(of.sampled, of.first_tokens, of.grounds)
        assert found.outcome == outcome, found.summary
        assert len({each.prompt for each in of.sampled.said}) == prompts


@pytest.mark.parametrize(
    "accepts, red",
    [
        (lambda _r, _s: 4, {"varies"}),
        (lambda _r, _s: 0, {"acceptance"}),
        (lambda r, s: (r + s) % 2, {"depth"}),
    ],
    ids=["constant", "collapsed", "at-first-only"],
)  # fmt: skip
def test_an_acceptance_that_no_drafter_gives_turns_its_own_check_red(
    accepts: Callable[[int, int], int], red: set[str]
) -> None:
    of = trial(SmallTarget(accepts=accepts))
    assert {name for name, outcome in outcomes(of).items() if outcome != "pass"} == red


def test_where_logprobs_are_refused_a_prefill_judges_and_the_reason_is_told() -> None:
    refusal = "DFLASH speculative decoding does not support return_logprob yet."
    of = trial(SmallTarget(refuses=refusal))
    found = lossless([of.alone], of.grounds)
    assert found.outcome == "pass"
    assert f"by one-token prefill over token ids (no logprobs: {refusal})" in found.summary
    assert "Only sampled positions are compared" in found.summary


def test_a_prefill_that_reads_what_drafts_wrote_into_the_cache_proves_nothing() -> None:
    of = trial(SmallTarget(refuses="no", heeds=False))
    found = lossless([of.alone], of.grounds)
    assert found.outcome == "unproven"
    assert (
        "what drafts may have written there, for 4 answers: entries that are wrong go unnoticed"
        in found.summary
    )
    assert "tree.reference compares whole answers" in str(found.remedy)


def test_prefills_of_one_answer_share_a_name_and_no_other_request_has_it() -> None:
    target = SmallTarget(refuses="no")
    of = trial(target)
    lossless([of.alone], of.grounds)
    names = [
        each.get("extra_key")
        for each in target.asked
        if each.get("sampling_params", {}).get("max_new_tokens") == 1 and not each.get("return_logprob")
    ]
    assert None not in names
    assert len(set(names)) == len(of.alone.said)
    assert all(
        "extra_key" not in each
        for each in target.asked
        if each.get("sampling_params", {}).get("max_new_tokens", 0) > 1
    )


def test_a_prefill_finds_an_engine_that_is_often_wrong() -> None:
    of = trial(SmallTarget(refuses="no", wrong=lambda _prompt, index: index % 3 == 0))
    found = lossless([of.alone], of.grounds)
    assert found.outcome == "fail"
    assert "differ from what a prefill says there" in found.summary


@pytest.mark.parametrize(
    "target, outcome",
    [
        (SmallTarget(refuses="no"), "pass"),
        (SmallTarget(refuses="no", greedy_drafts=True), "fail"),
        (SmallTarget(refuses="no", sharp=6.0), "pass"),
        (SmallTarget(refuses="no", sharp=6.0, greedy_drafts=True), "fail"),
        (SmallTarget(refuses="no", sharp=2000.0), "unproven"),
        (SmallTarget(refuses="no", greedy=True), "unproven"),
    ],
)
def test_without_logprobs_sampling_is_held_against_what_a_prefill_draws(
    target: SmallTarget, outcome: str
) -> None:
    of = trial(target)
    found = tree_text.sampled(of.sampled, of.first_tokens, of.grounds)
    assert found.outcome == outcome, found.summary
    assert "by one-token prefill over token ids (no logprobs: no)" in found.summary
    assert ("or nothing here samples" in found.summary) is (outcome == "unproven")


def test_what_must_not_be_asked_is_not_asked() -> None:
    target = SmallTarget()
    of = trial(target, withheld="SGLang 0.5.16 refuses logprobs with DFLASH (allowed from 0.5.18)")
    found = lossless([of.alone], of.grounds)
    assert "SGLang 0.5.16 refuses logprobs" in found.summary
    assert not any("return_logprob" in each for each in target.asked)


def test_of_an_engine_that_gives_text_only_text_is_compared_and_its_weakness_told() -> None:
    class Text(TextScoring):
        def generate(self, order: Any, model: str) -> Any:
            return SGLangScoring().generate(order, model)

        def spoken(self, document: Any) -> Any:
            text: Any = {"choices": [{"text": document["text"].replace("`", " "), "finish_reason": "length"}]}
            return super().spoken(text)

    of = Trial(Speaker(cast("Client", SmallTarget()), Text()), 5)
    assert of.choice.oracle is Oracle.TEXT
    found = lossless([of.alone], of.grounds)
    assert "no token ids: of this engine no way is known" in found.summary


def test_an_engine_without_reproducible_scores_proves_nothing() -> None:
    of = trial(SmallTarget(noise=0.4))
    found = lossless([of.alone], of.grounds)
    assert found.outcome in {"unproven", "fail"}
    assert found.outcome == "unproven"
    assert "the engine differs from itself by up to" in found.summary


def test_the_same_seed_asks_the_same_prompts_of_another_process() -> None:
    one, other = trial(SmallTarget()), trial(SmallTarget())
    assert [each.prompt for each in one.alone.said] == [each.prompt for each in other.alone.said]
    assert len({each.prompt for each in (*one.alone.said, *one.together.said, *one.at_edges.said)}) == 19


def test_tokens_stay_within_what_the_plan_promises() -> None:
    target = SmallTarget()
    of = trial(target, window=256)
    outcomes(of)
    assert of.speaker.generating.tokens < 4000
    scoring = [each for each in target.asked if each.get("return_logprob")]
    assert all(each["logprob_start_len"] >= 16 or each["logprob_start_len"] in {0, 7} for each in scoring)
