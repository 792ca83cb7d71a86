"""The faults that the stand-in host can have, and the checks that must notice each.

Law: a table, one module an area. A stage is what a careless hand or a bad day would do to a host: an edited file,
an engine's switch, lost lines. Exactly the named checks turn red or unproven, everything else stays as it was.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pytest_dflash.rehearsal.faults.budgets import BUDGETS
from pytest_dflash.rehearsal.faults.cards import CARDS
from pytest_dflash.rehearsal.faults.endpoint import ENDPOINT
from pytest_dflash.rehearsal.faults.exposure import EXPOSURE
from pytest_dflash.rehearsal.faults.fault import Fault, Layer, Severity
from pytest_dflash.rehearsal.faults.machine import MACHINE
from pytest_dflash.rehearsal.faults.settings import SETTINGS
from pytest_dflash.rehearsal.faults.stages import Stage
from pytest_dflash.rehearsal.faults.throughput import THROUGHPUT
from pytest_dflash.rehearsal.faults.tree import TREE
from pytest_dflash.rehearsal.faults.unit import UNIT

__all__ = ("FAULTS", "Fault", "Layer", "Severity", "Stage", "listing")
AREAS = (SETTINGS, UNIT, ENDPOINT, EXPOSURE, CARDS, MACHINE, TREE, BUDGETS, THROUGHPUT)
FAULTS: Mapping[str, Fault] = {fault.name: fault for area in AREAS for fault in area}
"""Every fault by its name."""


def listing(faults: Iterable[Fault] = tuple(FAULTS.values())) -> str:
    """One line a fault: name, level, checks that must notice, title, with tabs between."""
    return "".join(
        f"{fault.name}\t{fault.level}\t{','.join(fault.checks)}\t{fault.title}\n" for fault in faults
    )
