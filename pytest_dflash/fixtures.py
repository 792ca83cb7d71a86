"""What a suite may ask for.

Law: fixtures only; each is a part of the host's `HostRun`. The module is registered when a host is named, and
last, so that `host` here wins over testinfra's.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from pytest_dflash.endpoint.service import Service
from pytest_dflash.facts.host_facts import Facts
from pytest_dflash.host_run import RUNS, HostRun
from pytest_dflash.profile.schema import Profile
from pytest_dflash.witness.chain import Chain


@pytest.fixture(scope="session")
def _dflash_host(request: pytest.FixtureRequest) -> str:
    """The host of this test, by name: the parameter that all others hang on."""
    return str(request.param)


@pytest.fixture(scope="session")
def host_run(_dflash_host: str, pytestconfig: pytest.Config) -> Iterator[HostRun]:
    """Everything about the host; closed when its last test is done."""
    run = pytestconfig.stash[RUNS][_dflash_host]
    yield run
    run.close()


@pytest.fixture(scope="session")
def host(host_run: HostRun) -> Any:
    """Testinfra's Host, over the one connection of this run."""
    return host_run.reach.connection.host


@pytest.fixture(scope="session")
def profile(host_run: HostRun) -> Profile:
    """What is expected of this host."""
    return host_run.profile


@pytest.fixture(scope="session")
def facts(host_run: HostRun) -> Facts:
    """What the host said, in one round trip, once the unit stood still."""
    return host_run.facts


@pytest.fixture(scope="session")
def chain(host_run: HostRun) -> Chain:
    """The witnesses of every setting."""
    return host_run.chain


@pytest.fixture(scope="session")
def service(host_run: HostRun) -> Service:
    """The endpoint, of a unit that is ready."""
    return host_run.service
