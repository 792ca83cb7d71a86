"""Secrets: learnt by the names that carry them, masked wherever they recur.

Law: values in, values out, knows no file and no engine. A name that holds key, token, secret, password or
authorization, and what else they are called (passwd, passphrase, credential, `…_PASS`), carries a secret, when its value
has at least 8 characters. `tokenizer…` is no token, and neither
numbers, switches nor plain paths are secrets: masking these would hide the settings that a run is about. A name that
ends in such a word holds the secret itself: there a random key that begins like a path, or is all digits, is one too.

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
from typing import Any, Protocol, TypeVar, cast
from urllib.parse import quote, quote_plus, unquote

import yaml

T = TypeVar("T")

MASK = "****"
MIN_LENGTH = 8
MIN_KNOWN_LENGTH = 4
MAX_LENGTH = 4096
"""Characters. What is longer is no key; a log may hold one line of any length."""
NESTED = 256
"""Characters. In what is longer nobody looks for further names: else a long line costs its square."""
LARGEST_YAML = 2**16
MOST = 128
"""So many secrets are hidden wherever they recur. A source that shows more is a flood: of these, each is hidden where
its name says that it is one, so that no text costs more than its length."""

_KEYWORD = re.compile(
    r"key|token|secret|password|authorization|passwd|passphrase|(?<!Set)(?<!Load)(?<!Encrypted)credential|[_-](?:pass|auth)(?![a-z])",
    re.IGNORECASE,
)
_TOKENIZER = re.compile(r"(?:de)?tokeniz.*|token[-_]map(?![a-z])", re.IGNORECASE)
"""Names that only sound like one: what cuts text, and the table of a drafter's vocabulary."""
_ITSELF = re.compile(
    r"(?:keys?|tokens?|secrets?|passwords?|authorization|passwd|passphrase|[_-]pass)\Z", re.IGNORECASE
)
"""How a name ends behind which the secret itself stands: `--api-key`, and not `--api-key-file`."""
_NUMBER = re.compile(r"[+-]?[\d_.,]+(?:e[+-]?\d+)?", re.IGNORECASE)
_PATH = re.compile(r"(?:~|\.{0,2})/[\w./@+=~-]*")
_WELL_KNOWN = re.compile(
    r"/(?:etc|run|var|srv|opt|usr|home|root|mnt|media|tmp|dev|proc|data|models)/[\w./@+=~-]*"
)
"""A path that no random key begins like."""
_SPECIAL = re.compile("<[\\w|/ -]*>|[<\u2039][|\uff5c][^\\s<>]{1,64}[|\uff5c][>\u203a]")
"""A special token of a model, or what stands for a value that was taken away."""
_HARMLESS = re.compile(
    r"true|false|none|null|disabled|enabled|optional|required|automatic|\*+", re.IGNORECASE
)
_SCHEME = re.compile(r"(?:Bearer|Basic|Token)\s+", re.IGNORECASE)

_BEFORE = re.compile(r"[\w.-]*\Z")
_BEHIND = re.compile(r"[\w.-]*")
_WIDTH = 80
"""Characters before a keyword in which its name and its line may begin."""
_QUOTED = r"""(?P<q>\\?["'])(?P<value>(?:(?!(?P=q)).)+)(?P=q)"""
_BARE = r"""\[?(?P<value>(?!\[)[^\s"'\\,;)\]}\x00]+(?:,[^\s"'\\,;:=()\[\]{}\x00]{8,}={0,2}(?=[\s"',;\x00]|\Z))*)"""
"""Up to what ends it in most texts. Several keys may follow each other, `a,b`; a further field, `a,port=1`, is none."""
_AFTER_ANY: tuple[re.Pattern[str], ...] = (
    # ='…'  ": "…"  ': ['…', '…'
    re.compile(
        rf"""\\?["']?\s*[=:]\s*(?P<list>\[\s*)?{_QUOTED}(?(list)(?P<more>(?:\s*,\s*["'][^"']+["'])*))"""
    ),
    re.compile(rf"={_BARE}"),  # API_KEY=…  --api-key=…
)
_AFTER_FLAG = (
    re.compile(rf"""["']?(?:[\s\x00,]|\\\r?\n)+{_QUOTED}"""),  # --api-key '…'  "--api-key", "…"
    re.compile(rf"""(?:[\s\x00]|\\\r?\n)+(?!-){_BARE}"""),  # --api-key …, on the next line too
)
_AFTER_INI = (re.compile(rf"[ \t]*=[ \t]*{_BARE}"),)  # api_key = …
_AFTER_CREDENTIAL = (re.compile(rf":{_BARE}"),)  # SetCredential=api-key:…
_AFTER_HEADER = (re.compile(rf"\s*:\s*(?:(?:Bearer|Basic|Token)\s+)?{_BARE}", re.IGNORECASE),)  # X-Api-Key: …
_SEVERAL = re.compile(r"[,&]")
"""Between several keys of one value, and behind a key in an address."""
_LISTED = re.compile(r"""["']([^"']+)["']""")
_ENVIRONMENT = re.compile(r"^[ \t]*Environment[ \t]*=(?P<words>.*)", re.MULTILINE)
_ASSIGNED = re.compile(r"""(?P<q>["'])(?P<name>[\w.-]{1,80})=(?P<value>(?:(?!(?P=q)).)+)(?P=q)""")
"""Environment="API_KEY=…": up to the quote, blanks and all."""
ISSUED = re.compile(
    r"\b(?P<value>(?:sk|hf|gh[opsu]|glpat|xox[abp])[-_](?=[\w-]{0,60}\d)[A-Za-z0-9_-]{16,200})"
)
"""A key that tells by its beginning who issued it; it has digits, words such as hf_hub_enable_transfer have none."""
_UNNAMED = (
    re.compile(r"\bBearer\s+(?P<value>[\w.~+/=-]+)", re.IGNORECASE),
    re.compile(r"""://[^\s/@:"']*:(?P<value>[^\s/@"']+)@"""),
    re.compile(r"""://(?P<value>[^\s/@:"']{16,})@"""),  # a key in a user's place
    ISSUED,
)


class Yaml(str):
    """The text of a file of settings: keys are learnt from its structure too, whatever lines they stand on."""

    __slots__ = ()


class Hiding(Protocol):
    """Whoever knows secrets: a host's run."""

    def redact(self, text: str) -> str:
        """The text without them."""


def without_secrets(text: str, known: Iterable[Hiding]) -> str:
    """The text without the secrets of any of them: what is told of one host may name another's."""
    for each in known:
        text = each.redact(text)
    return text


def carries_secret(name: str) -> bool:
    """Whether a flag, variable, header or field of this name carries a secret."""
    return _KEYWORD.search(_TOKENIZER.sub("", name)) is not None


def _is_secret(name: str, value: str) -> bool:
    """Whether a value is one, behind this name; "" is for what speaks for itself, as a password in an address."""
    if len(value) < MIN_LENGTH or _HARMLESS.fullmatch(value) or _SPECIAL.fullmatch(value):
        return False
    if name and not _ITSELF.search(name):
        return not (_NUMBER.fullmatch(value) or _PATH.fullmatch(value))
    # 1048576 bytes per token are none, whoever issues tokens puts letters into them.
    counted = "token" in name.lower() and _NUMBER.fullmatch(value)
    return not (counted or _WELL_KNOWN.match(value))


class Redactor:
    """Knows secrets and hides them. One per run: what one host gave away is hidden in the words of all.

    Args:
        known: Secrets known beforehand (the value of `api_key_env`), of any name.
    """

    def __init__(self, known: Iterable[str] = ()) -> None:
        self._secrets: set[str] = set()
        self._forms: tuple[str, ...] = ()
        self._flooded = False
        self._add(secret for secret in known if len(secret) >= MIN_KNOWN_LENGTH)

    def learn(self, source: object) -> None:
        """Finds secrets in text, bytes, argv sequences, mappings, and values made of these."""
        self._add(_secrets_in(source))

    def mask(self, value: T) -> T:
        """The same value with every known secret replaced by `****`, down to the last field."""
        return cast("T", self._mask(value)) if self._forms else value

    def guard(self, value: T) -> T:
        """Learns from `value`, then masks it."""
        self.learn(value)
        return self.mask(value)

    def hide(self, text: str) -> str:
        """For what is told: masks as `mask` does, and what the text itself names as a secret; learns nothing from it."""
        return _masked_in_place(self._hidden(text))

    def _add(self, secrets: Iterable[str]) -> None:
        """Takes in what is new, up to what can be told apart."""
        new = set[str]()
        for secret in secrets:
            if secret == MASK or secret in self._secrets or secret in new:
                continue
            if len(self._secrets) + len(new) >= MOST:
                self._flooded = True
                break
            new.add(secret)
        if new:
            self._secrets |= new
            forms = {*self._forms}.union(*map(_spellings, new))
            # The longest first: a secret that begins like a shorter one must not leave its tail behind.
            self._forms = tuple(sorted(forms, key=len, reverse=True))

    def _hidden(self, text: str) -> str:
        """One by one and not by one pattern: each costs the text's length at most, whatever the two are made of."""
        for form in self._forms:
            if form in text:
                text = text.replace(form, MASK)
        return _masked_in_place(text) if self._flooded else text

    def _mask(self, value: Any) -> Any:
        if value is None or isinstance(value, (bool, int, float)):
            return value
        if isinstance(value, str):
            masked = self._hidden(value)
            return value if masked == value else masked
        if isinstance(value, bytes):
            # Every byte is kept, and secrets in UTF-8 are looked for as their bytes.
            return self._hidden(value.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            return _replaced(value, self._mask)
        if isinstance(value, Mapping):
            shown = _named_masked(value) if self._flooded else value
            return {self._mask(key): self._mask(item) for key, item in shown.items()}
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
    if isinstance(source, Yaml):
        yield from _in_yaml(source)
    if isinstance(source, str):
        yield from _in_text(source)
        return
    for part in _parts(source):
        yield from _secrets_in(part)
    if isinstance(source, Mapping):
        for name, value in source.items():
            if isinstance(name, str) and carries_secret(name):
                yield from _values(name, value)
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
    """The secrets of logs, unit files, bodies."""
    for start, end, name in _spans(text):
        yield from _plain(name, text[start:end])


def _masked_in_place(text: str) -> str:
    """The text without what its names say to be secrets."""
    kept, at = list[str](), 0
    for start, end, name in sorted(_spans(text)):
        if start >= at and any(_plain(name, text[start:end])):
            kept += text[at:start], MASK
            at = end
    return "".join([*kept, text[at:]]) if kept else text


def _in_yaml(text: str) -> Iterator[str]:
    """The secrets of a file of settings: scalars and lists of them under their names. Aliases are not followed twice."""
    try:
        todo = [yaml.compose(text[:LARGEST_YAML], yaml.SafeLoader)]
    except (yaml.YAMLError, ValueError, RecursionError):
        return
    seen: set[int] = set()
    while todo:
        node = todo.pop()
        if node is None or id(node) in seen or isinstance(node, yaml.ScalarNode):
            continue
        seen.add(id(node))
        if isinstance(node, yaml.SequenceNode):
            todo += node.value
            continue
        for name, value in node.value:
            todo.append(value)
            if isinstance(name, yaml.ScalarNode) and carries_secret(name.value):
                held = value.value if isinstance(value, yaml.SequenceNode) else [value]
                yield from _values(name.value, [e.value for e in held if isinstance(e, yaml.ScalarNode)])


def _named_masked(value: Mapping[Any, Any]) -> dict[Any, Any]:
    """The table without what its own names say to be secrets."""
    return {
        name: MASK if isinstance(name, str) and carries_secret(name) and any(_values(name, item)) else item
        for name, item in value.items()
    }


def _spans(text: str) -> Iterator[tuple[int, int, str]]:
    """Where values stand behind which names, and in URLs. Prose ("Missing key: …") is none of these."""
    for pattern in _UNNAMED:
        for hit in pattern.finditer(text):
            yield *hit.span("value"), ""
    for line in _ENVIRONMENT.finditer(text):
        for hit in _ASSIGNED.finditer(text, *line.span("words")):
            if carries_secret(hit["name"]):
                yield *hit.span("value"), hit["name"]
    yield from _named_spans(text)


def _named_spans(text: str) -> Iterator[tuple[int, int, str]]:
    end = 0
    for hit in _KEYWORD.finditer(text):
        if hit.start() < end:
            continue
        lead = text[max(0, hit.start() - _WIDTH) : hit.start()]
        begun, ended = _BEFORE.search(lead), _BEHIND.match(text, hit.end())
        before = lead[: begun.start()] if begun else lead
        end = ended.end() if ended else hit.end()
        name = text[hit.start() - (len(lead) - len(before)) : end]
        if not carries_secret(name):
            continue
        alone = not before.rpartition("\n")[2].strip()
        forms = _forms_after(name, alone=alone, credential=before.endswith("SetCredential="))
        matches = (form.match(text, end) for form in forms)
        found = next((match for match in matches if match is not None), None)
        if found is None:
            continue
        if found.end("value") - found.start("value") > NESTED:
            end = found.end()
        if _letters(found["value"]) != _letters(name):  # usage texts: --api-key API_KEY
            yield *found.span("value"), name
            if "more" in found.re.groupindex and found["more"]:
                yield from ((*other.span(1), name) for other in _LISTED.finditer(text, *found.span("more")))


def _forms_after(name: str, *, alone: bool, credential: bool) -> tuple[re.Pattern[str], ...]:
    """How a value may follow this name; `alone`: nothing stands before it on its line."""
    flag = _AFTER_FLAG if name.startswith("--") else ()
    header = _AFTER_HEADER if alone or name.lower().startswith(("x-", "authorization")) else ()
    ini = _AFTER_INI if alone else ()
    return (*_AFTER_ANY, *flag, *ini, *header, *(_AFTER_CREDENTIAL if credential else ()))


def _letters(text: str) -> str:
    return re.sub(r"[\W_]", "", text).lower()


def _in_argv(argv: list[Any] | tuple[Any, ...]) -> Iterator[str]:
    """`--api-key A B`: everything up to the next flag. `--api-key=A` is found in the text."""
    carrying = ""
    for word in argv:
        if not isinstance(word, str):
            carrying = ""
        elif word.startswith("-"):
            name, equals, value = word.partition("=")
            secret = carries_secret(name.lstrip("-"))
            carrying = name if secret and not equals else ""
            if equals and secret:
                yield from _plain(name, value)
        elif carrying:
            yield from _plain(carrying, word)


def _values(name: str, value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield from _plain(name, value)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _values(name, item)


def _plain(name: str, value: str) -> Iterator[str]:
    """The secret itself, without the scheme of a header, what its escaped spelling stands for, and each of several."""
    if not MIN_LENGTH <= len(value) <= MAX_LENGTH:
        return
    value = _SCHEME.sub("", value.strip(" \t\r\n"), count=1)
    for spelling in {value, unquote(value), _unescaped(value)}:
        if _is_secret(name, spelling):
            yield spelling
            parts = _SEVERAL.split(spelling)
            yield from (part for part in parts[1:] and parts if _is_secret(name, part))


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
