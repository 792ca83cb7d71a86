"""What the log of one invocation says about settings, and when its silence means something.

Law: journal in, readings out. "Not there" is claimed only of a log that is whole, reaches back to the start,
and shows lines that come later: SGLang writes all of them at level info, so a log without any proves nothing.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from pytest_dflash.engines import lines
from pytest_dflash.engines.dialect import Settings
from pytest_dflash.engines.lines import Said
from pytest_dflash.engines.sglang import args_line, flags
from pytest_dflash.engines.sglang.log_lines import (
    READY,
    RunnerLine,
    effective_line,
    runner_line,
    spoken,
)
from pytest_dflash.facts.journal import Journal
from pytest_dflash.facts.reading import Absent, Reading, Silent, Value
from pytest_dflash.findings import Json

RUNNER_SETTINGS: dict[str, dict[str, str]] = {
    "DFLASH": {"block_size": "speculative-num-draft-tokens"},
    "DSPARK": {
        "gamma": "speculative-dspark-block-size",
        "verify_num_draft_tokens": "speculative-num-draft-tokens",
    },
}
"""What a runner's words mean under one algorithm only."""

RUNNER_COMMON = {
    "draft_window_size": "speculative-draft-window-size",
    "attention_backend": "speculative-draft-attention-backend",
    "tree_budget": "speculative-ddtree-budget",
}

WITHOUT_RUNNER_LINE = frozenset({"EAGLE", "EAGLE3", "NEXTN", "STANDALONE", "NGRAM", "FROZEN_KV_MTP", "UNO"})
"""Algorithms that build their draft runner in silence. Source: speculative/*_worker*.py of 0.5.23."""

_AFTER_ARGS = re.compile(
    r"Load weight |Init torch distributed|Init parallel|KV Cache is |max_total_num_tokens="
)


def said_by_runner(algorithm: str) -> frozenset[str]:
    """The settings that the draft runner's line tells under an algorithm ("": not known)."""
    if algorithm in WITHOUT_RUNNER_LINE:
        return frozenset()
    said = {*RUNNER_COMMON.values(), *RUNNER_SETTINGS.get(algorithm, {}).values()}
    return frozenset(said - {"speculative-draft-window-size"} if algorithm == "DSPARK" else said)


def last_start(journal: Journal) -> tuple[Said | None, Sequence[Said]]:
    """The newest `server_args=` line, and all lines after it; all lines of the log where there is none."""
    return lines.last_start(list(spoken(journal)), lambda text: text.startswith("server_args="))


def server_args(journal: Journal) -> Reading[Settings]:
    """The settings that the engine printed when it had resolved them."""
    said, after = last_start(journal)
    parsed = args_line.parse(said.text) if said else None
    if said and parsed and parsed.fields:
        values = {flags.named(key): value for key, value in parsed.fields.items()}
        spelled = {
            flags.named(key): key for key in parsed.fields if flags.named(key) != key.replace("_", "-")
        }
        where = _where(journal, "server_args=", said) + ("" if parsed.whole else ", cut off")
        return Value(Settings(values, where, spelled, parsed.whole), where)
    if said:
        return Silent("the server_args line cannot be read", _where(journal, "server_args=", said))
    if unheard := journal.unproving:
        return Silent(unheard)
    if any(
        not line.entry.message for line in after
    ):  # journalctl -o json leaves out long texts without --all
        return Silent("a line of the log was read without its text")
    if any(_AFTER_ARGS.match(line.text) or line.text.startswith(READY) for line in after):
        return Absent(f"log of invocation {journal.invocation_id}")
    return Silent("the engine has not printed its settings yet, or its log level hides them")


def draft_runner(journal: Journal) -> Reading[Settings]:
    """What the draft runner of this start says that it was built with.

    Where several replicas say different things, the odd one out is returned and named.
    """
    said, after = last_start(journal)
    found = [line for line in map(runner_line, after) if line]
    if found:
        when = next(journal.after_start(line.entry) for line in after if runner_line(line))
        return _together(found, when)
    if unheard := journal.unproving:
        return Silent(unheard)
    if said and any(READY in line.text for line in after):
        return Absent(f"log of invocation {journal.invocation_id}")
    return Silent("no draft runner has said anything yet: the start is not over, or the log level hides it")


def _together(found: Sequence[RunnerLine], when: str) -> Reading[Settings]:
    by_key: dict[str, list[tuple[Json, RunnerLine]]] = {}
    for line in found:
        for key, value in _settings(line, found).items():
            if line.what == "worker" and any(one.what != "worker" for _, one in by_key.get(key, ())):
                continue  # the runner itself says it better
            by_key.setdefault(key, []).append((value, line))
    values: dict[str, Json] = {}
    odd: list[str] = []
    for key, said in by_key.items():
        counts = Counter(repr(value) for value, _ in said)
        rarest = min(reversed(said), key=lambda pair: counts[repr(pair[0])])
        values[key] = rarest[0]
        if len(counts) > 1:
            odd.append(f"{key} differs on {rarest[1].rank or 'one replica'}")
    first = next((line for line in found if line.what != "worker"), found[0])
    where = (
        (f"{when}: " if when else "")
        + f"Initialized {first.algorithm} {first.what}"
        + (f" [{first.rank}]" if first.rank else "")
    )
    where += f" ({'; '.join(odd)})" if odd else ""
    return Value(Settings(values, where, {}), where)


def _settings(line: RunnerLine, found: Sequence[RunnerLine]) -> dict[str, Json]:
    """A runner's words by setting; its others under their own name. A tree on top verifies more than a block."""
    tree = any(one.what == "worker" for one in found)
    own = {} if tree else RUNNER_SETTINGS.get(line.algorithm.upper(), {})
    names = {**RUNNER_COMMON, **own}
    return {names.get(key, key.replace("_", "-")): value for key, value in line.pairs.items()}


def effective(journal: Journal) -> Reading[Settings]:
    """What the first scheduler settled on once it knew the memory: tokens in the pool, batch, context length."""
    _, after = last_start(journal)
    for line in reversed(after):
        if found := effective_line(line):
            values = {flags.named(key): value for key, value in found.items()}
            return Value(Settings(values, _where(journal, "max_total_num_tokens=", line), {}), line.text)
    return Silent(journal.unproving or "the scheduler has not said yet what it settled on")


def _where(journal: Journal, what: str, said: Said) -> str:
    when = journal.after_start(said.entry)
    return (f"{when}: " if when else "") + what + lines.of_pid(said)
