"""What an engine's lines say about a setting, by tables of its phrases.

Law: how the tables are read; the phrases stand with their engine.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from pytest_dflash.engines.dialect import Warning_

ALARMING = frozenset({"ignored", "removed", "replaced"})
"""The others are the engine's own business: a deprecated spelling still works, and a resolved value is legal."""
LONGEST = 2000
_FLAG = re.compile(r"(?<![\w-])--([a-z][a-z0-9-]+)")
_FIELD = re.compile(r"(?<![\w.])([a-z][a-z0-9]*(?:_[a-z0-9]+)+)(?![\w(])")


@dataclass(frozen=True, slots=True)
class Telling:
    r"""A line that is known: what it explains, and better than by its kind what to do.

    Attributes:
        text: Fits the line.
        versions: Those of the engine that say it, and where that was seen.
        about: How the names of the checks begin that it explains, behind their area; "" for none.
        cause, remedy: What it means and what to do; `\g<1>` stands for what the first group of `text` found.
    """

    text: re.Pattern[str]
    versions: str
    about: str
    cause: str
    remedy: str

    def about_this(self, line: str) -> Telling:
        """The same with what this line says where its groups are named."""
        found = self.text.search(line)
        return (
            replace(self, cause=found.expand(self.cause), remedy=found.expand(self.remedy)) if found else self
        )


UNKNOWN = Telling(re.compile(""), "", about="", cause="", remedy="")


@dataclass(frozen=True, slots=True)
class Phrases:
    """The phrases of one engine.

    Attributes:
        kinds: What a line means by its words; the first that fits counts.
        subjects: What a line speaks of where it does not name the flag or the field.
        speaks_for_itself: Lines that matter although they are about no setting.
        skipped: Lines of requests and listings, which quote anything.
        named: The setting behind a flag or a field. known: whether it is one.
        flag_first: Whether a flag that a line names counts before its words.
        telling: Lines that are known one by one.
    """

    kinds: tuple[tuple[str, re.Pattern[str]], ...]
    subjects: Mapping[str, re.Pattern[str]]
    speaks_for_itself: re.Pattern[str]
    skipped: re.Pattern[str]
    named: Callable[[str], str]
    known: Callable[[str], object]
    flag_first: bool = False
    telling: tuple[Telling, ...] = ()

    def notices(self, lines: Iterable[tuple[str, str, int | None]]) -> Iterator[Warning_]:
        """The telling ones of these lines (text, speaker, pid), each text once however many processes say it."""
        told: set[str] = set()
        for text, who, pid in lines:
            found = self.notice(text.strip(), who or "log", pid)
            if found and found.message not in told:
                told.add(found.message)
                yield found

    def notice(self, text: str, who: str, pid: int | None) -> Warning_ | None:
        """What one line says about a setting; None when it says nothing of the kind."""
        if len(text) > LONGEST or self.skipped.search(text):
            return None
        kind = next((kind for kind, words in self.kinds if words.search(text)), None)
        setting = self.subject(text)
        if kind is None or (setting is None and not self.speaks_for_itself.search(text)):
            return None
        where = f"{who}, pid {pid}" if pid else who
        known = next((each for each in self.telling if each.text.search(text)), UNKNOWN).about_this(text)
        return Warning_(setting, text, where, kind, kind in ALARMING, known.about, known.cause, known.remedy)

    def subject(self, text: str) -> str | None:
        """The setting that a line is about: by its words, by a flag that it names, else by a field that it names."""
        by_words = next((setting for setting, words in self.subjects.items() if words.search(text)), None)
        by_flag = self._known(_FLAG.findall(text))
        first, second = (by_flag, by_words) if self.flag_first else (by_words, by_flag)
        return first or second or self._known(_FIELD.findall(text))

    def _known(self, names: Iterable[str]) -> str | None:
        return next((setting for setting in map(self.named, names) if self.known(setting)), None)


def kinds(*table: tuple[str, str]) -> tuple[tuple[str, re.Pattern[str]], ...]:
    """A table of kinds and their words, case ignored."""
    return tuple((kind, re.compile(words, re.IGNORECASE)) for kind, words in table)
