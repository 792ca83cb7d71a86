"""One setting of an engine: how its values compare, and its way along the chain.

Law: the dialect decides what is the same and what a legal rewrite is; no engine is named here.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import replace
from difflib import get_close_matches

from pytest_dflash.engines.dialect import Warning_
from pytest_dflash.facts.reading import Value
from pytest_dflash.findings import Json, Judgement, Outcome, unproven
from pytest_dflash.witness.chain import Chain
from pytest_dflash.witness.comparison import Rule
from pytest_dflash.witness.following import Subject, follow


def follow_flag(chain: Chain, name: str, expected: Json, optional: Collection[str] = ()) -> Judgement:
    """Follows one flag.

    Args:
        chain: The witnesses.
        name: The flag as a person may spell it.
        expected: As in a profile: True for a bare switch that must be present, False for a flag that must be
            absent or off.
        optional: Witnesses that may be silent.
    """
    setting = chain.dialect.setting(name, chain.sources.version)
    readings = chain.readings(setting)
    if not readings:
        return unproven(f"{name} cannot be followed: no witness carries it", param=name, expected=expected)
    warning = warned(chain, setting)
    subject = Subject(
        name,
        chain.sources.unit,
        warning.message if warning else "",
        optional,
        f"--{name}",
        warning.remedy if warning else "",
    )
    judgement = follow(subject, readings, expected, rule(chain, setting))
    if judgement.outcome is Outcome.FAIL and setting not in chain.settings():
        return unnamed(judgement, name, chain)
    return judgement


def unnamed(judgement: Judgement, name: str, chain: Chain) -> Judgement:
    """The same for a flag that no witness names: more likely a slip of the profile than a fault of the engine."""
    near = get_close_matches(name, chain.settings(), 1)
    hint = f"; did you mean {near[0]}?" if near else ""
    return replace(
        judgement,
        summary=f"no witness names --{name}, and {json.dumps(judgement.expected)} is expected{hint}",
        between=None,
        cause="the name is misspelt in the profile, or this engine has no such flag",
        remedy=f"check the spelling of {name} under [flags]; if it is right, put --{name} into the unit",
    )


def rule(chain: Chain, setting: str) -> Rule:
    """How values of one setting compare, by the dialect; a switch that is off and one that is absent are one."""
    dialect, context = chain.dialect, chain.context
    default = dialect.default(setting)
    on_by_itself = isinstance(default, Value) and default.value is True

    def same(left: Json, right: Json) -> bool:
        neither = off(left) and off(right) and not on_by_itself
        return neither or dialect.same(setting, left, right)

    def rewritten(asked: Json, found: Json) -> bool:
        by_default = asked is None and isinstance(default, Value) and same(default.value, found)
        return by_default or dialect.is_rewrite(setting, asked, found, context)

    return Rule(same=same, meets=same, rewritten=rewritten)


def off(value: Json) -> bool:
    """Whether a value means that a flag is not there."""
    return value is None or value is False


def warned(chain: Chain, setting: str) -> Warning_ | None:
    """The engine's own words about a setting, None when it has none."""
    warnings = chain.warnings()
    if not isinstance(warnings, Value):
        return None
    return next((each for each in warnings.value if each.setting == setting), None)
