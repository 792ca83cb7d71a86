"""Which two values are one.

Law: values that were read are compared by what kind of flag they belong to; no reading, no rules of the engine.
"""

from __future__ import annotations

import json
import re

from pytest_dflash.engines.literals import plain
from pytest_dflash.engines.sglang import flags
from pytest_dflash.engines.words import typed
from pytest_dflash.findings import Json

REDACTED: tuple[Json, ...] = ("****", "<redacted>")
"""How a report, and the engine itself, write a secret."""
_OFF: tuple[Json, ...] = (None, False, "false", "False", "")


def same(setting: str, left: Json, right: Json) -> bool:
    """Whether two witnesses say the same: `"8"` and 8, `0.90` and 0.9, JSON by content, off in all its forms."""
    if left in REDACTED or right in REDACTED:
        return True  # one of the two is kept secret, so nothing can be said against it
    kind = flags.kind(setting)
    if kind in {"switch", "toggle"} or (kind == "" and isinstance(left, bool) != isinstance(right, bool)):
        return _switched(left) == _switched(right)
    if kind == "str" and isinstance(left, str) and isinstance(right, str):
        return left == right
    if kind == "list":
        left, right = _listed(left), _listed(right)
    return _plainly(left) == _plainly(right)


def _switched(value: Json) -> object:
    if value in _OFF:
        return False
    return True if value in (True, "true", "True") else value


def _listed(value: Json) -> Json:
    if isinstance(value, str) and isinstance(parsed := plain(typed(value)), list):
        return parsed
    return value if value is None or isinstance(value, list) else [value]


def _plainly(value: Json) -> object:
    """A form in which equal means equal: numbers as numbers, JSON text as what it says."""
    if isinstance(value, bool) or value is None:
        return str(value).lower()
    if isinstance(value, int | float):
        return _number(str(value))
    if isinstance(value, str):
        text = value.strip()
        if text[:1] in {"{", "["}:
            try:
                return _plainly(json.loads(text))
            except (ValueError, RecursionError):
                return text
        return text.lower() if text.lower() in {"none", "null", "true", "false"} else _number(text)
    if isinstance(value, list):
        return [_plainly(one) for one in value]
    return {key: _plainly(one) for key, one in value.items()}


def _number(text: str) -> object:
    if not re.fullmatch(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d{1,3})?", text):
        return text
    try:
        return int(text)
    except ValueError:
        return float(text)
