"""Which checks are told with what the engine said meanwhile, and what happens where its log cannot be heard."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

import pytest

from pytest_dflash.checks import Check
from pytest_dflash.engines.registry import dialect
from pytest_dflash.errors import HostUnreachable
from pytest_dflash.facts.journal import Entry, Journal
from pytest_dflash.facts.reading import Reading, Silent, Value
from pytest_dflash.findings import Judgement, failed, passed
from pytest_dflash.remarked import remarked

if TYPE_CHECKING:
    from pytest_dflash.host_run import HostRun

LINE = "DFLASH non-greedy verification is unavailable on this build/device; falling back to greedy argmax verification."
SAID = Value(
    Journal("1f2e", (Entry(1, 1, 41, 6, f"[2026-11-29 16:32:46] {LINE}"),), reaches_start=False, whole=False),
    "journal, invocation 1f2e…",
)
RED = failed("16 answers are all the same")


@dataclass
class Host:
    """A run whose host answers with this reading, and counts how often it was asked."""

    heard: Reading[Journal] | Exception = SAID
    asked: int = 0
    dialect: Any = field(default_factory=lambda: dialect("sglang"))

    def collect(self, _probes: object, *, passive: bool) -> Host:
        assert not passive
        self.asked += 1
        if isinstance(self.heard, Exception):
            raise self.heard
        return self

    def reading(self, _probe: object) -> object:
        return self.heard

    def warnings(self) -> Reading[object]:
        return Silent("not read")

    @property
    def collector(self) -> Host:
        return self

    @property
    def chain(self) -> Host:
        return self


def judged(
    host: Host, judgement: Judgement = RED, name: str = "tree.sampling", level: str = "load"
) -> Judgement:
    return remarked(cast("HostRun", host), Check(name, level=level), judgement)


def test_a_red_check_that_asked_the_model_quotes_the_engine() -> None:
    (line,) = judged(Host()).evidence
    assert (line.value, line.where) == (LINE, "journal, invocation 1f2e…: log, pid 41")


@pytest.mark.parametrize(
    "judgement, name, level",
    [
        (passed("it samples"), "tree.sampling", "load"),
        (RED, "tree.sampling", "read"),
        (RED, "host.xid", "load"),
    ],
)
def test_nothing_is_asked_for_what_is_green_or_asks_no_model(
    judgement: Judgement, name: str, level: str
) -> None:
    host = Host()
    assert judged(host, judgement, name, level) == judgement
    assert host.asked == 0


@pytest.mark.parametrize("heard", [Silent("no journal"), HostUnreachable("gone")])
def test_a_log_that_cannot_be_heard_changes_nothing(heard: Reading[Journal] | Exception) -> None:
    assert judged(Host(heard)) == RED
