"""Lines in which vLLM says what it does with a setting that somebody gave.

Law: a table of texts and what each means; the lines come in without their prefix.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from pytest_dflash.engines.dialect import Warning_
from pytest_dflash.engines.vllm import flags
from pytest_dflash.engines.vllm.log_lines import ARGS, CORE, Said, spoken
from pytest_dflash.facts.journal import Journal

KINDS: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (kind, re.compile(words, re.IGNORECASE))
    for kind, words in (
        ("resolved", r"\bYou can (?:set|use) `?--"),  # a hint, not a deed
        ("replaced", r"^Found duplicate keys\b"),
        ("ignored", r"^Unknown vLLM environment variable\b"),
        ("deprecated", r"\b(?:is|are|will be) deprecated\b|\bwill be removed in\b"),
        ("removed", r"\b(?:has|have) been removed\b|\bunrecognized arguments\b|\bno longer supported\b"),
        ("resolved", r"^Overriding draft model max model len\b|^max_num_scheduled_tokens is set to\b"),
        ("ignored", r"\bno effect\b|\b(?:is|are|be|being) ignored\b|\bignoring --"),
        ("resolved", r"\bis set to\b.*\bbased on\b|\bsetting \w+ to\b|^Enforce eager set\b"),
        ("fallback", r"\bfall(?:ing)? ?back to\b|\bwill be disabled\b|\bdisabling\b"),
        ("replaced", r"\boverrid(?:e|es|ing|den)\b|\b(?:is|was|are) reset to\b|\bforcing --"),
    )
)
"""What a line means by its words; the first that fits counts."""

ALARMING = frozenset({"ignored", "removed", "replaced"})

SUBJECTS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("speculative-config.max_model_len", re.compile(r"\bdraft model max model len\b")),
    ("speculative-config.method", re.compile(r"^method `")),
    ("enforce-eager", re.compile(r"^Enforce eager set\b")),
    ("async-scheduling", re.compile(r"^Async scheduling\b")),
    ("enable-chunked-prefill", re.compile(r"\b[Cc]hunked prefill\b")),
    ("enable-prefix-caching", re.compile(r"\b[Pp]refix caching\b")),
)
"""What a line speaks of where it does not name the flag or the field."""

SPEAKS_FOR_ITSELF = re.compile(
    r"^Found duplicate keys\b|\bunrecognized arguments\b|^Unknown vLLM environment variable\b"
)
"""Lines that matter although they name no setting that is known."""

_FLAG = re.compile(r"(?<![\w-])--([a-z][a-z0-9-]+)")
_FIELD = re.compile(r"(?<![\w.])([a-z][a-z0-9]*(?:_[a-z0-9]+)+)(?![\w(])")
_DATA = re.compile(r"Received request |HTTP/1\.\d|Engine \d+:|SpecDecoding metrics")


def notices(journal: Journal) -> Iterator[Warning_]:
    """Every such line of the invocation, each text once however many processes say it."""
    told: set[str] = set()
    for line in spoken(journal):
        if line.text not in told and (found := notice(line)):
            told.add(line.text)
            yield found


def notice(line: Said) -> Warning_ | None:
    """What one line says about a setting; None for one that says nothing of the kind."""
    text = line.text.strip()
    if len(text) > 2000 or ARGS.match(text) or CORE.match(text) or _DATA.search(text):
        return None
    kind = next((kind for kind, words in KINDS if words.search(text)), None)
    setting = subject(text)
    if kind is None or (setting is None and not SPEAKS_FOR_ITSELF.search(text)):
        return None
    who = line.who or "log"
    where = f"{who}, pid {line.entry.pid}" if line.entry.pid else who
    return Warning_(setting, text, where, kind, alarming=kind in ALARMING)


def subject(text: str) -> str | None:
    """The setting that a line is about: by its words, else a flag that it names, else a field that it names."""
    by_words = (setting for setting, words in SUBJECTS if words.search(text))
    return next(by_words, None) or _known(_FLAG.findall(text)) or _known(_FIELD.findall(text))


def _known(names: list[str]) -> str | None:
    settings = map(flags.named, names)
    return next((setting for setting in settings if flags.kind(setting)), None)
