"""Lines in which SGLang says what it does with a setting that somebody gave.

Law: a table of texts and what each means; the lines come in without their prefix.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from pytest_dflash.engines.dialect import Warning_
from pytest_dflash.engines.phrases import Phrases, Telling, kinds
from pytest_dflash.engines.sglang import flags
from pytest_dflash.engines.sglang.log_lines import spoken
from pytest_dflash.facts.journal import Journal

KINDS = kinds(
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
SUBJECTS = {
    "max-running-requests": re.compile(r"\bMax running requests\b"),
    "enable-mixed-chunk": re.compile(r"\bMixed chunked prefill\b"),
    "disable-overlap-schedule": re.compile(r"\bOverlap schedul(?:er|e|ing)\b"),
    "speculative-num-draft-tokens": re.compile(r"\bDFLASH block[_ ]size\b"),
    "speculative-draft-attention-backend": re.compile(
        r"\bdraft worker\b.*\battention_backend\b|\bdraft attention backend\b"
    ),
    "disable-cuda-graph": re.compile(r"\b[Cc]uda graph is disabled\b"),
    "chunked-prefill-size": re.compile(r"\bchunked prefill size\b"),
    "page-size": re.compile(r"\bpage[ _]size\b"),
}
TELLING = (
    Telling(
        re.compile(r"\bnon-greedy verification is unavailable on this build/device\b"),
        "0.5.11 to 0.5.23, source and a run on a CPU; said once, at the first request above temperature 0",
        about="sampling",
        cause="the kernel that verifies drafts by sampling is not in this build, or not for this device, so that every "
        "request is answered greedily, whatever temperature it asks for",
        remedy="serve by a build and on a device that has the kernel (SGLang's own CUDA wheels), or without speculation; "
        "until then send this host only requests at temperature 0",
    ),
    Telling(
        re.compile(
            r"^--speculative-draft-window-size has no effect with speculative_algorithm=(\w+) \(honored by ([^)]{1,200})\)"
        ),
        "0.5.13 to 0.5.23, source; from 0.5.21 on EAGLE on some draft backends is named too",
        about="",
        cause=r"the draft runner of \g<1> does not read --speculative-draft-window-size in this version",
        remedy=r"Take a version in which \g<1> honours --speculative-draft-window-size, an algorithm that honours it (this one "
        r"names \g<2>), or a drafter whose config.json has the window; then restart the unit. No other flag sets it here",
    ),
    Telling(
        re.compile(
            r"^Ignoring --speculative-draft-window-size\S*: this draft model has a (?:sliding|native) window"
        ),
        "0.5.21 to 0.5.23, source",
        about="",
        cause="the drafter's config.json has a window of its own, and it counts",
        remedy="take --speculative-draft-window-size out of the unit and restart it, and expect the window of the drafter's "
        'config.json: [window] via = "native"',
    ),
)
PHRASES = Phrases(
    KINDS,
    SUBJECTS,
    speaks_for_itself=re.compile(
        r"\bnon-greedy verification is unavailable\b|\bunrecognized arguments\b|\bSGLANG_\w+ has been removed\b"
    ),
    skipped=re.compile(r"^(?:(?:Receive|Finish)\b|Decode batch|Prefill batch|server_args=|usage:)"),
    named=flags.named,
    known=flags.kind,
    flag_first=True,
    telling=TELLING,
)


def notices(journal: Journal) -> Iterator[Warning_]:
    """The telling lines of an invocation, oldest first."""
    return PHRASES.notices((line.text, line.who, line.entry.pid) for line in spoken(journal))
