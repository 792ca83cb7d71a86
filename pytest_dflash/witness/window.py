"""The draft window: by flag, by the drafter's own config, or by either.

Law: the one setting with two carriers. By its own config the draft runner logs None, and that is right; a flag
that asks for another window contradicts it all the same.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from pytest_dflash.facts.reading import Absent, Silent, Value
from pytest_dflash.findings import (
    Evidence,
    Json,
    Judgement,
    Outcome,
    failed,
    passed,
    unproven,
)
from pytest_dflash.witness.chain import Chain
from pytest_dflash.witness.comparison import plain
from pytest_dflash.witness.following import evidence, said
from pytest_dflash.witness.setting import follow_flag, off

NATIVE = "drafter_config"
CONFIG = "config.json of the drafter"


def window(chain: Chain, tokens: int, via: str, optional: Collection[str] = ()) -> Judgement:
    """Judges the draft window.

    Args:
        chain: The witnesses.
        tokens: The window that the drafter was trained with, in target tokens.
        via: "flag", "native" or "either".
        optional: Witnesses that may be silent.
    """
    if not chain.dialect.window_setting and via == "flag":
        return unproven(
            "the draft window cannot be followed: this engine has no flag for it, the drafter's own config decides",
            expected=tokens,
            remedy='expect it by the config: [window] via = "native"',
        )
    if via == "native" or not chain.dialect.window_setting:
        return by_config(chain, tokens)
    flag = replace(follow_flag(chain, chain.dialect.window_setting, tokens, optional), param=None)
    if via == "flag" or flag.outcome is Outcome.PASS:
        return flag
    native = by_config(chain, tokens)
    if native.outcome is Outcome.PASS:
        return native
    both = replace(flag, evidence=(*flag.evidence, native.evidence[-1]))
    if Outcome.UNPROVEN in {flag.outcome, native.outcome}:
        undecided = flag if flag.outcome is Outcome.UNPROVEN else native
        return replace(
            both,
            outcome=Outcome.UNPROVEN,
            summary=f"neither flag nor drafter config is proven: {undecided.summary}",
            between=None,
            cause=None,
            remedy=undecided.remedy,
            evidence=tuple(replace(each, differs=False) for each in both.evidence),
        )
    return replace(both, summary=f"{flag.summary}; and {native.summary}")


def by_config(chain: Chain, tokens: int) -> Judgement:
    """Judges the window that the drafter's own config.json gives it."""
    setting = chain.dialect.window_setting
    readings = chain.readings(setting) if setting else ()
    against = [
        each
        for each in readings
        if not isinstance(each.reading, Silent)
        and not off(plain(each))
        and not chain.dialect.same(setting, plain(each), tokens)
    ]
    rows = tuple(evidence(each, differs=each in against[:1]) for each in readings)
    native = chain.native_window()
    own = _own(native, tokens)
    if against:
        return failed(
            f"the drafter's own window is overruled: {setting} is {said(against[0])} in {against[0].witness}, "
            f"expected {tokens} by the drafter's config",
            expected=tokens,
            observed=plain(against[0]),
            cause="A flag that sets another window than the drafter was trained with",
            remedy=f"Take --{setting} out of the unit, or set it to {tokens}; then restart {chain.sources.unit}",
            evidence=(*rows, own),
        )
    if isinstance(native, Silent):
        return unproven(
            f"the drafter's own window is not proven: {native.why}",
            expected=tokens,
            remedy="Let the tool read the drafter's config.json on the host (its path is the draft model's), "
            'or expect the window by flag: [window] via = "flag"',
            evidence=(*rows, own),
        )
    found: Json = native.value if isinstance(native, Value) else None
    if found == tokens:
        return passed(
            f"the drafter's own config gives it a window of {tokens} tokens",
            expected=tokens,
            observed=found,
            evidence=(*rows, own),
        )
    says = "gives it none that this engine honours" if isinstance(native, Absent) else f"says {found}"
    return failed(
        f"the drafter's own config {says}: expected a window of {tokens} tokens",
        expected=tokens,
        observed=found,
        cause="The config has no sliding window, has another one, or this engine version ignores it",
        remedy=(f"Set --{setting} to {tokens} in the unit, or serve" if setting else "Serve")
        + " a drafter whose config.json has the window, with an engine version that honours it",
        evidence=(*rows, own),
    )


def _own(native: Value[int] | Absent | Silent, tokens: int) -> Evidence:
    where = native.where or CONFIG
    if isinstance(native, Silent):
        return Evidence(source=NATIVE, reading="silent", why=native.why, where=where)
    if isinstance(native, Absent):
        return Evidence(source=NATIVE, reading="absent", where=where, differs=True)
    return Evidence(
        source=NATIVE, reading="value", value=native.value, where=where, differs=native.value != tokens
    )
