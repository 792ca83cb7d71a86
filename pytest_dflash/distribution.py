"""Under pytest-xdist: all tests of one host in one worker, so that a host keeps one connection.

Law: scheduling only. Loaded only where xdist is installed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from xdist.scheduler import LoadScopeScheduling

from pytest_dflash import origins
from pytest_dflash.host_run import SAMPLES


class HostScheduling(LoadScopeScheduling):  # type: ignore[misc]  # xdist's scheduler is untyped
    """Groups by the host that a node id names as its first parameter; other tests by their module."""

    hosts: Sequence[str] = ()

    def _split_scope(self, nodeid: str) -> str:
        parameters = nodeid.partition("[")[2]
        for host in sorted(self.hosts, key=len, reverse=True):
            if parameters.startswith((f"{host}]", f"{host}-")):
                return host
        return str(super()._split_scope(nodeid))


class Distribution:
    """Hands xdist our scheduling, and the workers what only the command line knows."""

    def __init__(self, config: pytest.Config, hosts: Sequence[str]) -> None:
        self.arguments = origins.arguments(config)
        self.hosts = hosts

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_make_scheduler(self, config: pytest.Config, log: Any) -> HostScheduling:
        """Our scheduling, whatever --dist says: a host is asked by one worker at a time."""
        scheduling = HostScheduling(config, log)
        scheduling.hosts = self.hosts
        return scheduling

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """What was typed, since a worker's own command line is xdist's."""
        node.workerinput["dflash_typed"] = self.arguments
        node.workerinput["dflash_samples"] = node.config.stash.get(SAMPLES, None)
