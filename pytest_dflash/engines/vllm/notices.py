"""Lines in which vLLM says what it does with a setting that somebody gave.

Law: a table of texts and what each means; the lines come in without their prefix.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from pytest_dflash.engines.dialect import Warning_
from pytest_dflash.engines.phrases import Phrases, kinds
from pytest_dflash.engines.vllm import flags
from pytest_dflash.engines.vllm.log_lines import spoken
from pytest_dflash.facts.journal import Journal

KINDS = kinds(
    ("resolved", r"\bYou can (?:set|use) `?--"),  # a hint, not a deed
    # Of each model that has sampling settings of its own; what a request says counts all the same.
    ("resolved", r"^Default (?:vLLM )?sampling parameters have been overridden by\b"),
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
SUBJECTS = {
    "speculative-config.max_model_len": re.compile(r"\bdraft model max model len\b"),
    "speculative-config.method": re.compile(r"^method `"),
    "enforce-eager": re.compile(r"^Enforce eager set\b"),
    "async-scheduling": re.compile(r"^Async scheduling\b"),
    "enable-chunked-prefill": re.compile(r"\b[Cc]hunked prefill\b"),
    "enable-prefix-caching": re.compile(r"\b[Pp]refix caching\b"),
}
PHRASES = Phrases(
    KINDS,
    SUBJECTS,
    speaks_for_itself=re.compile(
        r"^Found duplicate keys\b|\bunrecognized arguments\b|^Unknown vLLM environment variable\b"
    ),
    skipped=re.compile(
        r"^(?:non-default args|args): |^Initializing a V\d LLM engine|"
        r"Received request |HTTP/1\.\d|Engine \d+:|SpecDecoding metrics"
    ),
    named=flags.named,
    known=flags.kind,
)


def notices(journal: Journal) -> Iterator[Warning_]:
    """The telling lines of an invocation, oldest first."""
    return PHRASES.notices((line.text, line.who, line.entry.pid) for line in spoken(journal))
