"""What is wrong with a profile, in a person's words.

Law: translates; no word of the validating library gets through. A complaint names the key, what is allowed
and what was found; who says it adds the file.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, time
from difflib import get_close_matches
from typing import Any, TypeAlias

from pydantic import ValidationError

from pytest_dflash.profile.schema import keys_at

Path: TypeAlias = tuple[str | int, ...]
"""A key, step by step; a number is a place in a list."""

CLIP = 80
BARE = re.compile(r"[A-Za-z0-9_-]+")


@dataclass(frozen=True, slots=True)
class Complaint:
    """One thing wrong. `missing`: the key is not there at all, so that another layer may bring it."""

    path: Path
    text: str
    missing: bool = False

    def __str__(self) -> str:
        return f"{dotted(self.path)}: {self.text}"


def dotted(path: Sequence[str | int]) -> str:
    """A key as a person writes it: `stack.packages.torch`, `throughput[0].class`, `flags."odd name"`."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        else:
            name = step if BARE.fullmatch(step) else json.dumps(step, ensure_ascii=False)
            text += f".{name}" if text else name
    return text


def complaints(error: ValidationError, tree: Mapping[str, Any]) -> Iterator[Complaint]:
    """Everything that the schema refuses in this tree."""
    for detail in error.errors(include_url=False):
        path = tuple(step for step in detail["loc"] if step != "[key]")
        kind, context = detail["type"], detail.get("ctx", {})
        if kind == "extra_forbidden":
            yield Complaint(path, unknown(str(path[-1]), keys_at(path[:-1])))
        elif kind == "missing":
            yield Complaint(path, _missing(path), missing=True)
        else:
            allowed = ALLOWED[kind](context) if kind in ALLOWED else _plain(detail["msg"])
            about_name = "[key]" in detail["loc"]
            yield Complaint(path, allowed + _found(_at(tree, path), kind, about_name=about_name))


ALLOWED: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    "value_error": lambda context: str(context["error"]),
    "string_type": lambda _: "must be text in quotation marks",
    "int_type": lambda _: "must be a whole number",
    "int_from_float": lambda _: "must be a whole number",
    "float_type": lambda _: "must be a number",
    "finite_number": lambda _: "must be a finite number",
    "bool_type": lambda _: "must be true or false",
    "model_type": lambda _: "must be a table",
    "dict_type": lambda _: "must be a table",
    "tuple_type": lambda _: "must be a list",
    "date_type": lambda _: "must be a day, such as 2027-01-31",
    "greater_than": lambda context: f"must be above {context['gt']:g}",
    "greater_than_equal": lambda context: f"must be at least {context['ge']:g}",
    "less_than_equal": lambda context: f"must be at most {context['le']:g}",
    "literal_error": lambda context: f"must be {context['expected']}",
}
"""The validating library's kinds of error to what is allowed."""


def unknown(name: str, known: Sequence[str]) -> str:
    """The sentence about a key that does not exist, with the nearest ones that do."""
    near = get_close_matches(name, known, n=1, cutoff=0.6)
    guess = f"; did you mean {dotted(near)}?" if near else "."
    return f"unknown key{guess} Known here: {', '.join(known)}"


def _missing(path: Path) -> str:
    if path == ("service",):
        return "is missing; a profile begins with [service], which has unit and engine"
    return "is missing"


def _plain(message: str) -> str:
    return message.removeprefix("Value error, ").replace("Input should be", "must be")


def _at(tree: Any, path: Path) -> Any:
    for step in path:
        try:
            tree = tree[step]
        except (KeyError, IndexError, TypeError):
            return None
    return tree


def _found(value: Any, kind: str, *, about_name: bool) -> str:
    """What was found, and of which kind it is; nothing where the sentence has said it."""
    if about_name or value is None or (kind == "value_error" and isinstance(value, dict | list)):
        return ""
    match value:
        case dict():
            return ", found a table"
        case list():
            return ", found a list"
        case bool():
            return f", found {str(value).lower()}"
        case int() | float():
            return f", found {value} (a number)"
        case date() | time():
            return f", found {value} (a date or time)"
        case _:
            text = json.dumps(str(value), ensure_ascii=False)
            return f", found {text if len(text) <= CLIP else text[:CLIP] + '…'} (text)"
