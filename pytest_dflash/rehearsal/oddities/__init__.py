"""Hosts that are odd and healthy: each must be accepted, as surely as each fault must be noticed.

Law: a table, one module an area, staged as faults are.
"""

from __future__ import annotations

from collections.abc import Mapping

from pytest_dflash.rehearsal.oddities.cards import CARDS
from pytest_dflash.rehearsal.oddities.containers import CONTAINED
from pytest_dflash.rehearsal.oddities.endpoint import ENDPOINT
from pytest_dflash.rehearsal.oddities.oddity import Oddity
from pytest_dflash.rehearsal.oddities.programs import PROGRAMS
from pytest_dflash.rehearsal.oddities.service import SERVICE
from pytest_dflash.rehearsal.oddities.tree import TREE
from pytest_dflash.rehearsal.oddities.unit import UNIT

__all__ = ("ODDITIES", "Oddity")
ODDITIES: Mapping[str, Oddity] = {
    oddity.name: oddity
    for area in (CARDS, UNIT, PROGRAMS, CONTAINED, SERVICE, ENDPOINT, TREE)
    for oddity in area
}
"""Every oddity by its name."""
