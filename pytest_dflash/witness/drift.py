"""The checks over the chain: one flag, one variable, all flags, and what the engine says it ignores.

Law: asks the dialect how values compare and hands arithmetic to `comparison`; no engine is named here.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from pytest_dflash.engines.dialect import Warning_
from pytest_dflash.facts.reading import Silent, Value
from pytest_dflash.findings import Evidence, Json, Judgement, failed, not_applicable, passed, unproven
from pytest_dflash.profile.schema import Profile
from pytest_dflash.witness import cause
from pytest_dflash.witness.chain import ANSWERED, ASKED, WITNESSES, Chain, Witnessed
from pytest_dflash.witness.comparison import Rule, drift, plain
from pytest_dflash.witness.following import Subject, evidence, filled, follow, said
from pytest_dflash.witness.setting import follow_flag, rule, warned
from pytest_dflash.witness.window import window


def flag(chain: Chain, name: str | None, profile: Profile) -> Judgement:
    """Whether a flag of the profile is in force, by every witness that carries it."""
    if name is None:
        return not_applicable("the profile expects no flags ([flags])")
    return follow_flag(chain, name, profile.flags[name], profile.witnesses.optional)


def variable(chain: Chain, name: str | None, profile: Profile) -> Judgement:
    """Whether an environment variable of the profile is in force in the serving process."""
    if name is None:
        return not_applicable("the profile expects no variables ([environment])")
    subject = Subject(
        name, chain.sources.unit, optional=profile.witnesses.optional, setter=f"Environment={name}"
    )
    return follow(subject, chain.environment(name), profile.environment[name], VARIABLE)


def no_drift(chain: Chain, optional: Collection[str] = ()) -> Judgement:
    """Compares the witnesses with each other over all flags that any of them names.

    Not drift: a value that the engine filled in by itself, and a legal rewrite. The draft runner is compared
    where it speaks, and may be silent here: the window has a check of its own.
    """
    names = sorted(chain.settings())
    moved = [
        (name, readings, step)
        for name in names
        for readings in (chain.readings(name),)
        if (step := drift(readings, rule(chain, name))) is not None
    ]
    if moved:
        return _drifted(chain, moved)
    silent = {name: heard.why for name, heard in chain.heard.items() if isinstance(heard, Silent)}
    must = [name for name in ("process_argv", "server_info") if name not in optional]
    needed = [name for name in must if name in silent]
    whole = all(name in silent for name in ASKED) or all(name in silent for name in ANSWERED)
    if needed or whole or not names:
        which = needed[0] if needed else next(iter(silent), "process_argv")
        return unproven(
            f"drift is not excluded: {which} is silent: {silent.get(which, 'it names no settings')}",
            remedy=filled(cause.HEAR[which], {"unit": chain.sources.unit}),
            evidence=tuple(Evidence(source=name, reading="silent", why=why) for name, why in silent.items()),
        )
    notes = [f"{name} is silent ({why})" for name, why in silent.items()]
    spoke = ", ".join(name for name in WITNESSES if name not in silent)
    return passed("; ".join([f"{len(names)} settings do not contradict each other in {spoke}", *notes]))


def draft_window(chain: Chain, profile: Profile) -> Judgement:
    """Whether the window of the profile reaches the draft runner."""
    if profile.window.tokens is None:
        return not_applicable("the profile expects no draft window ([window] tokens)")
    return window(chain, profile.window.tokens, profile.window.via, profile.witnesses.optional)


def none_ignored(chain: Chain) -> Judgement:
    """Whether the engine says, in this invocation, that it ignores or replaces a setting."""
    warnings = chain.warnings()
    if isinstance(warnings, Value) and (alarming := [each for each in warnings.value if each.alarming]):
        return failed(
            f"the engine ignores or replaces {', '.join(named(alarming))}: {alarming[0].message}",
            observed=[each.message for each in alarming],
            cause=alarming[0].cause or "A flag that this version, algorithm or hardware does not honour",
            remedy=alarming[0].remedy
            or "Choose what the message asks for; or take the flag out, and out of the profile where it is expected; then "
            "restart the unit",
            evidence=tuple(
                Evidence(
                    source="journal", reading="value", value=each.message, where=each.where, differs=True
                )
                for each in alarming
            ),
        )
    gap = chain.gap_in_start()
    if gap is not None:
        return unproven(
            f"whether the engine ignores a setting is not proven: {gap.why}",
            remedy=filled(cause.HEAR[gap.where], {"unit": chain.sources.unit}),
            evidence=(Evidence(source="journal", reading="silent", why=gap.why),),
        )
    return passed("the start-up of this invocation names no setting that the engine ignores or replaces")


def _meets(value: Json, expected: Json) -> bool:
    if isinstance(expected, bool):
        return (value is not None) is expected
    return value is not None and str(value) == str(expected)


VARIABLE = Rule(same=lambda left, right: left == right, meets=_meets, rewritten=lambda _asked, _found: False)
"""Variables are text: false means absent, true means set to anything, and nobody rewrites them."""


def named(warnings: Sequence[Warning_]) -> list[str]:
    """The settings that warnings name, each once."""
    return list(dict.fromkeys(each.setting or "a setting" for each in warnings))


def _drifted(chain: Chain, moved: Sequence[tuple[str, tuple[Witnessed, ...], tuple[int, int]]]) -> Judgement:
    names = [name for name, _, _ in moved]
    name, readings, (early, late) = moved[0]
    pair = (readings[early].witness, readings[late].witness)
    usual = cause.between(WITNESSES, *pair)
    words = {
        "setting": f"--{name}",
        "unit": chain.sources.unit,
        "new": said(readings[early]),
        "old": said(readings[late]),
    }
    remedy = cause.EITHER_WAY.replace("{remedy}", usual.remedy) if pair[1] in ASKED else usual.remedy
    more = (
        f" (and {len(moved) - 1} more: {', '.join(names[1:6])}{'…' if len(names) > 6 else ''})"
        if names[1:]
        else ""
    )
    warning = warned(chain, name)
    return failed(
        f"{name} drifted between {pair[0]} and {pair[1]}: "
        f"{said(readings[early])} became {said(readings[late])}{more}",
        observed={each: {row[at].witness: plain(row[at]) for at in step} for each, row, step in moved},
        between=pair,
        cause=filled(usual.cause, words) + (f'. This engine warns: "{warning.message}"' if warning else ""),
        remedy=(warning.remedy if warning and pair[1] not in ASKED else "") or filled(remedy, words),
        evidence=tuple(
            _titled(each, row[at], differs=at == step[1]) for each, row, step in moved for at in step
        ),
    )


def _titled(setting: str, witnessed: Witnessed, *, differs: bool) -> Evidence:
    shown = evidence(witnessed, differs=differs)
    return Evidence(
        source=shown.source,
        reading=shown.reading,
        value=shown.value,
        where=f"{setting}: {shown.where or ''}".rstrip(": "),
        differs=differs,
    )
