"""The service is as fast as it has to be: each load of the profile against its limits, on a host that works soundly."""

from __future__ import annotations

import pytest

from pytest_dflash.checks import check
from pytest_dflash.findings import Judgement, not_applicable
from pytest_dflash.fresh_loads import FreshLoads
from pytest_dflash.host_run import HostRun
from pytest_dflash.lifecycle.changing import Budgets
from pytest_dflash.load import floors
from pytest_dflash.load.long_prompts import NEW_TOKENS, REQUESTS, LongPrompts, lengths_of
from pytest_dflash.load.measuring import Loads
from pytest_dflash.load.self_test import best_of
from pytest_dflash.loading import compared, decode_lines
from pytest_dflash.profile.schema import Profile
from pytest_dflash.rules import graphs, instrument, speculation_pays, throughput, under_load
from pytest_dflash.rules import long_prompts as longer


@check("throughput.instrument", level="load")
@pytest.mark.usefixtures("service")  # on the way to a load: what is busy here now will be busy then
def test_this_side_measures_rightly(profile: Profile) -> Judgement:
    if not profile.throughput:
        return not_applicable("the profile has no [[throughput]] load")
    return instrument.fit(best_of(3, max(load.concurrency for load in profile.throughput)))


@check("throughput.errors", level="load", per="load")
def test_every_request_of_the_load_is_answered(loads: Loads, load: str | None) -> Judgement:
    return loads.judge(load, throughput.errors)


@check("throughput.streaming", level="load", per="load")
def test_tokens_come_when_they_are_made(loads: Loads, load: str | None) -> Judgement:
    return loads.judge(load, throughput.streaming)


@check("throughput.total_rate", level="load", per="load")
def test_all_requests_together_are_fast_enough(loads: Loads, load: str | None) -> Judgement:
    return loads.judge(load, lambda found: throughput.floor(floors.TOTAL, found))


@check("throughput.decode_rate", level="load", per="load")
def test_each_request_decodes_fast_enough(loads: Loads, load: str | None) -> Judgement:
    return loads.judge(load, lambda found: throughput.floor(floors.DECODE, found))


@check("throughput.ttft", level="load", per="load")
def test_the_first_token_comes_soon_enough(loads: Loads, load: str | None) -> Judgement:
    return loads.judge(load, lambda found: throughput.floor(floors.TTFT, found))


@check("throughput.tpot", level="load", per="load")
def test_each_token_comes_soon_enough_after_the_one_before(loads: Loads, load: str | None) -> Judgement:
    return loads.judge(load, lambda found: throughput.floor(floors.TPOT, found))


@check("throughput.acceptance", level="load", per="load")
def test_drafts_are_accepted_as_expected_of_this_text(loads: Loads, load: str | None) -> Judgement:
    return loads.judge(load, throughput.acceptance)


@check("throughput.speculation_pays", level="load", per="load")
def test_speculation_pays_at_this_load(loads: Loads, load: str | None) -> Judgement:
    return loads.judge(load, speculation_pays.recorded)


@check("throughput.compared", level="load", per="load")
def test_the_load_is_not_worse_than_it_was(loads: Loads, host_run: HostRun, load: str | None) -> Judgement:
    return loads.judge(load, lambda found: compared(host_run, found))


@check("throughput.host_under_load", level="load")
def test_the_host_is_sound_while_it_works(loads: Loads, profile: Profile) -> list[Judgement]:
    return under_load.host_under_load(loads.all(), profile.gpu)


@check("throughput.cuda_graphs", level="load")
def test_decode_runs_as_cuda_graphs(loads: Loads, host_run: HostRun, profile: Profile) -> Judgement:
    if not loads.all():
        return not_applicable("no load of the profile was measured, so that nothing tells of CUDA graphs")
    return graphs.cuda_graphs(decode_lines(host_run), any(profile.flags.get(flag) for flag in graphs.OFF))


@check("throughput.context", level="load", requests=3 * (REQUESTS + 2), tokens=3 * REQUESTS * NEW_TOKENS)
def test_long_prompts_keep_acceptance_and_step_time(long_prompts: LongPrompts, profile: Profile) -> Judgement:
    lengths = lengths_of(profile.context, long_prompts.limit)
    points = long_prompts.points(lengths) if len(lengths) > 1 else ()
    return longer.context(points, profile.context, profile.window.tokens)


@check("throughput.prefix_cache", level="load", requests=10, tokens=80)
def test_a_prompt_that_was_read_is_not_read_again(long_prompts: LongPrompts, profile: Profile) -> Judgement:
    wanted = profile.context.prefix_cache
    if wanted is None:
        return not_applicable("whether prompts are to be kept is not said: [context] prefix_cache")
    return longer.prefix_cache(long_prompts.reuse(), on=wanted)


@check("throughput.starts", level="restart", per="load")
def test_each_start_of_the_unit_is_as_fast(fresh_loads: FreshLoads, load: str | None) -> Judgement:
    return fresh_loads.at_each_start(load)


@check("throughput.beats_plain", level="reconfigure", per="load")
def test_the_load_is_faster_than_without_speculation(
    fresh_loads: FreshLoads, budgets: Budgets, load: str | None
) -> Judgement:
    return fresh_loads.beside_plain(load, budgets)
