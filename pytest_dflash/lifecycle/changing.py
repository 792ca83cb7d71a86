"""Flags changed for a while, with the proof that they are in force; the budgets of a draft tree, one after the other.

Law: what is changed to what, and in which order; `controller` acts, and who proves is handed in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from pytest_dflash.errors import NotPutBack
from pytest_dflash.findings import Judgement
from pytest_dflash.lifecycle.controller import Controller
from pytest_dflash.lifecycle.flagline import Change, Changes
from pytest_dflash.lifecycle.restart import Restart
from pytest_dflash.profile.schema import Tree

PLAIN = "none"
"""The cell that is none: the unit without speculation."""


@dataclass(frozen=True, slots=True)
class Changed:
    """A change that was made: the restart, and for each flag whether it is in force. Nothing is proven unless ready."""

    restart: Restart
    proofs: tuple[Judgement, ...] = ()


def cells(tree: Tree) -> tuple[str, ...]:
    """The settings of the draft tree that are visited, as parameters of a check: "7", or "7-topk4"."""
    if not tree.topks:
        return tuple(str(budget) for budget in tree.budgets)
    return tuple(f"{budget}-topk{topk}" for budget in tree.budgets for topk in tree.topks)


def budget_flag(tree: Tree, dialect: Any) -> tuple[str, int]:
    """The flag that holds the budget, and what it counts beyond the nodes without the root; the profile has the last word."""
    offset = dialect.budget_flag_offset if tree.budget_flag_offset is None else tree.budget_flag_offset
    return tree.budget_flag or dialect.budget_flag, offset


def flags_of(tree: Tree, cell: str, dialect: Any) -> Changes:
    """The flags that make a cell: a budget counts nodes without the root, the flag may count it too."""
    budget, _, topk = cell.partition("-topk")
    flag, offset = budget_flag(tree, dialect)
    changes: dict[str, Change] = {flag: int(budget) + offset}
    if topk and tree.topk_flag:
        changes[tree.topk_flag] = int(topk)
    return changes


@dataclass
class Changing:
    """Changes flags of one unit.

    Attributes:
        prove: Follows a flag in the fresh process, by the witnesses.
        version: The engine's, when known.
    """

    controller: Controller
    prove: Callable[[str, Change], Judgement]
    version: Callable[[], str | None] = lambda: None

    @contextmanager
    def reconfigured(self, changes: Changes) -> Iterator[Changed]:
        """The unit with other flags, ready and proven where it can be, for the time of the block."""
        try:
            yield self.apply(changes)
        finally:
            self.controller.put_back()

    def apply(self, changes: Changes) -> Changed:
        """The same, until the controller puts back."""
        made = self.controller.apply(changes, self.version())
        if not made.ready:
            return Changed(made)
        return Changed(made, tuple(self.prove(name, value) for name, value in changes.items()))


@dataclass
class Budgets:
    """Visits the cells of a draft tree; staying in one costs nothing, moving on one restart.

    Attributes:
        at: The cell, or `PLAIN`; None where the unit is as it was found, or broken.
        taken: The flags that were taken out for `PLAIN`.
    """

    changing: Changing
    tree: Tree
    dialect: Any
    at: str | None = None
    taken: tuple[str, ...] = ()
    changed: Changed | None = field(default=None)

    def visit(self, cell: str) -> Changed:
        """The unit with this cell's flags."""
        return self._moved(cell, flags_of(self.tree, cell, self.dialect))

    def without(self, flags: Sequence[str]) -> Changed:
        """The unit without these flags: those of speculation."""
        self.taken = tuple(flags)
        return self._moved(PLAIN, dict.fromkeys(flags))

    def _moved(self, cell: str, changes: Changes) -> Changed:
        if self.changed is None or self.at != cell:
            self.at = self.changed = None
            self.changed = self.changing.apply(changes)
            self.at = cell
        return self.changed

    def leave(self) -> None:
        """Puts back; what cannot be is kept by the controller."""
        self.at = self.changed = None
        with suppress(NotPutBack):
            self.changing.controller.put_back()
