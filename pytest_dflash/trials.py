"""The trials of a run: one of each process that was asked, and those of the budgets visited so far.

Law: wiring; what is asked is `endpoint.trial`'s, what it proves is the rules'. A trial is made from what the host says
of itself: edges, window and version come from the chain of witnesses.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pytest_dflash.endpoint.service import Service
from pytest_dflash.endpoint.speaking import Speaker
from pytest_dflash.endpoint.trial import Trial
from pytest_dflash.facts.reading import Reading, Value
from pytest_dflash.findings import Json, Judgement, Outcome
from pytest_dflash.lifecycle.changing import Budgets, budget_flag, cells
from pytest_dflash.oracle import acceptance
from pytest_dflash.oracle.acceptance import Drafted
from pytest_dflash.oracle.answers import Part
from pytest_dflash.rules import tree_acceptance, tree_budget, tree_text, without_speculation
from pytest_dflash.rules.tree_lossless import lossless, pointless

if TYPE_CHECKING:
    from pytest_dflash.host_run import HostRun


@dataclass
class Trials:
    """What was asked of one host.

    Attributes:
        seed: Of all prompts of this run: other ones than those of any run before, which may still be cached.
        visited: Trials by cell of the draft tree, in the order of the visits.
        reference: The trial of the unit without speculation, once it was asked.
    """

    run: HostRun
    seed: int = field(default_factory=lambda: secrets.randbelow(10**6))
    visited: dict[str, Trial] = field(default_factory=dict)
    reference: Trial | None = None
    _latest: tuple[Service, Trial] | None = None

    def now(self) -> Trial:
        """The trial of the process that runs now; a restart begins a new one.

        Raises:
            NotServing, HostError: There is no process to try.
        """
        service = self.run.service
        if self._latest is None or self._latest[0] is not service:
            self._latest = service, self._made(service)
        return self._latest[1]

    def _made(self, service: Service) -> Trial:
        run = self.run
        settings, scoring = run.chain.context, run.dialect.scoring()
        both = run.allowed.permits("load") and run.allowed.permits("reconfigure")
        return Trial(
            Speaker(service.client, scoring),
            self.seed,
            bounds=scoring.bounds(settings),
            window=self._window(settings),
            withheld=scoring.withheld(run.version, settings),
            cells=len(cells(run.profile.tree)) if both else 0,
        )

    def _window(self, settings: Mapping[str, Json]) -> int | None:
        """The draft window in force, tokens: by flag, by the drafter's own config, else as the profile expects it."""
        flag = _whole(settings.get(self.run.dialect.window_setting))
        native: Reading[int] = self.run.chain.native_window()
        return flag or (native.value if isinstance(native, Value) else self.run.profile.window.tokens)

    @property
    def depth(self) -> int | None:
        """The longest path of the tree without its root: no more than the budget, nor than a block of the drafter has."""
        dialect, chain = self.run.dialect, self.run.chain
        name, offset = budget_flag(self.run.profile.tree, dialect)
        flag = _whole(chain.context.get(dialect.setting(name, self.run.version)))
        block = self._block() if dialect.drafts_by_block else None
        known = [flag - offset if flag else None, block - 1 if block else None]
        return min((each for each in known if each), default=None)

    def _block(self) -> int | None:
        """Tokens in a block of the drafter, its anchor included, by its own config."""
        config: Any = self.run.chain.sources.drafter_config
        told = config.value if isinstance(config, Value) and isinstance(config.value, dict) else {}
        return _whole(told.get("block_size"))

    def at(self, budgets: Budgets, cell: str | None, judge: Callable[[Trial], Judgement]) -> Judgement:
        """Visits a cell and judges the process that runs with it."""
        if cell is None:
            return tree_budget.nothing()
        if untold := tree_budget.untold(self.run.allowed):
            return untold
        if unready := tree_budget.unready(cell, budgets.visit(cell)):
            return unready
        if cell not in self.visited:
            trial = self.now()
            trial.ask_all()  # what is compared with later cells must be said by this process
            self.visited[cell] = trial
        return judge(self.visited[cell])

    def without_speculation(self, budgets: Budgets) -> Judgement:
        """The running process against the same unit without speculation."""
        flags = self.run.speculative_flags
        if untold := tree_budget.untold(self.run.allowed):
            return untold
        if not flags:
            return without_speculation.no_flags(known=bool(self.run.dialect.scoring().speculative_flags))
        running = self.now()
        running.ask_all()
        changed = budgets.without(flags)
        if unready := without_speculation.unready(changed):
            return unready
        reference = self.now()
        reference.ask_all()
        if drafting := without_speculation.drafts(_accounts(running, reference), flags, changed.proofs):
            return drafting
        self.reference = reference
        return self._compared(running, reference, "without speculation")

    @staticmethod
    def _compared(mine: Trial, other: Trial, than: str) -> Judgement:
        return tree_text.same_tokens(
            [mine.alone, mine.together, mine.at_edges],
            [other.alone, other.together, other.at_edges],
            than,
            other.grounds,
        )

    def same_tokens(self, cell: str) -> Judgement:
        """The cell against the unit without speculation, else against the first one that was visited."""
        first = next(iter(self.visited))
        if self.reference is not None:
            return self._compared(self.visited[cell], self.reference, "without speculation")
        if cell == first:
            known = cells(self.run.profile.tree)
            return tree_budget.first(cell) if len(known) > 1 else tree_budget.alone(cell)
        return self._compared(self.visited[cell], self.visited[first], f"with budget {first}")

    def acceptance(self, cell: str) -> Judgement:
        """Within what the tree allows, like a real drafter's, and no less than that of smaller trees.

        Of trees whose text is wrong nothing is compared: what is accepted there depends on what was said.
        """
        trial = self.visited[cell]
        if wrong := pointless(text_of(trial), "the accept length"):
            return wrong
        drafted = trial.drafted
        within = tree_acceptance.within_bounds(drafted, None, self.depth)
        if within.outcome != "pass":
            return within
        known: dict[str, tuple[int, Drafted]] = {
            each: (int(each.partition("-")[0]), whole)
            for each, trial in self.visited.items()
            if (whole := acceptance.together(trial.drafted)) and text_of(trial).outcome is not Outcome.FAIL
        }
        varies = tree_acceptance.varies(drafted)
        return tree_acceptance.grows(cell, known) or (varies if varies.outcome == "fail" else within)


def _accounts(running: Trial, reference: Trial) -> list[without_speculation.Account]:
    """What both say of their verify steps, in their answers and by their counters."""
    mine, other = ((each.alone, each.together, each.at_edges) for each in (running, reference))
    return [
        (without_speculation.in_answers(mine), without_speculation.in_answers(other)),
        (_counted(mine), _counted(other)),
    ]


def _counted(parts: Sequence[Part]) -> Reading[float]:
    return without_speculation.counted([each for part in parts for each in part.counters])


def text_of(trial: Trial) -> Judgement:
    """Whether its greedy answers are the target's own."""
    return lossless([trial.alone, trial.together, trial.at_edges], trial.grounds)


def _whole(value: Json) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None
