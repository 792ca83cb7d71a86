"""Who can reach the port, and where its keys can be read."""

from __future__ import annotations

import pytest

from pytest_dflash.checks import check
from pytest_dflash.endpoint.service import Service
from pytest_dflash.facts.host_facts import Facts
from pytest_dflash.findings import Judgement
from pytest_dflash.host_run import HostRun
from pytest_dflash.profile.schema import Profile
from pytest_dflash.rules import exposure, kept_keys, open_routes
from pytest_dflash.witness.chain import Chain


@check("exposure.bind")
@pytest.mark.usefixtures("service")
def test_the_port_is_bound_where_it_should_be(facts: Facts, profile: Profile) -> Judgement:
    return exposure.bind(facts.listeners, facts.port, profile.exposure.bind, facts.processes)


@check("exposure.key_required")
def test_a_request_without_a_key_is_refused(service: Service, profile: Profile) -> Judgement:
    return exposure.key_required(service.status_without_key(), profile.exposure.key_required)


@check("exposure.routes_guarded", level="probe")
def test_no_route_serves_without_the_key(service: Service, profile: Profile, host_run: HostRun) -> Judgement:
    routes = host_run.dialect.routes() if profile.exposure.key_required else ()
    statuses = {route.path: service.status_without_key(route.path) for route in routes}
    return open_routes.routes_guarded(routes, statuses, profile.exposure.key_required)


@check("exposure.key_hidden")
def test_no_key_can_be_read_by_others(chain: Chain, facts: Facts) -> Judgement:
    return kept_keys.key_hidden(chain, facts.serving, facts.key_files)
