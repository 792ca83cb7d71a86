"""From a file to the expectations of one host.

Law: reads profile files, merges their layers, reports everything that is wrong with them at once. It is the
only module of the profile that opens a file.
"""

from __future__ import annotations

import hashlib
import os.path
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pydantic import ValidationError

from pytest_dflash.errors import ProfileError
from pytest_dflash.profile.complaint import complaints, dotted
from pytest_dflash.profile.overrides import Layer, Merged, expectation, merge
from pytest_dflash.profile.schema import Profile
from pytest_dflash.profile.secrets import secrets

FOR_ALL_HOSTS = ("hosts", "extends", "reviewed")
"""Keys of a file that a pattern under `[hosts]` cannot have."""


@dataclass(frozen=True, slots=True)
class LoadedProfile:
    """The expectations of one host, and where they come from.

    Attributes:
        path: The file as it was named.
        sha256: Of that file's bytes, as `sha256sum` prints it.
        reviewed: Whether a person vouches for it.
        sources: Dotted key to the file, the pattern in it or the option that said it. Keys that nobody said
            have their defaults and are not listed.
        bases: The files that it extends, nearest first, to their sha256.
    """

    profile: Profile
    path: Path
    sha256: str
    reviewed: bool
    sources: Mapping[str, str]
    bases: Mapping[str, str]


def load(path: str | Path, *, host: str | None = None, expect: Sequence[str] = ()) -> LoadedProfile:
    """Reads a profile for a host.

    Args:
        path: The TOML file.
        host: The host's name as findings have it; None: the expectations of no host in particular.
        expect: Each a `KEY=VALUE` of `--dflash-expect`; later ones win.

    Raises:
        ProfileError: A file cannot be read or is no TOML, a key is unknown, a value is impossible, or a
            secret stands in it. One line for each thing wrong: file, key, what is allowed, what was found.
    """
    named = Path(path)
    files = list(_chain(named))
    layers = [layer for file in reversed(files) for layer in file.layers]
    # Patterns of all files come after what is for all hosts, whichever file says it: the special wins.
    for_all = [layer for layer in layers if layer.hosts is None]
    special = [layer for layer in layers if layer.hosts is not None]
    typed = [_here(expectation(text)) for text in expect]
    effective = merge([*for_all, *(layer for layer in special if layer.is_for(host)), *typed])
    _refuse_secrets([*layers, *typed])
    wrong = list(_wrong(merge(for_all), str(named), skip_missing=True))
    for layer in special:
        wrong += _wrong(merge([*for_all, layer]), layer.source, skip_missing=True)
    wrong = list(dict.fromkeys([*wrong, *_wrong(effective, str(named))]))
    if wrong:
        raise ProfileError("\n".join(wrong))
    profile = Profile.model_validate(effective.tree)
    return LoadedProfile(
        profile=profile,
        path=named,
        sha256=files[0].sha256,
        reviewed=profile.reviewed,
        sources=MappingProxyType({dotted(key): source for key, source in effective.sources.items()}),
        bases=MappingProxyType({str(file.path): file.sha256 for file in files[1:]}),
    )


@dataclass(frozen=True, slots=True)
class _File:
    path: Path
    sha256: str
    layers: Sequence[Layer]
    extends: str | None


def _chain(path: Path) -> Iterator[_File]:
    """The file, the one that it extends, and so on."""
    seen: list[Path] = []
    current: Path | None = path
    while current is not None:
        if current.resolve() in seen:
            circle = " extends ".join(str(step) for step in [*seen, current.resolve()])
            raise ProfileError(f"{path}: extends: must not lead back to itself, found {circle}")
        seen.append(current.resolve())
        file = _read(current, extended_by=None if current is path else str(path))
        yield file
        current = current.parent / file.extends if file.extends is not None else None


def _read(path: Path, extended_by: str | None) -> _File:
    asked = f"{path}: cannot be read as a profile" + (f" (extended by {extended_by})" if extended_by else "")
    try:
        content = path.read_bytes()
        tree = tomllib.loads(content.decode("utf-8-sig"))
    except OSError as error:
        raise ProfileError(f"{asked}: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise ProfileError(f"{asked}: it is not UTF-8 (at line {line})") from None
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise ProfileError(f"{asked}: it is not TOML: {error}") from None
    extends = tree.pop("extends", None)
    if not (extends is None or (isinstance(extends, str) and extends)):
        raise ProfileError(f'{path}: extends: must be the path of a profile, such as "base.toml"')
    hosts = tree.pop("hosts", {})
    return _File(
        path=path,
        sha256=hashlib.sha256(content).hexdigest(),
        layers=[Layer(_rooted(tree, path.parent), str(path)), *_patterns(hosts, path)],
        extends=extends,
    )


def _patterns(hosts: Any, path: Path) -> Iterator[Layer]:
    if not isinstance(hosts, dict):
        raise ProfileError(f'{path}: hosts: must be a table of patterns, such as [hosts."gpu2*"]')
    for pattern, tree in hosts.items():
        key = dotted(("hosts", pattern))
        if not isinstance(tree, dict):
            raise ProfileError(f"{path}: {key}: must be a table of the keys that differ on these hosts")
        for name in FOR_ALL_HOSTS:
            if name in tree:
                raise ProfileError(f"{path}: {key}.{name}: stands at the top of a profile, for all hosts")
        yield Layer(_rooted(tree, path.parent), f"{path} [{key}]", hosts=pattern)


def _rooted(tree: dict[str, Any], folder: Path) -> dict[str, Any]:
    """The tree with its paths absolute: they are relative to the file that says them."""
    endpoint = tree.get("endpoint")
    named = endpoint.get("ca_file") if isinstance(endpoint, dict) else None
    if isinstance(endpoint, dict) and isinstance(named, str) and named.strip():
        # `abspath`, not `resolve`: a certificate behind a link stays under the name that a person gave it.
        rooted = os.path.abspath(folder / named)  # noqa: PTH100 - as said
        return {**tree, "endpoint": {**endpoint, "ca_file": rooted}}
    return tree


def _here(layer: Layer) -> Layer:
    """A path on the command line is relative to the working directory."""
    return Layer(_rooted(dict(layer.tree), Path()), layer.source)


def _refuse_secrets(layers: Sequence[Layer]) -> None:
    """First of all checks, so that no other message can show one."""
    found = [
        f"{layer.source}: {dotted(key)}: holds a secret, which a profile must not; it is not shown here. "
        "Put it into a variable on this side and name that in endpoint.api_key_env, or expect it by `true`"
        for layer in layers
        for key in secrets(layer.tree)
    ]
    if found:
        raise ProfileError("\n".join(dict.fromkeys(found)))


def _wrong(merged: Merged, default: str, *, skip_missing: bool = False) -> Iterator[str]:
    """Everything that the schema refuses, each with the layer that says it."""
    try:
        Profile.model_validate(merged.tree)
    except ValidationError as error:
        for complaint in complaints(error, merged.tree):
            if not (skip_missing and complaint.missing):
                yield f"{merged.source(complaint.path, default)}: {complaint}"
