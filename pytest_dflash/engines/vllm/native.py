"""The window that a DFlash drafter brings along in its own config.json, as vLLM honours it.

Law: the config and the version are given. vLLM has no flag for it: the drafter's config alone decides.
Source: model_executor/models/qwen3_dflash.py, `_resolve_layer_attention`.
"""

from __future__ import annotations

from packaging.version import Version

from pytest_dflash.engines.shapes import count, table
from pytest_dflash.facts.reading import Absent, Reading, Silent, Value
from pytest_dflash.findings import Json

HONOURED_FROM = Version("0.25.1")
"""The oldest version looked at whose DFlash layers slide; 0.23.0 gives all of them full attention, and says nothing."""
IGNORED_UP_TO = Version("0.23.0")

_WHERE = "config.json of the drafter"


def window(config: Json, version: Version | None) -> Reading[int]:
    """Tokens, the current one included.

    Absent: no layer slides, or this version ignores it. Silent: the config cannot say, or nobody knows the version.
    """
    if not isinstance(config, dict):
        return Silent("the drafter's config is not a JSON object", _WHERE)
    dflash = table(config.get("dflash_config"))
    layers = config.get("layer_types")
    if layers is not None and not isinstance(layers, list):
        return Silent("layer_types is not a list", _WHERE)
    if "sliding_attention" not in (layers or ()) and not dflash.get("use_swa"):
        return Absent(f"{_WHERE}: no layer is sliding_attention, and dflash_config.use_swa is not set")
    key = "dflash_config.swa_window_size" if "swa_window_size" in dflash else "sliding_window"
    size = dflash.get("swa_window_size", config.get("sliding_window"))
    if (tokens := count(size)) is None or tokens <= 0:
        return Silent(f"layers slide, but {key} is {size!r}", _WHERE)
    if version is not None and version <= IGNORED_UP_TO:
        return Absent(
            f"{_WHERE}: {key} is {size}, but vLLM {version} ignores it (seen honoured from {HONOURED_FROM})"
        )
    if version is None or version < HONOURED_FROM:
        known = (
            "the engine's version is not known"
            if version is None
            else f"whether vLLM {version} does is not known"
        )
        return Silent(f"{key} is {size}, but {known} (seen honoured from {HONOURED_FROM})", _WHERE)
    return Value(tokens, f"{_WHERE}: {key}")
