"""llama-server's command line as settings.

Law: words in, settings out. A setting has the name of the newest spelling; flags that only the model's choice or the
terminal needs keep their own.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from pytest_dflash.engines.dialect import Settings
from pytest_dflash.engines.launch import Launch, launch
from pytest_dflash.engines.literals import plain
from pytest_dflash.engines.words import typed
from pytest_dflash.findings import Json

SERVER = "llama-server"
NEWEST = {
    "m": "model", "a": "alias", "c": "ctx-size", "np": "parallel", "b": "batch-size", "ub": "ubatch-size",
    "t": "threads", "tb": "threads-batch", "ngl": "n-gpu-layers", "gpu-layers": "n-gpu-layers", "fa": "flash-attn",
    "ctk": "cache-type-k", "ctv": "cache-type-v", "ts": "tensor-split", "sm": "split-mode", "mg": "main-gpu",
    "dev": "device", "cram": "cache-ram", "s": "seed", "to": "timeout", "lv": "log-verbosity", "kvu": "kv-unified",
    "verbosity": "log-verbosity", "sps": "slot-prompt-similarity", "cb": "cont-batching",
    "md": "spec-draft-model", "model-draft": "spec-draft-model",
    "draft": "spec-draft-n-max", "draft-n": "spec-draft-n-max", "draft-max": "spec-draft-n-max",
    "draft-min": "spec-draft-n-min", "draft-n-min": "spec-draft-n-min",
    "draft-p-min": "spec-draft-p-min", "draft-p-split": "spec-draft-p-split",
    "ngld": "spec-draft-ngl", "gpu-layers-draft": "spec-draft-ngl", "n-gpu-layers-draft": "spec-draft-ngl",
    "devd": "spec-draft-device", "device-draft": "spec-draft-device",
    "ctkd": "spec-draft-type-k", "cache-type-k-draft": "spec-draft-type-k",
    "ctvd": "spec-draft-type-v", "cache-type-v-draft": "spec-draft-type-v",
    "hfd": "spec-draft-hf", "hfrd": "spec-draft-hf", "hf-repo-draft": "spec-draft-hf",
    "td": "spec-draft-threads", "threads-draft": "spec-draft-threads",
}  # fmt: skip
"""Other spellings. `--draft-max` and its like were renamed in 2026; builds since then refuse them by name."""
_OFF = re.compile(r"--no-(.+)")
TOGGLES = frozenset(
    {
        "cache-prompt",
        "cont-batching",
        "context-shift",
        "jinja",
        "kv-unified",
        "mmap",
        "slots",
        "warmup",
        "webui",
        "ui",
    }
)
"""Switches with a `--no-` form."""


def named(flag: str) -> str:
    """The setting behind a spelling."""
    name = flag.lstrip("-").replace("_", "-")
    return NEWEST.get(name, name)


def entry(argv: Sequence[str]) -> Launch | None:
    """The command that starts the server, with its words; None when none does. In wheels it is a script."""
    return launch(argv, lambda program: program.words if program.base == SERVER else None)


def settings(argv: Sequence[str]) -> Settings:
    """The settings of a command line; not complete where a shell expands variables in it, or it starts no server."""
    found = entry(argv)
    if found is None:
        return Settings({}, "no llama-server in this command line", {}, complete=False)
    words = found.words
    values: dict[str, Json] = {}
    spelled: dict[str, str] = {}
    for at, word in enumerate(words):
        if not _is_flag(word):
            continue
        name, value = named(word), _value(words[at + 1 : at + 2])
        off = _OFF.fullmatch(word)
        if off and off[1] in TOGGLES:
            name, value = off[1], False
        values[name] = value
        spelled.pop(name, None)
        if word.lstrip("-") != name:
            spelled[name] = word.lstrip("-")
    return Settings(values, "command line", spelled, complete=found.certain(words))


def _is_flag(word: str) -> bool:
    return word.startswith("-") and not re.fullmatch(r"-|-\d+(\.\d+)?", word)


def _value(after: Sequence[str]) -> Json:
    return plain(typed(after[0])) if after and not _is_flag(after[0]) else True
