"""A JSON schema as a machine over bytes: what may be said next.

Law: a small and real subset (objects with all their properties in order, arrays, strings, numbers, enums); values
in, a machine out, and no output that the schema does not allow. Strings and numbers are kept short, so that every
answer ends.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import tokens

LETTERS = b"abcdefghijklmnopqrstuvwxyz "
LONGEST = 24
DIGITS = 3
ITEMS = 3


class UnknownSchema(ValueError):  # noqa: N818 - named for what was asked for
    """A schema beyond the subset."""


@dataclass(eq=False)
class State:
    """What may come, and where it leads; nothing more may come after the last state."""

    follow: dict[int, State] = field(default_factory=dict)

    @cached_property
    def allowed(self) -> NDArray[np.bool_]:
        """(tokens.SIZE,): which tokens may come; the end where no byte may."""
        may = np.zeros(tokens.SIZE, dtype=np.bool_)
        may[[tokens.of_byte(byte) for byte in self.follow] or [tokens.EOS]] = True
        return may

    def after(self, token: int) -> State:
        """The state that a token leads to; itself for one that may not come."""
        byte = tokens.to_byte(token)
        return self.follow.get(byte[0], self) if byte else self


def machine(schema: Mapping[str, Any]) -> State:
    """The first state of the machine for `schema`.

    Raises:
        UnknownSchema: For a schema beyond the subset.
    """
    return _value(schema, State())


def _literal(text: str, then: State) -> State:
    for byte in reversed(text.encode()):
        then = State({byte: then})
    return then


def _merged(*states: State) -> State:
    """One state for several; where two begin alike, so do the states behind them."""
    made = State()
    for state in states:
        for byte, then in state.follow.items():
            known = made.follow.get(byte)
            made.follow[byte] = then if known is None or known is then else _merged(known, then)
    return made


def _string(schema: Mapping[str, Any], then: State) -> State:
    longest = min(int(schema.get("maxLength", LONGEST)), LONGEST)
    shortest = min(int(schema.get("minLength", 1)), longest)
    at = State({0x22: then})
    for left in range(longest - 1, -1, -1):
        at = State(dict.fromkeys(LETTERS, at) | ({0x22: then} if left >= shortest else {}))
    return State({0x22: at})


def _number(_schema: Mapping[str, Any], then: State) -> State:
    at = then
    for _ in range(DIGITS - 1):
        at = State(dict.fromkeys(b"0123456789", at) | then.follow)
    return State(dict.fromkeys(b"123456789", at))


def _array(schema: Mapping[str, Any], then: State) -> State:
    items = schema.get("items", {"type": "string"})
    at = State({0x5D: then})
    for _ in range(ITEMS - 1):
        at = State({0x2C: _value(items, at), 0x5D: then})
    return State({0x5B: _value(items, at)})


def _object(schema: Mapping[str, Any], then: State) -> State:
    properties = schema.get("properties") or {"answer": {"type": "string"}}
    at = _literal("}", then)
    for index, (name, value) in reversed(list(enumerate(properties.items()))):
        comma = ", " if index else ""
        at = _literal(f"{comma}{json.dumps(name)}: ", _value(value, at))
    return _literal("{", at)


_KINDS: dict[str, Callable[[Mapping[str, Any], State], State]] = {
    "object": _object,
    "array": _array,
    "string": _string,
    "integer": _number,
    "number": _number,
    "boolean": lambda _, then: _merged(_literal("true", then), _literal("false", then)),
    "null": lambda _, then: _literal("null", then),
}


def _value(schema: Mapping[str, Any], then: State) -> State:
    values = [schema["const"]] if "const" in schema else schema.get("enum")
    if values:
        return _merged(*(_literal(json.dumps(value), then) for value in values))
    kind = schema.get("type", "object" if "properties" in schema else "string")
    if kind not in _KINDS:
        raise UnknownSchema(f"type {kind!r} is not among {', '.join(_KINDS)}")
    return _KINDS[kind](schema, then)
