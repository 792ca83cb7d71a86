"""As much of JSON Schema (draft 07) as the published schema of CTRF is written in.

Law: a schema and a document in, complaints out; a word that it does not know is an error, never a licence.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from typing import Any

Schema = Mapping[str, Any]
TYPES: Mapping[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
}
FORMATS: Mapping[str, Callable[[str], object]] = {
    "date-time": datetime.fromisoformat,
    "uuid": re.compile(r"[0-9a-fA-F-]{36}").fullmatch,
}


def complaints(schema: Schema, value: Any, root: Schema, at: str = "$") -> Iterator[str]:
    """What is wrong with a document, each with the place where it is."""
    for word, wanted in schema.items():
        if word in HOLDS and not HOLDS[word](value, wanted):
            yield f"{at}: {value!r} against {word} {wanted!r}"
        elif word not in HOLDS:
            for told in WITHIN[word](schema, value, root):
                yield at + told


def _referred(schema: Schema, value: Any, root: Schema) -> Iterator[str]:
    return complaints(root["definitions"][schema["$ref"].rpartition("/")[2]], value, root, "")


def _any_of(schema: Schema, value: Any, root: Schema) -> Iterator[str]:
    if all(any(complaints(each, value, root)) for each in schema["anyOf"]):
        yield ": fits nothing of anyOf"


def _required(schema: Schema, value: Any, _: Schema) -> Iterator[str]:
    if isinstance(value, dict):
        yield from (f": {key} is missing" for key in schema["required"] if key not in value)


def _properties(schema: Schema, value: Any, root: Schema) -> Iterator[str]:
    for key, each in value.items() if isinstance(value, dict) else ():
        if key in schema["properties"]:
            yield from complaints(schema["properties"][key], each, root, f".{key}")
        elif schema.get("additionalProperties") is False:
            yield f".{key}: is not known"


def _items(schema: Schema, value: Any, root: Schema) -> Iterator[str]:
    for number, each in enumerate(value if isinstance(value, list) else ()):
        yield from complaints(schema["items"], each, root, f"[{number}]")


def _nothing(*_: Any) -> Iterator[str]:
    return iter(())


def _is(value: Any, kind: str | list[str]) -> bool:
    kinds = [kind] if isinstance(kind, str) else kind
    truth = isinstance(value, bool)  # which Python counts among the integers
    return any(isinstance(value, TYPES[each]) and truth is (each == "boolean") for each in kinds)


HOLDS: Mapping[str, Callable[[Any, Any], bool]] = {
    "type": _is,
    "const": lambda value, wanted: value == wanted,
    "enum": lambda value, wanted: value in wanted,
    "pattern": lambda value, wanted: not isinstance(value, str) or bool(re.search(wanted, value)),
    "format": lambda value, wanted: not isinstance(value, str) or bool(FORMATS[wanted](value)),
    "minLength": lambda value, wanted: not isinstance(value, str) or len(value) >= wanted,
    "minItems": lambda value, wanted: not isinstance(value, list) or len(value) >= wanted,
    "minimum": lambda value, wanted: not isinstance(value, (int, float)) or value >= wanted,
}
"""Words that compare the value itself."""
WITHIN: Mapping[str, Callable[[Schema, Any, Schema], Iterator[str]]] = {
    "$ref": _referred,
    "anyOf": _any_of,
    "required": _required,
    "properties": _properties,
    "items": _items,
} | dict.fromkeys(("$schema", "title", "description", "definitions", "additionalProperties"), _nothing)
"""Words that look into it; `additionalProperties` is read together with `properties`."""
