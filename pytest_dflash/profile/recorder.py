"""From what a host shows to a first profile: text that a person reads, mends and vouches for.

Law: pure; plain values in, TOML out, and the loader accepts it whatever the host said. No secret is
written, nothing that varies from start to start, and nothing that the host did not say.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from textwrap import wrap
from typing import Any

from packaging.version import InvalidVersion, Version
from pydantic import TypeAdapter, ValidationError

from pytest_dflash.findings import Json
from pytest_dflash.profile import terms
from pytest_dflash.profile.schema import Gpu, Window
from pytest_dflash.profile.secrets import secrets

RELEVANT = re.compile(
    r"(SGLANG|SGL|VLLM|LLAMA|GGML|NCCL|CUDA|NVIDIA|TORCH|TORCHINDUCTOR|PYTORCH|TRITON|FLASHINFER|FLASH_ATTN|OMP|UCX)_"
)
"""Variables that change how an engine computes. Paths, homes and what the manager sets are none of them."""

WIDEST = 300
"""Letters of what stands against the host or a value; other remarks are shorter."""

HEAD = """\
# What {host} showed. It says what is, not what should be: read it, mend it, delete what does not matter.
# Then set this to true; until a person does, the run says that nobody vouches for these expectations.
reviewed = false
"""

NOT_WELL = (
    "While this was recorded, the host was not well or contradicted itself. Mend it and record anew (into another file), "
    "or write what is meant at each question below; else what is wrong becomes what is expected:"
)
"""On top of the file and on the terminal, before what is wrong."""

TAIL = """
# Further tables, for a person to fill in:
#
# [tree]
# budgets = [1, 3, 7, 8, 15, 16, 31]
# accept_length = { min = 2.0, max = 7.9 }
#
# [[throughput]]
# name = "chat, one user"
# class = "prose"                      # code | mathematics | prose | long_context
# concurrency = 1
# prompt_tokens = 512
# output_tokens = 256
# min_output_tokens_per_s_total = 60
#
# [gate]
# require = ["window.*", "flags.*"]    # undecided unless these passed or are waived
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedGpu:
    """One GPU. The link's numbers are the highest it can do: an idle link is slower. Watts."""

    name: str | None = None
    pcie_generation: int | None = None
    pcie_width: int | None = None
    power_limit_w: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """What a host shows, None where it does not.

    Attributes:
        host: The host's name, for the first line.
        url: Only where the service is not asked on the port that its process listens on.
        packages: Of the serving interpreter, name to version.
        flags: From the command line of the serving process, a bare switch as True.
        environment: Of the serving process; only what concerns the engine is written.
        window_via: "flag", "native" or "either".
        doubts: By key, such as "flags.tp-size" or "window.tokens": what stands against the value, in a few words.
        wrong: What was wrong with the host meanwhile, a line each.
        bind: The address that the port is bound to.
        key_required: Whether a request without a key is refused.
    """

    host: str
    unit: str
    engine: str
    user_manager: str | None = None
    served_model: str | None = None
    url: str | None = None
    driver: str | None = None
    cuda_toolkit: str | None = None
    compute_capability: str | None = None
    packages: Mapping[str, str] = field(default_factory=dict)
    gpus: Sequence[RecordedGpu] = ()
    flags: Mapping[str, Json] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    window_tokens: int | None = None
    window_via: str = "either"
    doubts: Mapping[str, str] = field(default_factory=dict)
    wrong: Sequence[str] = ()
    bind: str | None = None
    key_required: bool | None = None


def record(observed: Recorded) -> str:
    """The text of a profile with which this host passes, once reviewed. UTF-8, newline at the end."""
    parts = [HEAD.format(host=_comment(observed.host))]
    if observed.wrong:
        lines = [f"#   {_comment(line, WIDEST)}\n" for line in observed.wrong]
        parts.append("".join([f"# {line}\n" for line in wrap(NOT_WELL, 120)] + lines))
    for table, remark, entries in _tables(observed):
        lines = list(entries)
        if lines:
            parts.append("\n".join([f"[{table}]" + (f"  # {remark}" if remark else ""), *lines, ""]))
    return "\n".join(parts) + TAIL


def _tables(seen: Recorded) -> Iterator[tuple[str, str, Iterable[str]]]:
    """Table, remark and lines, in the order in which a person reads them."""
    service = {"unit": seen.unit, "engine": seen.engine}
    if seen.user_manager is not None:
        service["user_manager"] = seen.user_manager
    yield "service", "", [*_lines(service), *_checked({"served_model": seen.served_model}, terms.Said)]
    yield "endpoint", "", _endpoint(seen)
    yield "stack", "at least what was found", _stack(seen)
    packages = _versions(seen.packages, _of("stack.packages", seen))
    yield "stack.packages", "of the interpreter that the service runs", packages
    yield "gpu", "", _gpu(seen.gpus)
    flags = _free(seen.flags, terms.FLAG, _of("flags", seen))
    yield "flags", "as on the command line, without the dashes", flags
    relevant, doubted = (
        {name: value for name, value in each.items() if RELEVANT.match(name)}
        for each in (seen.environment, _of("environment", seen))
    )
    yield "environment", "of the serving process", _free(relevant, terms.VARIABLE, doubted)
    yield "window", "", _window(seen)
    yield "exposure", "", _exposure(seen)


def _of(table: str, seen: Recorded) -> dict[str, str]:
    """The doubts about the keys of a table."""
    begin = f"{table}."
    return {key.removeprefix(begin): words for key, words in seen.doubts.items() if key.startswith(begin)}


def _endpoint(seen: Recorded) -> Iterator[str]:
    yield from _checked({"url": seen.url}, terms.Url)
    if seen.key_required:
        yield 'api_key_env = "DFLASH_API_KEY"  # the name of a variable on this side, never the key'
    yield 'prompt = "Reply with the word ready."'
    # Not in force: what this model answers is for a person to say.
    yield '# expect = "(?i)ready"  # what the answer must match; without it only its structure is checked'


def _stack(seen: Recorded) -> Iterator[str]:
    yield from _versions({"driver": seen.driver, "cuda_toolkit": seen.cuda_toolkit})
    yield from _checked({"compute_capability": seen.compute_capability}, terms.Capability)


def _versions(found: Mapping[str, str | None], doubts: Mapping[str, str] | None = None) -> Iterator[str]:
    """`>=` what was found: a newer version is no fault, an older one is. Local labels (+cu128) are left out."""
    for name, text in sorted(found.items()):
        if text is None or not terms.PACKAGE.fullmatch(name):
            continue
        try:
            Version(text)
        except InvalidVersion:
            yield f"# {_comment(name)}: found {_comment(text)}, which no specifier can be compared with"
        else:
            line = f"{_key(name)} = {_value('>=' + text.strip().partition('+')[0])}"
            yield _doubted(line, (doubts or {}).get(name))


def _gpu(gpus: Sequence[RecordedGpu]) -> Iterator[str]:
    if not gpus:
        return
    yield f"count = {len(gpus)}"
    for name in ("name", "pcie_generation", "pcie_width", "power_limit_w"):
        values = {getattr(gpu, name) for gpu in gpus}
        if len(values) == 1:
            (value,) = values
            whole = int(value) if isinstance(value, float) and value.is_integer() else value
            yield from _checked({name: whole}, _field(Gpu, name))
        else:
            yield f"# {name}: differs between the GPUs: {', '.join(sorted(_comment(str(v)) for v in values))}"


def _window(seen: Recorded) -> Iterator[str]:
    tokens = list(_checked({"tokens": seen.window_tokens}, _field(Window, "tokens")))
    yield from (_doubted(line, seen.doubts.get("window.tokens")) for line in tokens)
    if tokens:
        yield from _checked({"via": seen.window_via}, terms.Via)


def _exposure(seen: Recorded) -> Iterator[str]:
    yield from _checked({"bind": seen.bind}, terms.Address)
    if seen.key_required is not None:
        yield from _lines({"key_required": seen.key_required})


def _free(
    found: Mapping[str, Json], shape: re.Pattern[str], doubts: Mapping[str, str] | None = None
) -> Iterator[str]:
    """Entries whose names the host chose."""
    spellings: set[str] = set()
    for name, value in sorted(found.items()):
        spelling = name.replace("_", "-")
        if not shape.fullmatch(name) or spelling in spellings or not _writable(value):
            yield f"# {_comment(name)}: not written, it cannot be expressed here"
        elif any(secrets({name: value})):
            yield f"# {_comment(name)}: not written, it is a secret"
        else:
            spellings.add(spelling)
            yield from (_doubted(line, (doubts or {}).get(name)) for line in _lines({name: value}))
    yield from (
        f"# {_comment(name)}: {_comment(doubt, WIDEST)}"
        for name, doubt in (doubts or {}).items()
        if name not in found
    )


def _doubted(line: str, doubt: str | None) -> str:
    """The line with a question to the person who reads it."""
    return f"{line}  # {_comment(doubt, WIDEST)}" if doubt else line


def _field(table: type[Any], name: str) -> Any:
    """The type of a field, with its limits."""
    info = table.model_fields[name]
    return info.annotation


def _checked(entries: Mapping[str, Any], allowed: Any) -> Iterator[str]:
    """The entries that the schema allows; a remark for what the host said otherwise."""
    for name, value in entries.items():
        if value is None:
            continue
        try:
            TypeAdapter(allowed).validate_python(value, strict=True)
        except ValidationError:
            yield f"# {name}: not written, what the host said cannot be expressed here"
            continue
        if any(secrets({name: value})):
            yield f"# {name}: not written, it holds a secret"
        else:
            yield from _lines({name: value})


def _lines(entries: Mapping[str, Any]) -> Iterator[str]:
    return (f"{_key(name)} = {_value(value)}" for name, value in entries.items())


def _writable(value: Json) -> bool:
    match value:
        case None:
            return False
        case float():
            return math.isfinite(value)
        case list():
            return all(_writable(item) for item in value)
        case dict():
            return all(_writable(item) for item in value.values())
        case _:
            return True


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _value(name)


def _value(value: Any) -> str:
    match value:
        case str():
            # A TOML string is a JSON string, but for DEL; a lone surrogate is no text at all.
            whole = value.encode("utf-8", "replace").decode()
            return json.dumps(whole, ensure_ascii=False).replace("\x7f", "\\u007f")
        case bool():
            return str(value).lower()
        case list():
            return f"[{', '.join(map(_value, value))}]"
        case dict():
            return f"{{ {', '.join(_lines(value))} }}" if value else "{}"
        case _:
            return repr(value)


def _comment(text: str, most: int = 80) -> str:
    """One line, nothing but what is visible."""
    whole = text.encode("utf-8", "replace").decode()
    return " ".join("".join(c if c.isprintable() else " " for c in whole).split())[:most]
