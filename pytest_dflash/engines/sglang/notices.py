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

KINDS: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (kind, re.compile(words, re.IGNORECASE))
    for kind, words in (
        ("deprecated", r"\b(?:is|will be) deprecated\b"),
        ("removed", r"\b(?:has|have) been removed\b|\bunrecognized arguments\b|\bno longer supported\b"),
        ("ignored", r"\bno effect\b|\bno-op\b|\b(?:is|are|be|being) ignored\b|\bignoring --"),
        (
            "replaced",
            r"^speculative_adaptive disabled\b|\bfailed to infer\b.*\bdefaulting\b|\bblock size mismatch\b",
        ),
        ("replaced", r"\bfalling back to (?:greedy|static speculative)\b"),
        ("resolved", r"\bonly supports \w+ == 1; overriding\b|\bis reset to \d+ for speculative\b"),
        ("resolved", r"\bis adjusted to\b|\bis not set; defaulting\b|, chang(?:e|ing) page_?size\b"),
        ("resolved", r"\bis (?:forcibly )?disabled (?:because|when)\b|^Overriding draft attention backend\b"),
        ("fallback", r"\bfall(?:ing)? ?back to\b"),
        ("replaced", r"\boverrid(?:e|es|ing|den)\b|\b(?:is|was|are) reset to\b|\bforcing --|\bforced to\b"),
    )
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
    where = f"{line.rank or 'log'}, pid {line.entry.pid}" if line.entry.pid else line.rank or "log"
    return Warning_(setting, text, where, kind, alarming=kind in ALARMING)


def subject(text: str) -> str | None:
    """The setting that a line is about: a flag that it names, else by its words, else a field that it names."""
    by_words = (setting for setting, words in SUBJECTS if words.search(text))
    return _known(_FLAG.findall(text)) or next(by_words, None) or _known(_FIELD.findall(text))


def _known(names: list[str]) -> str | None:
    settings = map(flags.named, names)
    return next((setting for setting in settings if flags.kind(setting)), None)
