"""One setting followed along its chain to a judgement, by CONTRACT section 5.

Law: readings and an expectation in, a judgement out; knows neither engines nor profiles. Silence never passes:
the last witness that must speak was heard, or the judgement is unproven.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from pytest_dflash.facts.reading import Absent, Silent, Value
from pytest_dflash.findings import Evidence, Json, Judgement, failed, passed, unproven
from pytest_dflash.witness import cause
from pytest_dflash.witness.chain import ASKED, WITNESSES, Witnessed
from pytest_dflash.witness.comparison import How, Lost, Rule, agreement, heard, lost, plain


@dataclass(frozen=True, slots=True)
class Subject:
    """What is followed, and the words that remedies need.

    Attributes:
        name: As the profile spells it.
        unit: The unit's name.
        warning: The engine's own words about this setting, "" when it says nothing.
        optional: Witnesses that may be silent.
        setter: How the unit sets it, for remedies: "--tp-size", "Environment=NCCL_P2P_LEVEL".
        remedy: What that warning asks for, where it is known: it counts where the engine lost the value.
    """

    name: str
    unit: str
    warning: str = ""
    optional: Collection[str] = ()
    setter: str = ""
    remedy: str = ""


def follow(subject: Subject, chain: Sequence[Witnessed], expected: Json, rule: Rule) -> Judgement:
    """Judges one chain.

    Returns:
        fail when anybody who was heard differs, other than by a legal rewrite; unproven when the last
        witness that must speak is silent; pass otherwise.
    """
    agrees = agreement(chain, expected, rule)
    where = lost(chain, agrees, rule)
    if where is not None:
        return _failed(subject, chain, expected, where)
    silent = last_silent(chain, subject.optional)
    if silent is not None:
        return _unproven(subject, chain, expected, silent)
    last = chain[heard(chain)[-1]]
    first = chain[heard(chain)[0]]
    along = f"from {first.witness} to {last.witness}" if first is not last else f"by {last.witness}"
    teller = next((chain[at] for at in reversed(heard(chain)) if plain(chain[at]) is not None), last)
    notes = [f"{last.witness} leaves out what is the default"] if teller is not last else []
    notes += [f"{each.witness} is silent" for each in chain if isinstance(each.reading, Silent)]
    return passed(
        "; ".join([f"{subject.name} is {said(teller)}, {along}", *notes]),
        expected=expected,
        observed=plain(last),
        param=subject.name,
        evidence=tuple(map(evidence, chain)),
    )


def last_silent(chain: Sequence[Witnessed], optional: Collection[str]) -> Witnessed | None:
    """The last witness that must speak, if it does not; with all optional, the last one if nobody spoke."""
    required = [each for each in chain if each.witness not in optional]
    if required:
        return required[-1] if isinstance(required[-1].reading, Silent) else None
    return None if heard(chain) or not chain else chain[-1]


def evidence(witnessed: Witnessed, *, differs: bool = False) -> Evidence:
    """A reading as a report shows it."""
    reading, source = witnessed.reading, witnessed.witness
    where = reading.where or None
    if isinstance(reading, Silent):
        return Evidence(source=source, reading="silent", why=reading.why, where=where)
    if isinstance(reading, Absent):
        return Evidence(source=source, reading="absent", where=where, differs=differs)
    return Evidence(source=source, reading="value", value=reading.value, where=where, differs=differs)


def said(witnessed: Witnessed) -> str:
    """A heard reading in a sentence."""
    return word(witnessed.reading.value) if isinstance(witnessed.reading, Value) else "nothing"


def word(value: Json) -> str:
    """A value in a sentence, as the profile would spell it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def wanted(expected: Json) -> str:
    """An expectation in a sentence."""
    return "it to be absent" if expected is False else word(expected)


def _failed(subject: Subject, chain: Sequence[Witnessed], expected: Json, where: Lost) -> Judgement:
    found = chain[where.observed]
    summary, usual = _told(chain, expected, where)
    pair = _pair(chain, where)
    by_engine = pair is not None and pair[1] not in ASKED and where.how is not How.CAME_BACK
    instead = "" if f"is {said(found)} all along" in summary else f", found {said(found)}"
    words = {"setting": subject.setter or subject.name, "value": word(expected), "unit": subject.unit}
    warning = f'. This engine warns: "{subject.warning}"' if subject.warning else ""
    return failed(
        f"{subject.name} {summary}: expected {wanted(expected)}{instead}",
        expected=expected,
        observed=plain(found),
        between=pair,
        cause=filled(usual.cause, words) + warning,
        remedy=(subject.remedy if by_engine else "") or filled(usual.remedy, words),
        param=subject.name,
        evidence=tuple(evidence(each, differs=at == where.shown) for at, each in enumerate(chain)),
    )


def _pair(chain: Sequence[Witnessed], where: Lost) -> tuple[str, str] | None:
    if where.early is None or where.late is None:
        return None
    return chain[where.early].witness, chain[where.late].witness


def _told(chain: Sequence[Witnessed], expected: Json, where: Lost) -> tuple[str, cause.Cause]:
    """What happened, in words, and why it usually does."""
    pair = _pair(chain, where)
    if pair is not None:
        usual = {
            How.CAME_BACK: cause.between(WITNESSES, *pair, came_back=True),
            How.ELSEWHERE: cause.ELSEWHERE,
        }.get(where.how) or cause.between(WITNESSES, *pair)
        only = f" ({pair[1]} holds it)" if where.how is How.CAME_BACK else ""
        return f"drifted between {pair[0]} and {pair[1]}{only}", usual
    first = chain[where.shown]
    if expected is False:
        return "is set", cause.UNWANTED
    if first.witness in ASKED and plain(first) is None:
        return "was never asked for", cause.NEVER_ASKED
    return f"is {said(first)} all along", cause.ASKED_OTHERWISE


def _unproven(subject: Subject, chain: Sequence[Witnessed], expected: Json, silent: Witnessed) -> Judgement:
    assert isinstance(silent.reading, Silent)
    positions = heard(chain)
    far = f"; {said(chain[positions[-1]])} as far as {chain[positions[-1]].witness}" if positions else ""
    return unproven(
        f"{subject.name} is not proven: {silent.witness} is silent: {silent.reading.why}{far}",
        expected=expected,
        observed=plain(chain[positions[-1]]) if positions else None,
        remedy=filled(cause.HEAR[silent.witness], {"unit": subject.unit}),
        param=subject.name,
        evidence=tuple(map(evidence, chain)),
    )


def filled(text: str, words: dict[str, str]) -> str:
    """A text of the table with its names filled in; text from outside may hold braces, so no format()."""
    for name, value in words.items():
        text = text.replace(f"{{{name}}}", value)
    return text
