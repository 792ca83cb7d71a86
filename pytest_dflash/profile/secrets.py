"""Secrets have no place in a profile.

Law: finds what looks like a secret in the raw tree of a profile, before anything else could show it. Its
answer names the key, never the value.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from pytest_dflash.redaction import ISSUED

ANYWHERE = frozenset(
    {"secret", "secrets", "password", "passwd", "passphrase", "authorization", "apikey", "bearer"}
)
AT_THE_END = frozenset({"key", "keys", "token", "credential", "credentials", "auth"})
"""Words of a name: `hf-token` and `HF_TOKEN` hold one; `tokenizer-path`, `speculative-token-map` do not."""

LOOKS = re.compile(
    r"://[^/\s:@]*:[^/\s@]+@"  # user:password in an address
    r"|\bBearer\s+\S{8,}"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY"
)
VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def is_secret_name(name: str) -> bool:
    """Whether a flag, variable or key of this name holds a secret."""
    words = [word for word in re.split(r"[-_.\s]+", name.lower()) if word]
    return bool(words) and (words[-1] in AT_THE_END or not ANYWHERE.isdisjoint(words))


def looks_secret(text: str) -> bool:
    """Whether this text is a secret whatever its name: an issuer's prefix, a password in an address."""
    return bool(LOOKS.search(text) or ISSUED.search(text))


def secrets(tree: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """The paths of all values that look like secrets. Switches (true, false) are none: they hold nothing."""
    match tree:
        case dict():
            for key, value in tree.items():
                if _is_secret(key, value):
                    yield (*path, key)
                else:
                    yield from secrets(value, (*path, key))
        case list():
            for index, value in enumerate(tree):
                yield from secrets(value, (*path, index))
        case str() if looks_secret(tree):
            yield path


def _is_secret(name: str, value: Any) -> bool:
    if name == "api_key_env":  # the key itself instead of the variable's name: a slip that must not be shown
        return isinstance(value, str) and not VARIABLE.fullmatch(value)
    if isinstance(value, int | float) and name.lower().endswith("token"):
        return False  # a number of tokens, or a slip for one
    holds_something = not isinstance(value, bool | dict) and value not in ("", None)
    return is_secret_name(name) and holds_something
