from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from pytest_dflash.rehearsal.host import StandInHost


@pytest.fixture(scope="session")
def healthy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StandInHost]:
    """One healthy host for all tests that only look; its path holds a blank and a percent sign."""
    with StandInHost(tmp_path_factory.mktemp("stand in 100%") / "host") as host:
        yield host


@pytest.fixture
def start_host(tmp_path: Path) -> Iterator[Callable[..., StandInHost]]:
    """Starts hosts that a test may change; all are closed afterwards."""
    hosts: list[StandInHost] = []

    def start(faults: Sequence[str] = ()) -> StandInHost:
        host = StandInHost(tmp_path / f"host{len(hosts)}", faults)
        hosts.append(host)
        host.start()
        return host

    yield start
    for host in hosts:
        host.close()
