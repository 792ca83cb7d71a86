"""The lines that SGLang writes, without what a logger puts in front of them.

Law: one line in, what it says out; whose line it is and what it means for a setting is said elsewhere.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass

from pytest_dflash.engines import lines
from pytest_dflash.engines.dialect import Decode
from pytest_dflash.engines.lines import Said
from pytest_dflash.engines.literals import plain
from pytest_dflash.engines.words import typed
from pytest_dflash.facts.journal import Entry, Journal
from pytest_dflash.findings import Json

_PREFIX = re.compile(
    r"""(?: \[(?P<bracket>[^\[\]]{1,120})\]              # [2026-11-29 16:14:22.123 DP0 TP0], [mixin.py:287]
          | \d{4}-\d\d-\d\d[T ][\d:.,]+(?:Z|[+-]\d\d:?\d\d)?   # 2025-12-04 20:35:53,123
          | (?:TRACE|DEBUG|INFO|WARN|WARNING|ERROR|CRITICAL)\b:?
          | \d+(?=\ \[)                                 # a pid before [mixin.py:287]
          | \([^()]{1,60}\)(?=\ )                       # (APIServer pid=8267)
          | [\w./-]+\.py:\d+\]?:?
          | sglang(?:\.\w+)*(?::(?=\S)|(?=\ -\ ))        # a logger's name
          | -(?=\ )
        )\s*""",
    re.VERBOSE,
)
_RANK = re.compile(r"\b(?:DP|PP|ATTN_CP|MOE_DP|TP|EP)\d+\b")
_TEXT_KEYS = ("message", "msg", "event")

_RUNNER = re.compile(
    r"Initialized (?P<algorithm>\w+) (?P<what>draft runner|worker)\. ?(?P<rest>.*)", re.DOTALL
)
_PAIR = re.compile(r"(\w+)=(.*?)(?=, \w+=|\.?\s*$)", re.DOTALL)
READY = "The server is fired up and ready to roll!"

_DECODE = re.compile(r"Decode batch(?: \[\d+\])?[.,] (?P<rest>#running-req: .*)", re.DOTALL)
_PART = re.compile(r"(#?[A-Za-z][\w /()#-]*?): (-?[\d.]+|True|False)(?=,|\s|$)")
_EFFECTIVE = re.compile(r"max_total_num_tokens=\d+, .*")


@dataclass(frozen=True, slots=True)
class RunnerLine:
    """`Initialized ALGORITHM draft runner. k=v, …` (what: "draft runner") or `… worker. k=v, …`."""

    algorithm: str
    what: str
    pairs: dict[str, Json]
    rank: str
    message: str


def spoken(journal: Journal) -> Iterator[Said]:
    """The engine's own lines, oldest first; what pid 1 says about the unit is left out."""
    return lines.spoken(journal, said)


def said(entry: Entry) -> Said:
    """What a line says and which rank says it: prefixes taken off, and out of its JSON where the log is JSON."""
    text, rank = entry.message.strip(), ""
    if text.startswith("{") and text.endswith("}"):
        text = _from_json(text)
    at = 0
    for _ in range(8):
        prefix = _PREFIX.match(text, at)
        if not prefix:
            break
        at = prefix.end()
        if found := _RANK.findall(prefix["bracket"] or ""):
            rank = " ".join(found)
    return Said(text[at:], rank, entry)


def _from_json(text: str) -> str:
    try:
        record = json.loads(text)
    except (ValueError, RecursionError):
        return text
    found = next((record[key] for key in _TEXT_KEYS if isinstance(record.get(key), str)), None)
    return text if found is None else str(found)


def runner_line(line: Said) -> RunnerLine | None:
    """The line by which a draft runner, or a tree worker on top of one, says what it was built with."""
    found = _RUNNER.match(line.text)
    if not found:
        return None
    pairs = {key: _word(value) for key, value in _PAIR.findall(found["rest"])}
    return RunnerLine(found["algorithm"], found["what"], pairs, line.who, line.text)


def decode_line(line: Said) -> Decode | None:
    """A decode line, in any of its shapes; None for another line."""
    found = _DECODE.match(line.text)
    if not found:
        return None
    parts = dict(_PART.findall(found["rest"]))
    graph = next((value for key, value in parts.items() if key.endswith(" graph")), None)
    return Decode(
        at_us=line.entry.realtime_us,
        rank=line.who,
        running=_whole(parts.get("#running-req")) or 0,
        queued=_whole(parts.get("#queue-req")),
        accept_len=_number(parts.get("accept len")),
        accept_rate=_number(parts.get("accept rate")),
        graph=None if graph is None else graph == "True",
        tokens_per_s=_number(parts.get("gen throughput (token/s)")),
    )


def effective_line(line: Said) -> dict[str, Json] | None:
    """`max_total_num_tokens=…, chunked_prefill_size=…, …`: what the first scheduler settled on."""
    if not _EFFECTIVE.match(line.text):
        return None
    return {key: _word(value) for key, value in _PAIR.findall(line.text)}


def _word(text: str) -> Json:
    known: dict[str, Json] = {"None": None, "True": True, "False": False}
    bare = text.strip().strip("'\"")
    return known[bare] if bare in known else plain(typed(bare))


def _number(text: str | None) -> float | None:
    try:
        found = float(text) if text is not None else math.nan
    except ValueError:
        return None
    return found if math.isfinite(found) else None


def _whole(text: str | None) -> int | None:
    number = _number(text)
    return None if number is None else int(number)
