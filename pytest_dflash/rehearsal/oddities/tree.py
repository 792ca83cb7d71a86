"""Engines whose text differs from run to run, and is right each time.

Law: a table.
"""

from __future__ import annotations

from pytest_dflash.rehearsal.faults.stages import both, switch, window
from pytest_dflash.rehearsal.faults.tree import SHORT_WINDOW
from pytest_dflash.rehearsal.oddities.oddity import Oddity

TREE = (
    Oddity(
        "near-tie-noise",
        "an engine whose rounding differs from run to run, so that ties fall either way",
        before=both(window(SHORT_WINDOW), switch(corruptions=["near-tie-noise"])),
        expects=(f"window.tokens={SHORT_WINDOW}",),
        load="tree",
        alone=True,
    ),
)
