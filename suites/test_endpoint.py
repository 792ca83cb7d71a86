"""The service answers, correctly, and it is the unit's own process that does."""

from __future__ import annotations

from functools import partial

import pytest

from pytest_dflash.checks import check
from pytest_dflash.endpoint import completion
from pytest_dflash.endpoint.service import Service
from pytest_dflash.findings import Judgement
from pytest_dflash.host_run import HostRun
from pytest_dflash.profile.schema import Profile
from pytest_dflash.rules import endpoint

MAX_TOKENS = 64


@check("endpoint.serves")
@pytest.mark.usefixtures("service")
def test_the_unit_serves(host_run: HostRun) -> Judgement:
    return host_run.readiness()


@check("endpoint.served_model")
def test_the_expected_model_is_served(service: Service, profile: Profile) -> Judgement:
    return endpoint.served_model(service.models(), profile.service.served_model)


@check("endpoint.awake")
@pytest.mark.usefixtures("service")
def test_the_engine_was_not_put_to_sleep(host_run: HostRun) -> Judgement:
    return endpoint.awake(host_run.load)


@check("endpoint.completion", level="probe", requests=2, tokens=2 * MAX_TOKENS)
def test_a_short_completion_is_correct(service: Service, profile: Profile) -> Judgement:
    ask = partial(service.client.complete, profile.endpoint.prompt, max_tokens=MAX_TOKENS)
    return completion.asked(ask, expect=profile.endpoint.expect, max_tokens=MAX_TOKENS)


@check("endpoint.stream_ends", level="probe", requests=2, tokens=2 * MAX_TOKENS)
def test_a_stream_ends_properly(service: Service, profile: Profile) -> Judgement:
    ask = partial(service.client.stream, profile.endpoint.prompt, max_tokens=MAX_TOKENS)
    return completion.asked(ask, expect=profile.endpoint.expect, max_tokens=MAX_TOKENS)


@check("endpoint.same_process", level="probe")
@pytest.mark.usefixtures("service")
def test_one_process_gave_all_the_answers(host_run: HostRun) -> Judgement:
    facts, settled = host_run.settled
    return endpoint.same_process(facts.identity, host_run.identity_now(), settled.observation)
