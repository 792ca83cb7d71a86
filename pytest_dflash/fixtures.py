"""What a suite may ask for.

Law: fixtures only; each is a part of the host's `HostRun`. The module is registered when a host is named, and
last, so that `host` here wins over testinfra's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

import pytest

from pytest_dflash import host_entry
from pytest_dflash.endpoint.service import Service
from pytest_dflash.endpoint.trial import Trial
from pytest_dflash.errors import NotPutBack
from pytest_dflash.facts.host_facts import Facts
from pytest_dflash.facts.probe import Probe
from pytest_dflash.facts.reading import Reading
from pytest_dflash.fresh_loads import FreshLoads
from pytest_dflash.host_run import RUNS, HostRun
from pytest_dflash.lifecycle.changing import Budgets, Changed
from pytest_dflash.lifecycle.flagline import Changes
from pytest_dflash.lifecycle.restart import Restart
from pytest_dflash.load.long_prompts import LongPrompts
from pytest_dflash.load.measuring import Loads
from pytest_dflash.loading import loads_of, long_prompts_of
from pytest_dflash.profile.schema import Profile
from pytest_dflash.trials import Trials
from pytest_dflash.witness.chain import Chain


@pytest.fixture(scope="session")
def _dflash_host(request: pytest.FixtureRequest) -> str:
    """The host of this test, by name: the parameter that all others hang on."""
    return str(request.param)


@pytest.fixture(scope="session")
def host_run(
    _dflash_host: str, pytestconfig: pytest.Config, request: pytest.FixtureRequest
) -> Iterator[HostRun]:
    """Everything about the host; put back and closed when its last test is done.

    Pytest ends the host before it in this fixture's own set-up, so that here is where no other host is touched.
    """
    runs = pytestconfig.stash[RUNS]
    left = next((name for name, run in runs.items() if host_entry.broken(run) and name != _dflash_host), None)
    if left is not None:
        raise NotPutBack(f"{_dflash_host} was not touched, as {left} could not be put back")
    run = runs[_dflash_host]
    yield run
    run.close()
    if host_entry.broken(run):
        request.session.shouldstop = f"{_dflash_host} could not be put back; no other host is touched"


@pytest.fixture(scope="session")
def host(host_run: HostRun) -> Any:
    """Testinfra's Host, over the one connection of this run."""
    return host_run.collector.connection.host


@pytest.fixture(scope="session")
def profile(host_run: HostRun) -> Profile:
    """What is expected of this host."""
    return host_run.profile


@pytest.fixture(scope="session")
def facts(host_run: HostRun) -> Facts:
    """What the host said, in one round trip, once the unit stood still."""
    return host_run.facts


@pytest.fixture(scope="session")
def ask(host_run: HostRun) -> Callable[[Probe[Any]], Reading[Any]]:
    """Asks the host one more question, by a probe of a suite's own: one more round trip, once for each probe."""
    return host_run.ask


@pytest.fixture(scope="session")
def chain(host_run: HostRun) -> Chain:
    """The witnesses of every setting."""
    return host_run.chain


@pytest.fixture(scope="session")
def service(host_run: HostRun) -> Service:
    """The endpoint, of a unit that is ready."""
    return host_run.service


@pytest.fixture(scope="session")
def endpoint(service: Service) -> Service:
    """The same by its other name."""
    return service


@pytest.fixture(scope="session")
def restarted(host_run: HostRun) -> Restart:
    """One restart of the unit, shared by all who ask; afterwards `host_run.chain` is about the fresh process."""
    return host_run.controller.restart()


@pytest.fixture(scope="session")
def reconfigured(host_run: HostRun) -> Callable[[Changes], AbstractContextManager[Changed]]:
    """The unit with other flags for the time of a `with` block: takes flags and values, gives what came of it."""
    return host_run.changing.reconfigured


@pytest.fixture(scope="session")
def budgets(host_run: HostRun) -> Iterator[Budgets]:
    """`budgets.visit("7")`: the unit with that budget; put back when the last of them was visited."""
    made = Budgets(host_run.changing, host_run.profile.tree, host_run.dialect)
    yield made
    made.leave()


@pytest.fixture(scope="session")
def loads(host_run: HostRun) -> Loads:
    """`loads.measure(name)`: a load of the profile, measured when it is first asked for."""
    return loads_of(host_run)


@pytest.fixture(scope="session")
def fresh_loads(host_run: HostRun, loads: Loads) -> FreshLoads:
    """The loads after further starts of the unit, and without speculation."""
    return FreshLoads(host_run, loads)


@pytest.fixture(scope="session")
def trials(host_run: HostRun) -> Trials:
    """What was asked of this host to see whether it is lossless, process by process."""
    return Trials(host_run)


@pytest.fixture
def trial(trials: Trials) -> Trial:
    """The trial of the process that runs now."""
    return trials.now()


@pytest.fixture(scope="session")
def long_prompts(host_run: HostRun) -> LongPrompts:
    """Prompts of several lengths, and the same long prompt twice, sent when they are first asked for."""
    return long_prompts_of(host_run)
