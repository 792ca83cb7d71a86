"""Python values as a log prints them, read without trusting them.

Law: text in, JSON values out, never an exception. Values that are no literals survive: a nested dataclass as a
dict, an enum as its value, any other object as its own text. What the text is about is not known here.
"""

from __future__ import annotations

import ast
import math
import re
import warnings

from pytest_dflash.findings import Json

_FIELD = re.compile(r"\s*(?:'(?P<quoted>\w+)'\s*:|(?P<bare>\w+)\s*=)\s*(?P<value>.*)", re.DOTALL)
_ENUM = re.compile(r"<[\w.]+: (?P<value>.+)>", re.DOTALL)
_OBJECT = re.compile(r"[A-Za-z_][\w.]*\((?P<inside>.*)\)", re.DOTALL)
_PAIRS = {"(": ")", "[": "]", "{": "}", "<": ">"}
_DEPTH = 20


def printed(text: str, at: int) -> tuple[dict[str, Json], bool]:
    """The `name=value` and `'name': value` pairs from `at` to the bracket that closes them, and whether it was there."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a damaged line may hold escapes that Python warns about
        parts, whole = items(text, at)
        return fields(parts), whole


def fields(parts: list[str], depth: int = 0) -> dict[str, Json]:
    """The pairs among items."""
    found: dict[str, Json] = {}
    for item in parts:
        if field := _FIELD.fullmatch(item):
            found[field["quoted"] or field["bare"]] = value(field["value"].strip(), depth + 1)
    return found


def items(text: str, at: int) -> tuple[list[str], bool]:
    """The comma separated items from `at` to the bracket that closes them, and whether it was found."""
    found: list[str] = []
    open_: list[str] = []
    begin = at
    while at < len(text):
        char = text[at]
        if char in "'\"":
            at = _after_quote(text, at)
            continue
        if char in "([{" or (
            char == "<" and text[begin:at].rstrip()[-1:] in {"=", ":", ",", "(", "[", "{", ""}
        ):
            open_.append(_PAIRS[char])
        elif open_ and char == open_[-1]:
            open_.pop()
        elif char in ")]}" and (not open_ or open_[-1] != ">"):
            if not open_:
                return [*found, text[begin:at]], True
        elif char == "," and not open_:
            found.append(text[begin:at])
            begin = at + 1
        at += 1
    return found, False  # the last item was cut off: half a value is no value


def _after_quote(text: str, at: int) -> int:
    quote = text[at]
    at += 1
    while at < len(text) and text[at] != quote:
        at += 2 if text[at] == "\\" else 1
    return at + 1


def value(text: str, depth: int = 0) -> Json:
    """One printed value."""
    try:
        return plain(ast.literal_eval(text))
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
        pass
    if depth < _DEPTH:
        if enum := _ENUM.fullmatch(text):
            return value(enum["value"], depth + 1)
        if (thing := _OBJECT.fullmatch(text)) and thing["inside"]:
            inside = fields(items(thing["inside"] + ")", 0)[0], depth)
            return dict(inside) if inside else text
        if text[:1] == "{" and text[-1:] == "}":
            return dict(fields(items(text, 1)[0], depth)) or text
        if text[:1] in {"[", "("} and text[-1:] in {"]", ")"}:
            return [value(item.strip(), depth + 1) for item in items(text, 1)[0] if item.strip()]
    return text


def plain(value: object) -> Json:
    """A Python value as JSON can say it: tuples and sets as lists, what JSON has no word for as text."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, dict):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    if isinstance(value, set | frozenset):
        return [plain(one) for one in sorted(value, key=repr)]
    return repr(value)
