"""JSON flags and the keys inside of them.

Law: values in, values out. The keys are what is followed; the whole is put together again where it is asked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pytest_dflash.findings import Json


def flat(setting: str, value: Json) -> dict[str, Json]:
    """`{"speculative-config.method": …, …}` of an object; anything else, and an empty one, under the setting's own name."""
    return dict(_leaves(setting, value))


def _leaves(name: str, value: Json) -> Iterator[tuple[str, Json]]:
    if not isinstance(value, Mapping) or not value:
        yield name, value
        return
    for key, inner in value.items():
        yield from _leaves(f"{name}.{key.replace('-', '_')}", inner)


def merged(into: dict[str, Json], keys: list[str], value: Json) -> None:
    """Puts a value at a path, lists joined: `--json.key+ a --json.key+ b`."""
    here = into
    for key in keys[:-1]:
        inner = here.get(key)
        if not isinstance(inner, dict):
            inner = here[key] = {}
        here = inner
    old = here.get(keys[-1])
    here[keys[-1]] = [*old, *value] if isinstance(old, list) and isinstance(value, list) else value
