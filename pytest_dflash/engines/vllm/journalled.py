"""What the log of one invocation says about settings, and when its silence means something.

Law: journal in, readings out. vLLM prints what differs from its defaults, and the engine core prints a part of what
came of it; the core's word is the later one. "Not there" is claimed only of a log that reaches back to the start.
"""

from __future__ import annotations

from collections.abc import Sequence

from pytest_dflash.engines import lines
from pytest_dflash.engines.dialect import Settings
from pytest_dflash.engines.lines import Said, of_pid
from pytest_dflash.engines.literals import printed
from pytest_dflash.engines.vllm import attention, flags, json_flags
from pytest_dflash.engines.vllm.log_lines import ARGS, CORE, READY, spoken
from pytest_dflash.facts.journal import Journal
from pytest_dflash.facts.reading import Absent, Reading, Silent, Value
from pytest_dflash.findings import Json

NOT_SETTINGS = frozenset({"model_tag", "subparser", "dispatch_function", "command", "config"})

CORE_NAMES = {
    "model": "model",
    "tokenizer": "tokenizer",
    "skip_tokenizer_init": "skip-tokenizer-init",
    "tokenizer_mode": "tokenizer-mode",
    "trust_remote_code": "trust-remote-code",
    "dtype": "dtype",
    "max_seq_len": "max-model-len",
    "load_format": "load-format",
    "tensor_parallel_size": "tensor-parallel-size",
    "pipeline_parallel_size": "pipeline-parallel-size",
    "decode_context_parallel_size": "decode-context-parallel-size",
    "disable_custom_all_reduce": "disable-custom-all-reduce",
    "quantization": "quantization",
    "enforce_eager": "enforce-eager",
    "kv_cache_dtype": "kv-cache-dtype",
    "seed": "seed",
    "served_model_name": "served-model-name",
    "enable_prefix_caching": "enable-prefix-caching",
    "enable_chunked_prefill": "enable-chunked-prefill",
}
"""The core's words for settings; its others are no flags, or whole configurations filled up with defaults.

Not its `data_parallel_size`: each core of a dense model runs by itself and says 1, of however many (seen on 0.32.0).
"""

SPECULATION = {
    "method": "speculative-config.method",
    "model": "speculative-config.model",
    "num_spec_tokens": "speculative-config.num_speculative_tokens",
}
"""What the engine core, which holds the drafter, says of its speculation."""


def last_start(journal: Journal) -> tuple[Said | None, Sequence[Said]]:
    """The newest line with the arguments, and all lines after it; all lines of the log where there is none."""
    return lines.last_start(list(spoken(journal)), ARGS.match)


def args_log(journal: Journal) -> Reading[Settings]:
    """What the API server printed, with what the engine core made of it."""
    line, after = last_start(journal)
    core = _core(after)
    if line is None:
        if unheard := journal.unproving:
            return Silent(unheard)
        if not any(READY in each.text or CORE.match(each.text) for each in after):
            return Silent("the engine has not printed its settings yet, or its log level hides them")
        return Absent(f"log of invocation {journal.invocation_id}")
    start = ARGS.match(line.text)
    assert start is not None
    fields, whole = printed(line.text, start.end())
    if not fields and not whole:
        return Silent("the line with the arguments cannot be read", start["what"] + of_pid(line))
    values: dict[str, Json] = {}
    spelled: dict[str, str] = {}
    for key, value in fields.items():
        if key in NOT_SETTINGS:
            continue
        setting = flags.named(key)
        values |= json_flags.flat(setting, value)
        if setting != key.replace("_", "-"):
            spelled[setting] = key
    where = start["what"] + of_pid(line) + ("" if whole else ", cut off")
    if core is not None:
        values |= {CORE_NAMES[key]: value for key, value in core[1].items() if key in CORE_NAMES}
        where += f", and the engine core{of_pid(core[0])}"
    if used := attention.backend(after):
        values[attention.SETTING] = used[0]
    return Value(Settings(values, where, spelled, whole), where)


def draft_runner(journal: Journal) -> Reading[Settings]:
    """What the engine core says of the speculation that it was built with: method, draft model, tokens.

    Where cores of several replicas say different things, the odd one out is returned.
    """
    line, after = last_start(journal)
    cores = [core for core in map(_as_core, after) if core]
    if cores:
        said = [core[1].get("speculative_config") for core in cores]
        odd = min(range(len(said)), key=lambda at: said.count(said[at]))
        where = f"speculative_config= of {cores[odd][0].who or 'the engine core'}"
        config = said[odd]
        if not isinstance(config, dict):
            return Absent(where) if config is None else Silent("it cannot be read", where)
        values = {SPECULATION[key]: value for key, value in config.items() if key in SPECULATION}
        return Value(Settings(values, where, {}), where)
    if unheard := journal.unproving:
        return Silent(unheard)
    if line and any(READY in each.text for each in after):
        return Absent(f"log of invocation {journal.invocation_id}")
    return Silent(
        "the engine core has not said anything yet: the start is not over, or the log level hides it"
    )


def effective(journal: Journal) -> Reading[Settings]:
    """What the engine core settled on."""
    core = _core(last_start(journal)[1])
    if core is None:
        return Silent(journal.unproving or "the engine core has not said yet what it was built with")
    values = {CORE_NAMES[key]: value for key, value in core[1].items() if key in CORE_NAMES}
    return Value(Settings(values, "the engine core", {}), "the engine core")


def version(journal: Journal) -> str | None:
    """The version that the newest engine core says it is."""
    found = [match["version"] for line in spoken(journal) if (match := CORE.match(line.text))]
    return found[-1] if found else None


def _core(after: Sequence[Said]) -> tuple[Said, dict[str, Json]] | None:
    return next((core for core in map(_as_core, reversed(after)) if core), None)


def _as_core(line: Said) -> tuple[Said, dict[str, Json]] | None:
    found = CORE.match(line.text)
    return (line, printed(line.text + ")", found.end())[0]) if found else None
