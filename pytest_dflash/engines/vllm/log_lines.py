"""The lines that vLLM writes, without what a logger puts in front of them.

Law: one line in, what it says out; whose line it is and what it means for a setting is said elsewhere.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

from pytest_dflash.engines import lines
from pytest_dflash.engines.dialect import Decode
from pytest_dflash.engines.lines import Said
from pytest_dflash.facts.journal import Entry, Journal

_PREFIX = re.compile(
    r"""(?: \((?P<who>[A-Za-z][\w:.-]*)\ pid=(?P<pid>\d+)\)     # (EngineCore_DP0 pid=18294)
          | (?:TRACE|DEBUG|INFO|WARN|WARNING|ERROR|CRITICAL)\b:?
          | \d\d-\d\d\ \d\d:\d\d:\d\d(?:\.\d+)?               # 11-29 16:08:05
          | \d{4}-\d\d-\d\d[T ][\d:.,]+(?:Z|[+-]\d\d:?\d\d)?
          | \[[\w./-]+\.py:\d+\] | [\w./-]+\.py:\d+\]         # [core.py:133], and config.py:905] of older versions
        )\s*""",
    re.VERBOSE,
)
ARGS = re.compile(r"(?P<what>non-default args|args): (?P<open>\{|Namespace\()")
CORE = re.compile(r"Initializing a V\d LLM engine \(v(?P<version>[^)\s]+)\) with config: ")
SERVING = "Starting vLLM"
READY = "Application startup complete."
_STATS = re.compile(
    r"Engine (?P<rank>\d{1,9}): .*?Avg generation throughput: (?P<tps>[\d.]+) tokens/s, "
    r"Running: (?P<running>\d{1,9}) reqs, Waiting: (?P<queued>\d{1,9}) reqs"
)
_POSITIONS = re.compile(r"Per-position acceptance rate: (?P<rates>[\d., ]+)")
_DRAFTED = re.compile(r"Accepted: (?P<accepted>\d{1,18}) tokens, Drafted: (?P<drafted>\d{1,18}) tokens")
SPECULATION = "SpecDecoding metrics: "


def spoken(journal: Journal) -> Iterator[Said]:
    """The engine's own lines, oldest first; what pid 1 says about the unit is left out."""
    return lines.spoken(journal, said)


def said(entry: Entry) -> Said:
    """What a line says, its prefixes taken off."""
    text, who, at = entry.message.strip(), "", 0
    for _ in range(6):
        prefix = _PREFIX.match(text, at)
        if not prefix:
            break
        at = prefix.end()
        who = prefix["who"] or who
    return Said(text[at:], who, entry)


def decode_lines(journal: Journal) -> list[Decode]:
    """The statistics of each interval, with those of speculation, which are the next line of the same process.

    The accept length is one token (the bonus) and the rates of all positions: also right for versions whose own
    "Mean acceptance length" left out the bonus token (0.8.5; 0.9.2 counts it under the same words).
    """
    found: list[Decode] = []
    waiting: dict[str, Said] = {}
    for line in spoken(journal):
        if _STATS.match(line.text):
            waiting[line.who] = line
            found.append(_decode(line, None))
        elif line.text.startswith(SPECULATION) and (before := waiting.pop(line.who, None)):
            at = next(n for n in range(len(found) - 1, -1, -1) if found[n].at_us == before.entry.realtime_us)
            found[at] = _decode(before, line)
    return found


def _decode(line: Said, speculation: Said | None) -> Decode:
    stats = _STATS.match(line.text)
    assert stats is not None
    rates = _POSITIONS.search(speculation.text) if speculation else None
    drafts = _DRAFTED.search(speculation.text) if speculation else None
    drafted = int(drafts["drafted"]) if drafts else 0
    return Decode(
        at_us=line.entry.realtime_us,
        rank=f"DP{int(stats['rank'])}",
        running=int(stats["running"]),
        queued=int(stats["queued"]),
        accept_len=_accept_len(rates["rates"]) if rates else None,
        accept_rate=int(drafts["accepted"]) / drafted if drafts and drafted else None,
        graph=None,
        tokens_per_s=_number(stats["tps"]),
    )


def _accept_len(rates: str) -> float | None:
    numbers = [_number(rate) for rate in rates.split(",") if rate.strip()]
    return None if None in numbers or not numbers else 1 + sum(n for n in numbers if n is not None)


def _number(text: str) -> float | None:
    try:
        found = float(text)
    except ValueError:
        return None
    return found if math.isfinite(found) else None
