"""Lines in which SGLang says what it does with a setting that somebody gave.

Law: a table of texts and what each means; the lines come in without their prefix.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from pytest_dflash.engines.dialect import Warning_
from pytest_dflash.engines.sglang import flags
from pytest_dflash.engines.sglang.log_lines import Said, spoken
from pytest_dflash.facts.journal import Journal

KINDS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("deprecated", re.compile(r"\bis deprecated\b|\bwill be deprecated\b")),
    (
        "removed",
        re.compile(r"\b(?:has|have) been removed\b|\bunrecognized arguments\b|\bno longer supported\b"),
    ),
    ("ignored", re.compile(r"\bno effect\b|\bno-op\b|\b(?:is|are|be|being) ignored\b|\bignoring --")),
    ("resolved", re.compile(r"\bonly supports \w+ == 1; overriding\b|\bis reset to \d+ for speculative\b")),
    (
        "resolved",
        re.compile(
            r"\bis adjusted to\b|\bis not set; defaulting\b|\bbecause of using dflash\b|, chang\w+ page_?"
        ),
    ),
    ("replaced", re.compile(r"\b[Ff]ailed to infer\b.*\bdefaulting\b|\bblock size mismatch\b")),
    ("replaced", re.compile(r"\bfalling back to greedy\b|\bfalling back to static speculative\b")),
    ("fallback", re.compile(r"\b[Ff]all(?:ing)? ?back to\b")),
    (
        "replaced",
        re.compile(r"\boverrid(?:e|es|ing|den)\b|\b(?:is|was|are) reset to\b|\bforcing --|\bforced to\b"),
    ),
    (
        "replaced",
        re.compile(
            r"^speculative_adaptive disabled\b|\b(?:is|are) (?:forcibly )?disabled (?:because|when)\b"
        ),
    ),
)
"""What a line means by its words; the first that fits counts."""

ALARMING = frozenset({"ignored", "removed", "replaced"})
"""The others are the engine's own business: a deprecated spelling still works, and a resolved value is legal."""

SUBJECTS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("max-running-requests", re.compile(r"\bMax running requests\b")),
    ("enable-mixed-chunk", re.compile(r"\bMixed chunked prefill\b")),
    ("disable-overlap-schedule", re.compile(r"\bOverlap schedul(?:er|e|ing)\b")),
    ("speculative-num-draft-tokens", re.compile(r"\bDFLASH block[_ ]size\b")),
    (
        "speculative-draft-attention-backend",
        re.compile(r"\bdraft worker\b.*\battention_backend\b|\bdraft attention backend\b"),
    ),
    ("disable-cuda-graph", re.compile(r"\b[Cc]uda graph is disabled\b")),
    ("chunked-prefill-size", re.compile(r"\bchunked prefill size\b")),
    ("page-size", re.compile(r"\bpage[ _]size\b")),
)
"""What a line speaks of where it does not name the flag or the field."""

SPEAKS_FOR_ITSELF = re.compile(
    r"\bnon-greedy verification is unavailable\b|\bunrecognized arguments\b|\bSGLANG_\w+ has been removed\b"
)
"""Lines that matter although they are about no setting."""

_FLAG = re.compile(r"(?<![\w-])--([a-z][a-z0-9-]+)")
_FIELD = re.compile(r"(?<![\w.])([a-z][a-z0-9]*(?:_[a-z0-9]+)+)(?![\w(])")
_REQUEST = re.compile(r"(?:Receive|Finish)\b|Decode batch|Prefill batch|server_args=|usage:")
_INNOCENT = {
    "resolved": frozenset({"disable-cuda-graph"}),
    "replaced": frozenset({"disable-overlap-schedule", "disable-cuda-graph"}),
}


def notices(journal: Journal) -> Iterator[Warning_]:
    """The telling lines of an invocation, each text once, oldest first."""
    seen: set[str] = set()
    for line in spoken(journal):
        found = notice(line)
        if found and found.message not in seen:
            seen.add(found.message)
            yield found


def notice(line: Said) -> Warning_ | None:
    """What one line says about a setting; None when it says nothing of the kind."""
    text = line.text.strip()
    if len(text) > 2000 or _REQUEST.match(text):
        return None
    kind = next((kind for kind, words in KINDS if words.search(text)), None)
    setting = subject(text)
    if kind is None or (setting is None and not SPEAKS_FOR_ITSELF.search(text)):
        return None
    if setting in _INNOCENT.get(kind, ()):
        kind = "resolved"  # the engine's own doing, and the setting's value shows it
    where = f"{line.rank or 'log'}, pid {line.entry.pid}" if line.entry.pid else line.rank or "log"
    return Warning_(setting, text, where, kind, alarming=kind in ALARMING)


def subject(text: str) -> str | None:
    """The setting that a line is about: a flag that it names first, else a field, else by its words."""
    for names in (_FLAG.findall(text), _FIELD.findall(text)):
        for name in names:
            if flags.kind(setting := flags.named(name)):
                return setting
        if names and names[0] in text and text.startswith(("--", "'--")):
            return flags.named(names[0])
    return next((setting for setting, words in SUBJECTS if words.search(text)), None)
