"""Which two values are one, and which values vLLM may turn into another.

Law: rules about values that were read; no reading. An explicit value that became another one is drift unless a
rule here says otherwise.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping

from pytest_dflash.engines.literals import plain
from pytest_dflash.engines.shapes import LARGEST
from pytest_dflash.engines.vllm import flags
from pytest_dflash.findings import Json

Context = Mapping[str, Json]
Rule = Callable[[Json, Json], bool]

REDACTED: tuple[Json, ...] = ("****", "***", "<redacted>")
"""How a report, and the engine itself, write a secret."""
_DTYPES = {"half": "float16", "float": "float32"}
_MTP = re.compile(r"\w+_mtp|mtp_\w+|\w+_next_n|mtp")


def same(setting: str, left: Json, right: Json) -> bool:
    """Whether two witnesses say the same: `"8"` and 8, JSON by content, `torch.float32` and `float`."""
    if left in REDACTED or right in REDACTED:
        return True  # one of the two is kept secret, so nothing can be said against it
    return _plainly(setting, left) == _plainly(setting, right)


def _plainly(setting: str, value: Json) -> object:
    """A form in which equal means equal: numbers as numbers, JSON text as what it says, one word as a list of one."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int | float):
        return value if abs(value) >= LARGEST else float(value)  # which no float may hold
    if isinstance(value, list):
        return [_plainly("", one) for one in value]
    if isinstance(value, dict):
        return {key.replace("-", "_"): _plainly("", one) for key, one in value.items()}
    return _text(setting, value.strip())


def _text(setting: str, text: str) -> object:
    if text[:1] in {"{", "["}:
        try:
            return _plainly(setting, plain(json.loads(text)))
        except (ValueError, RecursionError):
            return text
    if setting == "dtype":
        return _DTYPES.get(text.removeprefix("torch."), text.removeprefix("torch."))
    if setting in {"attention-backend", "speculative-config.attention_backend"}:
        return text.upper()
    if flags.kind(setting) == "list":
        return [_plainly("", text)]
    if re.fullmatch(r"[-+]?(\d{1,18}\.?\d*|\.\d+)([eE][-+]?\d{1,3})?", text):
        return float(text)
    return {"true": True, "false": False, "null": None, "none": None}.get(text.lower(), text)


def is_rewrite(setting: str, asked: Json, found: Json, context: Context) -> bool:  # noqa: ARG001 - the seam's
    """Whether the engine legally turns `asked` (None: nobody asked) into `found`.

    What equals the default is not printed, and "auto" is resolved.
    """
    if same(setting, asked, found):
        return True
    if asked in {"auto", -1} if isinstance(asked, str | int) else False:
        return True
    default = flags.default(setting)
    if found is None and default is not ... and asked is not None:
        return same(setting, asked, plain(default))
    if (rule := RULES.get(setting)) and rule(asked, found):
        return True
    if asked is None:
        return default in (..., None, "auto") or same(setting, plain(default), found)
    return False


def _method(asked: Json, found: Json) -> bool:
    """The names of multi-token prediction are one method, and a bracketed n-gram is another spelling."""
    name = str(asked)
    return (found == "mtp" and bool(_MTP.fullmatch(name))) or name.strip("[]") == found


def _no_model(asked: Json, found: Json) -> bool:
    return found is None and str(asked).strip("[]") in {"ngram", "ngram_gpu", "suffix"}


def _same_folder(asked: Json, found: Json) -> bool:
    return isinstance(asked, str) and isinstance(found, str) and asked.rstrip("/") == found.rstrip("/")


def _first_name(asked: Json, found: Json) -> bool:
    """Of several names for one model, the engine core knows the first one."""
    return isinstance(asked, list) and bool(asked) and (found == asked[0] or found == asked[:1])


RULES: Mapping[str, Rule] = {
    "speculative-config.method": _method,
    "speculative-config.model": lambda asked, found: _no_model(asked, found) or _same_folder(asked, found),
    "model": _same_folder,
    "served-model-name": _first_name,
}
"""Explicit values that the engine replaces, by setting. Source: config/speculative.py, config/model.py of 0.32.0."""
