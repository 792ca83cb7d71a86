"""The loads of a profile in other processes than the one that was found: after a restart, without speculation.

Law: wiring, as `loading`; what is restarted is the controller's, what it proves is the rules'.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pytest_dflash.errors import LoadBroken
from pytest_dflash.facts.identity import Identity
from pytest_dflash.facts.reading import Value
from pytest_dflash.findings import Judgement, not_applicable
from pytest_dflash.lifecycle.changing import PLAIN, Budgets
from pytest_dflash.load.measurement import Measurement
from pytest_dflash.load.measuring import Loads
from pytest_dflash.rules import speculation_pays, starts, tree_budget, without_speculation

if TYPE_CHECKING:
    from pytest_dflash.host_run import HostRun

NO_LOAD = "the profile has no [[throughput]] load"
ONCE = "the load is measured in one process only; [[throughput]] starts = 3 restarts the unit for more"


@dataclass
class FreshLoads:
    """What the loads came to in each process that this run started for it."""

    run: HostRun
    loads: Loads
    starts: int = 1
    _by_start: dict[str, list[Measurement]] = field(default_factory=dict)
    _broken: dict[str, LoadBroken] = field(default_factory=dict)
    _plain: dict[str, tuple[Measurement, Judgement | None]] = field(default_factory=dict)

    def at_each_start(self, name: str | None) -> Judgement:
        """The load in as many processes as the profile says.

        Raises:
            LoadBroken, NotServing: A fresh process does not answer.
        """
        if name is None:
            return not_applicable(NO_LOAD)
        wanted = next(load.starts for load in self.run.profile.throughput if load.name == name)
        if wanted < 2:
            return not_applicable(ONCE)
        if untold := tree_budget.untold(self.run.allowed, "restart"):
            return untold
        found = self.loads.measure(name)
        while self.starts < wanted:
            self._start(self.starts + 1)
        if name in self._broken:
            raise self._broken[name]
        return starts.starts([found, *self._by_start.get(name, ())], self.run.profile.gpu)

    def _start(self, number: int) -> None:
        """One process more, for all loads that want it; one that somebody else just started will do."""
        measured = [each.after for each in self.loads.all()] + [
            each.after for some in self._by_start.values() for each in some
        ]
        known: set[Identity] = {each.value for each in measured if isinstance(each, Value)}
        now = self.loads.identity()
        if not isinstance(now, Value) or now.value in known:
            self.run.controller.restart()
        for load in self.run.profile.throughput:
            if load.starts < number:
                continue
            try:
                found = self.loads.afresh(load.name, f"start {number}")
            except LoadBroken as error:
                self._broken.setdefault(load.name, error)
            else:
                self._by_start.setdefault(load.name, []).append(found)
        self.starts = number

    def beside_plain(self, name: str | None, budgets: Budgets) -> Judgement:
        """The load against the same one of the unit without speculation.

        Raises:
            LoadBroken: It was not answered.
        """
        if name is None:
            return not_applicable(NO_LOAD)
        if untold := tree_budget.untold(self.run.allowed):
            return untold
        many = len(self.run.profile.throughput)
        if name not in self._plain:
            found = self._as_it_is(name, budgets)
            flags = budgets.taken if budgets.at == PLAIN else self.run.speculative_flags
            if not flags:
                return without_speculation.no_flags(known=bool(self.run.dialect.scoring().speculative_flags))
            changed = budgets.without(flags)
            if unready := without_speculation.unready(changed):
                return unready
            told = speculation_pays.apart(found, many)
            plain = self.loads.afresh(name, speculation_pays.PLAIN, told)
            account = without_speculation.counted(found.counters), without_speculation.counted(plain.counters)
            self._plain[name] = plain, without_speculation.drafts([account], flags, changed.proofs)
        plain, drafting = self._plain[name]
        return speculation_pays.measured(
            self.loads.measure(name), plain, many, self.run.profile.gpu, drafting
        )

    def _as_it_is(self, name: str, budgets: Budgets) -> Measurement:
        """The load of the unit as it was found, all others with it: the unit goes back for them where it must."""
        wanted = {each.name for each in self.run.profile.throughput}
        if budgets.at is not None and not wanted <= self.loads.tried:
            budgets.leave()
        self.loads.all()
        return self.loads.measure(name)
