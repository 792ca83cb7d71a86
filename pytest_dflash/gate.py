"""From a check's judgement to pytest's report.

Law: hooks around single items: which hosts and parameters a test gets, in which order, whether its level is
allowed, and what its report says. Reads judgements and exceptions; knows no engine, opens no connection.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from pytest_dflash import account, checks, waivers
from pytest_dflash.errors import (
    Asleep,
    DflashError,
    EndpointError,
    HostError,
    LoadBroken,
    NotServing,
    Unlocated,
)
from pytest_dflash.findings import AREAS, Judgement, Outcome, failed, unproven
from pytest_dflash.guard import Guard
from pytest_dflash.levels import MEANING, RANK, Allowed
from pytest_dflash.lifecycle.changing import cells
from pytest_dflash.lifecycle.phase import WITHOUT_PROCESS, Phase
from pytest_dflash.profile.schema import Profile
from pytest_dflash.redaction import without_secrets
from pytest_dflash.remarked import remarked

if TYPE_CHECKING:
    from pytest_dflash.host_run import HostRun

JUDGEMENTS = pytest.StashKey[list[Judgement]]()
HOST_PARAM = "_dflash_host"
SUBJECTS: dict[str, Callable[[Profile], list[str | None]]] = {
    "flag": lambda profile: list(profile.flags),
    "variable": lambda profile: list(profile.environment),
    "package": lambda profile: list(profile.stack.packages),
    "budget": lambda profile: list(cells(profile.tree)),
    "load": lambda profile: [load.name for load in profile.throughput],
}
"""A check's `per` to the keys of the profile that it is run for."""

OF_THE_PROCESS = frozenset({"stack", "systemd", "flags"})
"""Areas whose open questions a process that is not there would have answered."""

OF_THE_HOST = (HostError, NotServing, Unlocated)
"""Failures that any check may have to carry; a waiver of that check does not mean them."""

SHARED: tuple[tuple[type[Exception] | tuple[type[Exception], ...], str], ...] = (
    (HostError, "host"),
    (Asleep, "sleep"),
    ((NotServing, Unlocated), "endpoint"),
)
"""What the failures are about that more than one check meets."""

TELLERS = {"endpoint.serves": "endpoint", "endpoint.awake": "sleep"}
"""The check whose matter a failure is that others meet as well, wherever that one was selected."""

NOT_THE_HOST = "a bug of the check or of pytest-dflash, not of the host"


class Gate:
    """The hooks of a run that has hosts.

    Args:
        runs: What is known of each host, by its name, in the order of the command line.
        allowed: How far the run may go.
    """

    def __init__(self, runs: dict[str, HostRun], allowed: Allowed) -> None:
        self.runs = runs
        self.allowed = allowed
        self.guard = Guard()
        self.told_by: dict[tuple[str, str], str] = {}

    @pytest.hookimpl(tryfirst=True)
    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Runs each test that reaches a host once per host, and once per key of that host's profile."""
        if HOST_PARAM not in metafunc.fixturenames:
            return
        declared = checks.of(metafunc.definition)
        per = declared.per if declared else None
        if per is None:
            metafunc.parametrize(
                HOST_PARAM, list(self.runs), indirect=True, ids=list(self.runs), scope="session"
            )
            return
        pairs = [
            (name, subject)
            for name, run in self.runs.items()
            for subject in (SUBJECTS[per](run.profile) or [None])
        ]
        ids = [name if subject is None else f"{name}-{subject}" for name, subject in pairs]
        metafunc.parametrize((HOST_PARAM, per), pairs, indirect=[HOST_PARAM], ids=ids, scope="session")

    def pytest_itemcollected(self, item: pytest.Item) -> None:
        """Gives each check the marker of its area and the word of its name, so that -m and -k know it."""
        declared = checks.of(item)
        if declared is not None:
            item.add_marker(declared.area)
            item.extra_keyword_matches.add(declared.name)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> Generator[None]:
        """Orders by host and then by intrusiveness, whatever file names or other plugins say."""
        yield
        hosts = list(self.runs)
        areas = list(AREAS)

        def position(item: pytest.Item) -> tuple[int, int, int, int]:
            declared = checks.of(item)
            host = hosts.index(name) if (name := host_of(item)) in hosts else len(hosts)
            if declared is None:
                return host, len(RANK), 0, 0
            # All that is asked of one budget before the next one: each costs a restart.
            budgets = cells(self.runs[name].profile.tree) if declared.per == "budget" and name else ()
            budget = parameter_of(item, declared)
            visit = budgets.index(budget) if budget in budgets else -1
            return host, RANK[declared.level], visit, areas.index(declared.area)

        items.sort(key=position)
        for item in items:
            declared, name = checks.of(item), host_of(item)
            if declared is not None and declared.name in TELLERS and name in self.runs:
                self.told_by[str(name), TELLERS[declared.name]] = item.nodeid

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Holds back what the allowed level does not reach, before any fixture acts."""
        if JUDGEMENTS in item.stash:  # of an earlier try, where a plugin runs tests again
            del item.stash[JUDGEMENTS]
        declared = checks.of(item)
        if declared is not None and host_of(item) is None:
            pytest.fail(
                f"the check {declared.name} reaches no host, so what it returns would be about none: let it ask "
                "for facts, chain, service or host_run",
                pytrace=False,
            )
        if declared is not None and not self.allowed.permits(declared.level):
            why = f"needs --dflash-allow={declared.level} ({MEANING[declared.level]}); allowed: {', '.join(self.allowed.words)}"
            item.stash[JUDGEMENTS] = [Judgement(outcome=Outcome.NOT_RUN, summary=why)]
            pytest.skip(why)
        name = host_of(item)
        if declared is not None and name is not None:
            self.guard.passes(declared, self.runs[name])

    @pytest.hookimpl(tryfirst=True)
    def pytest_pyfunc_call(self, pyfuncitem: pytest.Function) -> bool | None:
        """Calls a check and keeps the judgements that it returns."""
        if checks.of(pyfuncitem) is None:
            return None
        arguments = {name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}  # noqa: SLF001 - as pytest's own caller does
        pyfuncitem.stash[JUDGEMENTS] = told_by(pyfuncitem.obj(**arguments))
        return True

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Turns judgements and exceptions into findings, and the findings into the report's outcome."""
        report = yield
        declared = checks.of(item)
        name = host_of(item)
        if declared is not None and name is not None and tells(call):
            run = self.runs[name]
            today = datetime.now(tz=UTC).date()
            findings = []
            for judgement in self._judgements(item, call, run):
                param = judgement.param or parameter_of(item, declared)
                final = judgement
                if not isinstance(call.excinfo and call.excinfo.value, OF_THE_HOST):
                    final = run.waive(judgement, waivers.Subject(declared.name, run.name, param), today)
                    final = waivers.advisory(final, declared.since, run.profile.gate.checks_as_of)
                findings.append(run.finding(declared, item.nodeid, param, final, call.duration))
            account.shape(report, findings, unexpected(call, report), self.redact)
            item.user_properties += account.properties(findings, self.redact)
        account.veil(report, self.redact)
        return report

    def redact(self, text: str) -> str:
        """The text without the secrets of any host."""
        return without_secrets(text, self.runs.values())

    def _judgements(
        self, item: pytest.Item, call: pytest.CallInfo[None], run: HostRun
    ) -> Sequence[Judgement]:
        """What the item has to say: its own judgements, or what its exception means."""
        kept = item.stash.get(JUDGEMENTS, None)
        if kept is not None:
            told = [self._in_view_of_the_service(item, each, run) for each in kept]
            declared = checks.of(item)
            return [remarked(run, declared, each) for each in told] if declared else told
        error = call.excinfo.value if call.excinfo else None
        if isinstance(error, (HostError, EndpointError)):
            what = matter(error)
            if what is None:
                return [failed(str(error), remedy=error.remedy or None)]
            return [self._told_elsewhere(run, what, item, error)]
        if isinstance(error, pytest.skip.Exception) and by_marker(error):
            return [
                unproven(
                    f"it was skipped by a marker: {error}",
                    remedy="take the marker away; what shall be left out is named on the command line (-k), "
                    "and the run is partial then",
                )
            ]
        if isinstance(error, pytest.skip.Exception):
            return [Judgement(outcome=Outcome.NOT_APPLICABLE, summary=str(error))]
        if isinstance(error, (AssertionError, pytest.fail.Exception)) and not isinstance(
            error, pytest.xfail.Exception
        ):
            return [failed(first_line(str(error)) or "the assertion does not hold")]
        if isinstance(error, DflashError):
            return [unproven(str(error))]
        broke = f"the check itself broke: {type(error).__name__}: {first_line(str(error))}"
        return [unproven(f"{broke} ({NOT_THE_HOST})")]

    def _in_view_of_the_service(self, item: pytest.Item, judgement: Judgement, run: HostRun) -> Judgement:
        """What a unit that does not serve leaves open is one failure, told once, and not one a flag and package."""
        declared = checks.of(item)
        if declared is None or judgement.outcome not in {Outcome.UNPROVEN, Outcome.FAIL}:
            return judgement
        settled = run.stands
        if settled is None or not moot(declared, judgement.outcome, settled.phase):
            return judgement
        error = NotServing(f"{run.profile.service.unit} does not serve: {settled.why}")
        return replace(self._told_elsewhere(run, "endpoint", item, error), param=judgement.param)

    def _told_elsewhere(
        self, run: HostRun, what: str, item: pytest.Item, error: HostError | EndpointError
    ) -> Judgement:
        """Blocked by the check whose matter this is; where that was left out, it is this check's own failure."""
        run.carriers.setdefault(what, self.told_by.get((run.name, what), item.nodeid))
        return run.carry(what, item.nodeid, error)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Under xdist, before anybody prints it: the report's one line."""
        account.restore(report)

    def pytest_report_teststatus(self, report: pytest.TestReport) -> tuple[str, str, Any] | None:
        """Gives `unproven` its own letter and word; it counts as failed."""
        if getattr(report, "dflash_outcome", None) == Outcome.UNPROVEN and report.failed:
            return "failed", "U", ("UNPROVEN", {"red": True})
        return None


def matter(error: HostError | EndpointError) -> str | None:
    """What others fail for as well, so that one check carries it; None for a failure of this check alone."""
    if isinstance(error, LoadBroken):
        return f"load {error.load}"
    return next((what for kinds, what in SHARED if isinstance(error, kinds)), None)


def by_marker(skipped: BaseException) -> bool:
    """Whether a marker skipped it, of a suite or put there by a conftest: pytest tells such a skip at the item's place."""
    return bool(getattr(skipped, "_use_item_location", False))


def moot(declared: checks.Check, outcome: Outcome, phase: Phase) -> bool:
    """Whether a red outcome only says once more that the unit does not serve.

    Without a process nothing is in force, so that each setting that is followed is moot, also where an older
    log differs; while a process loads, only what it has not said yet is.
    """
    if phase in WITHOUT_PROCESS:
        followed = declared.per in {"flag", "variable"}
        return declared.area in OF_THE_PROCESS and (outcome is Outcome.UNPROVEN or followed)
    return (
        phase not in {Phase.READY, Phase.UNKNOWN} and declared.area == "flags" and outcome is Outcome.UNPROVEN
    )


def host_of(item: pytest.Item) -> str | None:
    """The name of the host that an item runs against."""
    callspec = getattr(item, "callspec", None)
    return callspec.params.get(HOST_PARAM) if callspec is not None else None


def parameter_of(item: pytest.Item, declared: checks.Check) -> str | None:
    """The key of the profile that an item runs for."""
    callspec = getattr(item, "callspec", None)
    return callspec.params.get(declared.per) if callspec is not None and declared.per else None


def told_by(returned: object) -> list[Judgement]:
    """What a check returned, as judgements; anything else compared nothing."""
    several = isinstance(returned, Iterable) and not isinstance(returned, str)
    values: list[object] = list(returned) if several else [returned]  # type: ignore[call-overload]  # just tried
    judgements = [each for each in values if isinstance(each, Judgement)]
    strange = [type(each).__name__ for each in values if each is not None and not isinstance(each, Judgement)]
    if strange:
        judgements.append(unproven(f"the check returned {strange[0]} where a Judgement belongs"))
    return judgements or [unproven("the check returned no judgement, so it compared nothing")]


def tells(call: pytest.CallInfo[None]) -> bool:
    """Whether this phase decides a check: its call, or a set-up that it did not survive."""
    return call.when == "call" or (call.when == "setup" and call.excinfo is not None)


def unexpected(call: pytest.CallInfo[None], report: pytest.TestReport) -> object:
    """Pytest's traceback, where an exception says more than its own sentence."""
    error = call.excinfo.value if call.excinfo else None
    return None if error is None or isinstance(error, DflashError) else report.longrepr


def first_line(text: str) -> str:
    """The first line of a text that may have none."""
    return text.splitlines()[0] if text.strip() else ""
