"""What the engine of a host said about a check that is not green.

Law: wiring; which lines are read is `facts.remarks`', what they mean the dialect's, what follows `rules.remarks`'.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_dflash.checks import Check
from pytest_dflash.errors import EndpointError, HostError
from pytest_dflash.facts.reading import Value
from pytest_dflash.facts.remarks import REMARKS
from pytest_dflash.findings import Judgement, Outcome
from pytest_dflash.levels import RANK
from pytest_dflash.rules.remarks import in_its_own_words

if TYPE_CHECKING:
    from pytest_dflash.host_run import HostRun

OF_ANSWERS = frozenset({"endpoint", "tree", "throughput"})
"""Areas that ask the model: the engine may say in its log why it answers so."""


def remarked(run: HostRun, check: Check, judgement: Judgement) -> Judgement:
    """The judgement with what the engine has said about it by now, where that can be heard; what is green stays.

    The log is read again, as an engine says some things once, at the first request that needs them.
    """
    asks = RANK[check.level] > RANK["read"] and check.area in OF_ANSWERS
    if not asks or judgement.outcome not in {Outcome.UNPROVEN, Outcome.FAIL}:
        return judgement
    try:
        heard = run.collector.collect([REMARKS], passive=False).reading(REMARKS)
        known = run.chain.warnings()
    except (HostError, EndpointError):
        return judgement
    if not isinstance(heard, Value):
        return judgement
    told = [replace(each, where=f"{heard.where}: {each.where}") for each in run.dialect.warnings(heard.value)]
    before = {each.message for each in known.value} if isinstance(known, Value) else set()
    return in_its_own_words(judgement, check.name, told, before)
