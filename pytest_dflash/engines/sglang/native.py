"""The window that a drafter brings along in its own config.json.

Law: the config and the version are given. The number is the config's own, which counts the current token;
the engine keeps one less to the left of it.
"""

from __future__ import annotations

from packaging.version import Version

from pytest_dflash.engines.shapes import count, table
from pytest_dflash.facts.reading import Absent, Reading, Silent, Value
from pytest_dflash.findings import Json

HONOURED_FROM = Version("0.5.14")
"""Older versions run sliding layers with full attention, and say nothing. Source: sglang#27469."""

_WHERE = "config.json of the drafter"


def window(config: Json, version: Version | None) -> Reading[int]:
    """Tokens, the current one included.

    Absent: the drafter has no sliding layer, or this version ignores them. Silent: the config cannot say, or
    nobody knows the version.
    """
    if not isinstance(config, dict):
        return Silent("the drafter's config is not a JSON object", _WHERE)
    inner = table(config.get("text_config")) or config
    layers = inner.get("layer_types", config.get("layer_types"))
    if layers is None:
        return Absent(f"{_WHERE}: no layer_types")
    if not isinstance(layers, list):
        return Silent("layer_types is not a list", _WHERE)
    if "sliding_attention" not in layers:
        return Absent(f"{_WHERE}: no layer is sliding_attention")
    size = inner.get("sliding_window", config.get("sliding_window"))
    if (tokens := count(size)) is None or tokens <= 0:
        return Silent(f"layers are sliding_attention, but sliding_window is {size!r}", _WHERE)
    if version is None:
        return Silent(
            f"sliding_window is {size}, but the engine's version is not known (honoured from {HONOURED_FROM})",
            _WHERE,
        )
    if version < HONOURED_FROM:
        return Absent(
            f"{_WHERE}: sliding_window is {size}, but SGLang {version} ignores it (honoured from {HONOURED_FROM})"
        )
    return Value(tokens, f"{_WHERE}: sliding_window")
