"""`/server_info`: what SGLang answers about itself.

Law: the document is given; nobody asks for it here.
"""

from __future__ import annotations

from pytest_dflash.engines.dialect import Settings
from pytest_dflash.engines.sglang import flags
from pytest_dflash.engines.shapes import table, text
from pytest_dflash.facts.reading import Reading, Silent, Value
from pytest_dflash.findings import Json

PATHS = ("/server_info", "/get_server_info")
"""The new spelling first: the old one is a deprecation line in the engine's log since 0.5.10."""

_NOT_SETTINGS = frozenset(
    {
        "scheduler_info",
        "internal_states",
        "version",
        "startup_time",
        "kv_events",
        "launch_command",
        "frontend",
        "status",
        "max_total_num_tokens",
        "max_req_input_len",
    }
)


def settings(document: Json) -> Reading[Settings]:
    """The fields of the document, those that were changed at run time with the value of now."""
    if not isinstance(document, dict) or "model_path" not in document:
        return Silent("the answer is not SGLang's account of itself: it has no model_path")
    values = {flags.named(key): value for key, value in document.items() if key not in _NOT_SETTINGS}
    where = "/server_info"
    states = document.get("internal_states")
    first = states[0] if isinstance(states, list) and states else None
    if isinstance(first, dict):
        now = {flags.named(key): first[key] for key in document if key in first and key not in _NOT_SETTINGS}
        changed = sorted(name for name, value in now.items() if value != values[name])
        values |= now
        where += f" ({', '.join(changed)}: internal_states[0])" if changed else ""
    return Value(Settings(values, where, _spelled(document)), where)


def _spelled(document: dict[str, Json]) -> dict[str, str]:
    pairs = ((flags.named(key), key) for key in document)
    return {setting: key for setting, key in pairs if setting != key.replace("_", "-")}


def version(document: Json) -> str | None:
    """The engine's version, as it says."""
    return text(table(document).get("version"))
