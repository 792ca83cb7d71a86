"""The driver's own complaints (Xid): where there can be none, and where they cannot be heard.

Law: pure; decided here alone, for a host at rest and for one under load.
"""

from __future__ import annotations

from pytest_dflash.facts.kernel import KernelJournal
from pytest_dflash.facts.reading import Absent, Reading, Value
from pytest_dflash.findings import Judgement, not_applicable
from pytest_dflash.rules.judge import unheard


def untold(kernel: Reading[KernelJournal], gpus: Reading[object], when: str) -> Judgement | None:
    """Why nothing can be said of Xids, `when` in a sentence; None where the kernel's log tells.

    An unreadable log matters only where there is a driver that could complain: an NVIDIA GPU.
    """
    if isinstance(gpus, Absent):
        return not_applicable(f"no NVIDIA GPU that could report an Xid {when}: {gpus.where}")
    return (
        None if isinstance(kernel, Value) else unheard(f"GPU errors (Xid) {when}", "kernel journal", kernel)
    )
