"""What an engine says itself about a check that is not green: its line stands in the report, and picks the remedy.

Law: pure; a judgement and the lines in, the judgement with its witness out. The outcome stays what was measured.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from pytest_dflash.engines.dialect import Warning_
from pytest_dflash.findings import Evidence, Judgement

QUOTED = 5
"""At most so many lines are quoted."""


def in_its_own_words(
    judgement: Judgement, check: str, told: Sequence[Warning_], before: Collection[str] = ()
) -> Judgement:
    """The judgement with what the engine says about it.

    Args:
        judgement: That is not green.
        check: The check's name, "tree.sampling".
        told: The engine's lines of this invocation.
        before: Those that it had said when its facts were read: of these only what explains the check is quoted.

    Returns:
        The same outcome and summary. A line that is known to explain the check picks cause and remedy.
    """
    word = check.partition(".")[2]
    telling = [each for each in told if each.about and word.startswith(each.about)]
    new = [each for each in told if each.alarming and not each.about and each.message not in before]
    quoted = tuple(
        Evidence(
            source="journal", reading="value", value=each.message, where=each.where, differs=each in telling
        )
        for each in [*telling, *new][:QUOTED]
    )
    whole = replace(judgement, evidence=(*judgement.evidence, *quoted))
    if not telling:
        return whole
    first = telling[0]
    return replace(whole, cause=f'{first.cause}. The engine says so: "{first.message}"', remedy=first.remedy)
