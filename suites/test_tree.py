"""Is the output what the target alone would have said? At the running budget, and at every budget of the profile.

What a repeated prompt may crash (on some versions it does) comes last.
"""

from __future__ import annotations

from pytest_dflash.checks import check
from pytest_dflash.endpoint.trial import AT_ONCE, LONG, SCHEMA, TOKENS, Trial
from pytest_dflash.endpoint.trouble import EndpointTrouble, Kind
from pytest_dflash.findings import Judgement
from pytest_dflash.lifecycle.changing import Budgets
from pytest_dflash.profile.schema import Profile
from pytest_dflash.rules import tree_acceptance, tree_text
from pytest_dflash.rules.tree_lossless import lossless, pointless
from pytest_dflash.rules.tree_situation import Situation
from pytest_dflash.trials import Trials, text_of

BATCHED = Situation(
    "tokens said with several requests at once",
    "rows of one request see the mask, the positions or the cache of another: the tree's width is taken from a setting "
    "and not from the tree, so that only the first request of a batch is right",
)
AT_EDGES = Situation(
    "tokens said behind prompts at the edges of kernels, pages, chunks and the window",
    "a length is rounded, or an edge is counted one off: see which prompt lengths are wrong",
)


def spoiled(trial: Trial, what: str) -> Judgement | None:
    """That text is wrong already somewhere, so that nothing follows from how it is drafted."""
    return pointless(text_of(trial), what)


@check("tree.lossless", level="load", requests=24, tokens=TOKENS["alone"] + 24)
def test_one_request_at_a_time_says_what_the_target_would(trial: Trial) -> Judgement:
    return lossless([trial.alone], trial.grounds)


@check("tree.lossless_batched", level="load", requests=16, tokens=TOKENS["together"] + 8)
def test_several_requests_at_once_say_what_the_target_would(trial: Trial) -> Judgement:
    return lossless([trial.together], trial.grounds, BATCHED)


@check("tree.lossless_at_edges", level="load", requests=34, tokens=TOKENS["edges"] + 17)
def test_prompts_at_edges_are_answered_as_the_target_would(trial: Trial) -> Judgement:
    return lossless([trial.at_edges], trial.grounds, AT_EDGES)


@check("tree.acceptance", level="load")
def test_the_accept_length_is_within_its_bounds(trial: Trial, trials: Trials, profile: Profile) -> Judgement:
    within = tree_acceptance.within_bounds(trial.drafted, profile.tree.accept_length, trials.depth)
    return spoiled(trial, "the accept length") or within


@check("tree.acceptance_varies", level="load")
def test_accept_lengths_are_those_of_real_text(trial: Trial) -> Judgement:
    return tree_acceptance.varies(trial.drafted)


@check("tree.acceptance_by_depth", level="load")
def test_drafts_behind_the_first_are_accepted_too(trial: Trial, trials: Trials) -> Judgement:
    reached = tree_acceptance.reaches_depth(trial.drafted, trials.depth)
    return spoiled(trial, "how deep drafts are accepted") or reached


@check("tree.acceptance_over_context", level="load")
def test_long_prompts_keep_their_accept_length(trial: Trial) -> Judgement:
    return spoiled(trial, "acceptance over context") or tree_acceptance.holds_over_context(trial.drafted_far)


@check("tree.no_degeneration", level="load", requests=2, tokens=LONG[1] + 1)
def test_a_long_answer_does_not_go_round_in_circles(trial: Trial) -> Judgement:
    alone = lossless([trial.alone], trial.grounds)
    return pointless(alone, "a long answer") or tree_text.no_degeneration(trial.long, trial.grounds)


@check("tree.grammar", level="load", requests=1 + AT_ONCE, tokens=TOKENS["grammar"])
def test_answers_under_a_json_schema_fulfil_it(trial: Trial) -> Judgement:
    try:
        return tree_text.grammatical(trial.constrained(1), trial.constrained(AT_ONCE), SCHEMA)
    except EndpointTrouble as error:
        if error.kind is not Kind.REJECTED:
            raise
        return tree_text.no_grammar(str(error))


@check("tree.cache_consistent", level="load", requests=8, tokens=TOKENS["cached"] + 4)
def test_the_prefix_cache_changes_no_answer(trial: Trial) -> Judgement:
    alone = lossless([trial.alone], trial.grounds)
    return pointless(alone, "what the cache gives") or tree_text.cache_consistent(trial.cached, trial.grounds)


@check("tree.sampling", level="load", requests=288, tokens=TOKENS["sampled"] + 16)
def test_temperature_one_samples_as_the_target_would(trial: Trial) -> Judgement:
    for other in (
        lossless([trial.alone], trial.grounds),
        tree_text.cache_consistent(trial.cached, trial.grounds),
    ):
        if blocked := pointless(other, "what is sampled"):
            return blocked
    return tree_text.sampled(trial.sampled, trial.first_tokens, trial.grounds)


PER_BUDGET = TOKENS["alone"] + TOKENS["together"] + TOKENS["edges"] + 80


@check("tree.reference", level="reconfigure", restarts=1, requests=140, tokens=2 * PER_BUDGET)
def test_the_unit_without_speculation_says_the_same(trials: Trials, budgets: Budgets) -> Judgement:
    return trials.without_speculation(budgets)


@check(
    "tree.lossless_per_budget", level="reconfigure", per="budget", restarts=1, requests=70, tokens=PER_BUDGET
)
def test_budget_says_what_the_target_would(trials: Trials, budgets: Budgets, budget: str | None) -> Judgement:
    def judge(trial: Trial) -> Judgement:
        parts = [trial.alone, trial.together, trial.at_edges]
        return lossless(parts, trial.grounds, Situation(f"tokens said with budget {budget}"))

    return trials.at(budgets, budget, judge)


@check("tree.same_tokens_per_budget", level="reconfigure", per="budget", restarts=1)
def test_budget_says_the_same_as_the_others(
    trials: Trials, budgets: Budgets, budget: str | None
) -> Judgement:
    return trials.at(budgets, budget, lambda _: trials.same_tokens(str(budget)))


@check("tree.acceptance_per_budget", level="reconfigure", per="budget", restarts=1)
def test_budget_accepts_as_many_drafts_as_it_should(
    trials: Trials, budgets: Budgets, budget: str | None
) -> Judgement:
    return trials.at(budgets, budget, lambda _: trials.acceptance(str(budget)))


@check(
    "tree.sampling_per_budget", level="reconfigure", per="budget", restarts=1, requests=288,
    tokens=TOKENS["sampled"] + 16,
)  # fmt: skip
def test_budget_samples_as_the_target_would(
    trials: Trials, budgets: Budgets, budget: str | None
) -> Judgement:
    def judge(trial: Trial) -> Judgement:
        alone = lossless([trial.alone], trial.grounds)
        return pointless(alone, "what is sampled") or tree_text.sampled(
            trial.sampled, trial.first_tokens, trial.grounds
        )

    return trials.at(budgets, budget, judge)
