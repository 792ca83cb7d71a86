"""Secrets: learnt by the names that carry them, masked wherever they recur.

Law: values in, values out, knows no file and no engine. A name that holds key, token, secret, password or
authorization carries a secret, when its value has at least 8 characters. `tokenizer…` is no token, and neither
numbers, switches nor plain paths are secrets: masking these would hide the settings that a run is about.

Learn from what describes a host (argv, environments, unit files, logs, info bodies). Do not learn from a
completion's body, where the field `token` is a piece of the answer; mask it.
"""

from __future__ import annotations

import base64
import dataclasses
import html
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeVar, cast
from urllib.parse import quote, quote_plus, unquote

T = TypeVar("T")

MASK = "****"
MIN_LENGTH = 8
MIN_KNOWN_LENGTH = 4

_KEYWORD = re.compile(r"key|token|secret|password|authorization", re.IGNORECASE)
_TOKENIZER = re.compile(r"(?:de)?tokeniz.*", re.IGNORECASE)
_HARMLESS = re.compile(
    r"""
    [+-]?[\d_.,]+(?:e[+-]?\d+)?      # a number
    | true | false | none | null | disabled | enabled | optional | required | automatic
    | (?:~|\.{0,2})/[\w./@+=~-]*     # a path
    | <.*>                           # a special token of a model
    | \*+
    """,
    re.IGNORECASE | re.VERBOSE,
)
_SCHEME = re.compile(r"(?:Bearer|Basic|Token)\s+", re.IGNORECASE)

_BEFORE = re.compile(r"[\w.-]*\Z")
_BEHIND = re.compile(r"[\w.-]*")
_QUOTED = r"""(?P<q>\\?["'])(?P<value>(?:(?!(?P=q)).)+)(?P=q)"""
_BARE = r"""(?P<value>[^\s"'\\,;)\]}\x00]+)"""
_AFTER_ANY: tuple[re.Pattern[str], ...] = (
    # ='…'  ": "…"  ': ['…', '…'
    re.compile(
        rf"""\\?["']?\s*[=:]\s*(?P<list>\[\s*)?{_QUOTED}(?(list)(?P<more>(?:\s*,\s*["'][^"']+["'])*))"""
    ),
    re.compile(rf"={_BARE}"),  # API_KEY=…  --api-key=…
)
_AFTER_FLAG = (
    re.compile(rf"""["']?[\s\x00,]+{_QUOTED}"""),  # --api-key '…'  "--api-key", "…"
    re.compile(rf"""[\s\x00]+(?!-){_BARE}"""),  # --api-key …
)
_AFTER_HEADER = (re.compile(rf"\s*:\s*(?:(?:Bearer|Basic|Token)\s+)?{_BARE}", re.IGNORECASE),)  # X-Api-Key: …
_UNNAMED = (
    re.compile(r"\bBearer\s+(?P<value>[\w.~+/=-]+)", re.IGNORECASE),
    re.compile(r"""://[^\s/@:"']*:(?P<value>[^\s/@"']+)@"""),
)


def carries_secret(name: str) -> bool:
    """Whether a flag, variable, header or field of this name carries a secret."""
    return _KEYWORD.search(_TOKENIZER.sub("", name)) is not None


def _is_secret(value: str) -> bool:
    return len(value) >= MIN_LENGTH and not _HARMLESS.fullmatch(value)


class Redactor:
    """Knows secrets and hides them. One per run: what one host gave away is hidden in the words of all.

    Args:
        known: Secrets known beforehand (the value of `api_key_env`), of any name.
    """

    def __init__(self, known: Iterable[str] = ()) -> None:
        self._secrets: set[str] = set()
        self._pattern: re.Pattern[str] | None = None
        for secret in known:
            if len(secret) >= MIN_KNOWN_LENGTH:
                self._add(secret)

    def learn(self, source: object) -> None:
        """Finds secrets in text, bytes, argv sequences, mappings, and values made of these."""
        for secret in _secrets_in(source):
            self._add(secret)

    def mask(self, value: T) -> T:
        """The same value with every known secret replaced by `****`, down to the last field."""
        return cast("T", self._mask(value)) if self._pattern else value

    def guard(self, value: T) -> T:
        """Learns from `value`, then masks it."""
        self.learn(value)
        return self.mask(value)

    def mask_chunks(self, chunks: Iterable[str]) -> Iterator[str]:
        """Masks a stream: holds back as much as could be the beginning of a secret."""
        held = ""
        for chunk in chunks:
            held = self.mask(held + chunk)
            keep = max((size for form in self._forms() for size in _overlap(held, form)), default=0)
            if out := held[: len(held) - keep]:
                yield out
            held = held[len(held) - keep :]
        if held:
            yield held

    def _add(self, secret: str) -> None:
        if secret in self._secrets or secret == MASK:
            return
        self._secrets.add(secret)
        # The longest first: a secret that begins like a shorter one must not leave its tail behind.
        self._pattern = re.compile(
            "|".join(re.escape(form) for form in sorted(self._forms(), key=len, reverse=True))
        )

    def _forms(self) -> set[str]:
        return {form for secret in self._secrets for form in _spellings(secret)}

    def _mask(self, value: Any) -> Any:
        if self._pattern is None or value is None or isinstance(value, (bool, int, float)):
            return value
        if isinstance(value, str):
            masked = self._pattern.sub(MASK, value)
            return value if masked == value else masked
        if isinstance(value, bytes):
            # latin-1 keeps every byte; secrets in UTF-8 are looked for as their bytes.
            text = value.decode("utf-8", "surrogateescape")
            return self._pattern.sub(MASK, text).encode("utf-8", "surrogateescape")
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            return _replaced(value, self._mask)
        if isinstance(value, Mapping):
            return {self._mask(key): self._mask(item) for key, item in value.items()}
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            return type(value)(*(self._mask(item) for item in value))
        if isinstance(value, (list, tuple, set, frozenset)):
            return type(value)(self._mask(item) for item in value)
        return value


def _replaced(value: Any, mask: Any) -> Any:
    changes = {
        field.name: masked
        for field in dataclasses.fields(value)
        if field.init and (masked := mask(old := getattr(value, field.name))) is not old and masked != old
    }
    return dataclasses.replace(value, **changes) if changes else value


def _secrets_in(source: Any) -> Iterator[str]:
    """Everything in `source` that stands behind a name that carries a secret."""
    if isinstance(source, bytes):
        source = source.decode("utf-8", "surrogateescape")
    if isinstance(source, str):
        yield from _in_text(source)
        return
    for part in _parts(source):
        yield from _secrets_in(part)
    if isinstance(source, Mapping):
        for name, value in source.items():
            if isinstance(name, str) and carries_secret(name):
                yield from _values(value)
    elif isinstance(source, (list, tuple)):
        yield from _in_argv(source)


def _parts(source: Any) -> Iterator[Any]:
    if dataclasses.is_dataclass(source) and not isinstance(source, type):
        yield from (getattr(source, field.name) for field in dataclasses.fields(source))
    elif isinstance(source, Mapping):
        yield from source.values()
    elif isinstance(source, (list, tuple, set, frozenset)):
        yield from source


def _in_text(text: str) -> Iterator[str]:
    """What stands behind such names in logs, unit files, bodies. Prose ("Missing key: …") is none of these."""
    for pattern in _UNNAMED:
        for hit in pattern.finditer(text):
            yield from _plain(hit["value"])
    end = 0
    for hit in _KEYWORD.finditer(text):
        if hit.start() < end:
            continue
        before = _BEFORE.search(text, max(0, hit.start() - 80), hit.start())
        behind = _BEHIND.match(text, hit.end())
        start, end = (before.start() if before else hit.start()), (behind.end() if behind else hit.end())
        name = text[start:end]
        if not carries_secret(name):
            continue
        alone = not text[text.rfind("\n", 0, start) + 1 : start].strip()
        forms = [*_AFTER_ANY]
        if name.startswith("--"):
            forms += _AFTER_FLAG
        if alone or name.lower().startswith(("x-", "authorization")):
            forms += _AFTER_HEADER
        matches = (form.match(text, end) for form in forms)
        found = next((match for match in matches if match is not None), None)
        if found and _letters(found["value"]) != _letters(name):  # usage texts: --api-key API_KEY
            yield from _plain(found["value"])
            for other in re.findall(r"""["']([^"']+)["']""", found.groupdict().get("more") or ""):
                yield from _plain(other)


def _letters(text: str) -> str:
    return re.sub(r"[\W_]", "", text).lower()


def _in_argv(argv: list[Any] | tuple[Any, ...]) -> Iterator[str]:
    """`--api-key A B`: everything up to the next flag. `--api-key=A` is found in the text."""
    carrying = False
    for word in argv:
        if not isinstance(word, str):
            carrying = False
        elif word.startswith("-"):
            name, equals, value = word.partition("=")
            carrying = carries_secret(name.lstrip("-")) and not equals
            if equals and carries_secret(name.lstrip("-")):
                yield from _plain(value)
        elif carrying:
            yield from _plain(word)


def _values(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield from _plain(value)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _values(item)


def _plain(value: str) -> Iterator[str]:
    """The secret itself, without the scheme of a header, and what its escaped spelling stands for."""
    value = _SCHEME.sub("", value.strip(" \t\r\n"), count=1)
    for spelling in {value, unquote(value), _unescaped(value)}:
        if _is_secret(spelling):
            yield spelling


def _unescaped(value: str) -> str:
    try:
        return str(json.loads(f'"{value}"'))
    except ValueError:
        return value


def _spellings(secret: str) -> set[str]:
    """How a secret may be written in a body, a log, a URL or a page."""
    escaped = json.dumps(secret)[1:-1]
    raw = _encoded(secret)
    forms = {
        secret,
        escaped,
        json.dumps(escaped)[1:-1],
        json.dumps(secret, ensure_ascii=False)[1:-1],
        repr(secret)[1:-1],
        quote(raw, safe=""),
        quote(raw),
        quote_plus(raw),
        html.escape(secret),
        secret.replace("'", "'\"'\"'"),
        base64.b64encode(raw).decode().rstrip("="),
    }
    return {form for form in forms if len(form) >= MIN_KNOWN_LENGTH}


def _encoded(text: str) -> bytes:
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # half a character, from an escape in JSON
        return text.encode("utf-8", "replace")


def _overlap(text: str, form: str) -> Iterator[int]:
    """How much of the end of `text` could be the beginning of `form`."""
    for size in range(min(len(text), len(form) - 1), 0, -1):
        if form.startswith(text[-size:]):
            yield size
            return
