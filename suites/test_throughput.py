"""The service is as fast as it has to be: each load of the profile against its limits, on a host that works soundly."""

from __future__ import annotations

from pytest_dflash.checks import check
from pytest_dflash.findings import Judgement
from pytest_dflash.load import floors
from pytest_dflash.load.measuring import Loads
from pytest_dflash.profile.schema import Profile
from pytest_dflash.rules import throughput, under_load


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
    return loads.judge(load, throughput.speculation_pays)


@check("throughput.host_under_load", level="load")
def test_the_host_is_sound_while_it_works(loads: Loads, profile: Profile) -> list[Judgement]:
    return under_load.host_under_load(loads.all(), profile.gpu)
