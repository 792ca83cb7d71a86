"""Whether a unit serves, and the lines that say why not.

Law: pure. How the unit stands was decided by the table of phases.
"""

from __future__ import annotations

import shlex
from typing import Any

from pytest_dflash.endpoint.service import NAME_IT
from pytest_dflash.facts.host_facts import Facts
from pytest_dflash.facts.reading import Silent
from pytest_dflash.findings import Evidence, Judgement, failed, passed, unproven
from pytest_dflash.lifecycle.phase import Phase
from pytest_dflash.lifecycle.readiness import Settled
from pytest_dflash.lifecycle.settling import reasons
from pytest_dflash.rules import systemd


def serves(unit: str, facts: Facts, settled: Settled, here: systemd.Here | None = None) -> Judgement:
    """Whether the unit serves, and why not; `here` is asked for the units of engines where there is none of this name."""
    if settled.phase is Phase.READY:
        return passed(f"{unit} serves: {settled.why}", expected="ready", observed="ready")
    rest: dict[str, Any] = {"expected": "ready", "observed": str(settled.phase)}
    rest["evidence"] = tuple(
        Evidence(
            source="journal",
            reading="value",
            value=entry.message[:300],
            where="said by pid 1" if entry.from_manager else "said by the service",
        )
        for entry in reasons(facts, settled)
    )
    remedy = f"`journalctl -u {shlex.quote(unit)}` tells more; mend, start it, and run this again"
    if here is not None and systemd.is_missing(facts.unit):
        remedy = systemd.not_there(here())
    if settled.phase is Phase.UNKNOWN:
        unseen = f" ({facts.listeners.why})" if isinstance(facts.listeners, Silent) else ""
        remedy = f"mend that, or {NAME_IT}" if unseen else remedy
        return unproven(f"whether {unit} serves is not known: {settled.why}{unseen}", remedy=remedy, **rest)
    return failed(f"{unit} does not serve: {settled.why}", remedy=remedy, **rest)
