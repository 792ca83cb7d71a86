"""A judgement as a person reads it: one sentence, one table, the cause and what to do.

Law: a judgement in, lines out; pure. Text from the host is data: what could move the cursor, hide or reverse
text is made visible.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterator

from pytest_dflash.findings import Evidence, Json, Judgement

MARK = "✗"
VALUE_WIDTH = 48
"""Columns are as wide as values up to here; a longer one pushes only its own line."""
LONGEST_VALUE = 100
JOURNAL = "journal"
LINE_WIDTH = 300
"""A line of the log is the evidence itself: what would be left out of its middle may be what explains."""
PLACE_WIDTH = 100
HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})
"""Unicode categories that a terminal obeys or does not show."""


def told(judgement: Judgement) -> list[str]:
    """The whole of it: sentence, table, cause, remedy."""
    rest = (judgement.cause, judgement.remedy)
    return [visible(judgement.summary), *table(judgement), *(ended(visible(text)) for text in rest if text)]


def table(judgement: Judgement) -> list[str]:
    """What each source said, one line each, with `✗` where the loss shows first."""
    rows = [
        (MARK if each.differs else " ", label(each.source), shown(each), place(each))
        for each in judgement.evidence
    ]
    if not rows:
        return []
    sources = max(len(source) for _, source, _, _ in rows)
    values = max(
        (len(value) for _, _, value, where in rows if where and len(value) <= VALUE_WIDTH), default=0
    )
    return [
        f"{mark} {source:<{sources}}  {value:<{values}}   {where}".rstrip()
        for mark, source, value, where in rows
    ]


def label(source: str) -> str:
    """A source's name in words."""
    return visible(source.replace("_", " "))


def shown(evidence: Evidence, width: int = LONGEST_VALUE) -> str:
    """The value in at most `width` letters, a dash for absent, or why the source is silent."""
    if evidence.reading == "silent":
        return f"silent: {visible(evidence.why or 'it does not say why')}"
    if evidence.reading == "absent":
        return "-"
    return shortened(spelled(evidence.value), LINE_WIDTH if evidence.source == JOURNAL else width)


def place(evidence: Evidence) -> str:
    """Where to look; a silent source has said why already."""
    return shortened(visible(evidence.where or ""), PLACE_WIDTH) if evidence.reading != "silent" else ""


def spelled(value: Json) -> str:
    """A value as text: a logged None as None, a switch as the profile spells it, structures as JSON."""
    if value is None:
        return "None"
    if isinstance(value, str):
        return visible(value) or '""'
    return visible(json.dumps(value, ensure_ascii=False, default=str))


def shortened(text: str, width: int) -> str:
    """Text of at most `width` characters, the middle left out: both ends tell most."""
    if len(text) <= width:
        return text
    tail = width // 3
    return f"{text[: width - tail - 1]}…{text[-tail:]}"


def visible(text: str) -> str:
    r"""Text in which nothing is hidden: control characters, direction marks and lone surrogates as \x1b or \u202e."""
    return "".join(_escaped(text))


def ended(text: str) -> str:
    """A sentence with its full stop, which may stand within its last quotation."""
    return text if text.endswith((".", "!", "?", "…", '."')) else f"{text}."


def _escaped(text: str) -> Iterator[str]:
    for letter in text:
        if unicodedata.category(letter) not in HIDDEN:
            yield letter
        elif ord(letter) < 0x100:
            yield {"\n": r"\n", "\r": r"\r", "\t": r"\t"}.get(letter, f"\\x{ord(letter):02x}")
        else:
            yield f"\\u{ord(letter):04x}" if ord(letter) < 0x10000 else f"\\U{ord(letter):08x}"
