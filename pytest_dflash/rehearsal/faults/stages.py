"""What several faults do to a stand-in host: edit a file, flip an engine's switch, change a card.

Law: each function takes what is to be changed and gives a stage; a stage whose place is not there fails loudly.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from pytest_dflash.rehearsal import layout

if TYPE_CHECKING:
    from pytest_dflash.rehearsal.faults.fault import Stage
    from pytest_dflash.rehearsal.host import StandInHost


def both(*stages: Stage) -> Stage:
    """One stage after the other."""

    def stage(host: StandInHost) -> None:
        for each in stages:
            each(host)

    return stage


def switch(**switches: object) -> Stage:
    """Flips switches of the engine (`engine.mischief`), which it reads when it starts."""

    def stage(host: StandInHost) -> None:
        known = json.loads(host.mischief.read_text("utf-8")) if host.mischief.exists() else {}
        host.mischief.write_text(json.dumps(known | switches), "utf-8")

    return stage


def replace(old: str, new: str) -> Stage:
    """Edits the unit file."""

    def stage(host: StandInHost) -> None:
        edit(host, host.unit_file.relative_to(host.root).as_posix(), old, new)

    return stage


def edit(host: StandInHost, path: str, old: str, new: str) -> None:
    """Replaces a text in a file below the host's root."""
    file = host.root / path
    text = file.read_text("utf-8")
    assert old in text, f"{old!r} is not in {path}"
    file.write_text(text.replace(old, new), "utf-8")


def in_file(path: str, old: str, new: str) -> Stage:
    """Edits a file below the host's root."""
    return lambda host: edit(host, path, old, new)


def window(tokens: int | None) -> Stage:
    """Writes the unit file with another window, or with none."""
    return lambda host: _write_window(host, tokens)


def _write_window(host: StandInHost, tokens: int | None) -> None:
    host.unit_file.write_text(layout.unit_text(host.root, host.port, tokens), "utf-8")


def tool(*words: str) -> Stage:
    """Runs a command of the stand-in host."""
    return lambda host: _run(host, words)


def _run(host: StandInHost, words: tuple[str, ...]) -> None:
    host.tool(*words)


def cards(**values: str) -> Stage:
    """Gives every card other values; dots in names are written as `__`."""

    def stage(host: StandInHost) -> None:
        table = _gpus(host)
        table["every"] |= {name.replace("__", "."): value for name, value in values.items()}
        for each in table["each"]:
            for name in values:
                each.pop(name.replace("__", "."), None)
        _write_gpus(host, table)

    return stage


def card(at: int, **values: str) -> Stage:
    """Gives one card other values; dots in names are written as `__`."""

    def stage(host: StandInHost) -> None:
        table = _gpus(host)
        table["each"][at] |= {name.replace("__", "."): value for name, value in values.items()}
        _write_gpus(host, table)

    return stage


def without_card(at: int) -> Stage:
    """Takes a card out."""

    def stage(host: StandInHost) -> None:
        table = _gpus(host)
        del table["each"][at]
        _write_gpus(host, table)

    return stage


def _gpus(host: StandInHost) -> dict[str, Any]:
    table: dict[str, Any] = json.loads((host.folder / "gpus.json").read_text("utf-8"))
    return table


def _write_gpus(host: StandInHost, table: object) -> None:
    (host.folder / "gpus.json").write_text(json.dumps(table), "utf-8")
