"""What several faults do to a stand-in host: edit a file, flip an engine's switch, change a card.

Law: each function takes what is to be changed and gives a stage; a stage whose place is not there fails loudly.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from pytest_dflash.rehearsal import layout, venv

if TYPE_CHECKING:
    from pytest_dflash.rehearsal.host import StandInHost

Stage = Callable[["StandInHost"], None]


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


def without_speculation(host: StandInHost) -> None:
    """Takes every flag of the drafter out of the unit file."""
    text = host.unit_file.read_text("utf-8")
    begin, end = text.index(" \\\n    --speculative-algorithm"), text.index("\nRestart=")
    host.unit_file.write_text(text[:begin] + text[end:], "utf-8")


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


def cards_without(*names: str) -> Stage:
    """Makes nvidia-smi know no such fields."""

    def stage(host: StandInHost) -> None:
        table = _gpus(host)
        for cells in (table["every"], *table["each"]):
            for name in names:
                cells.pop(name, None)
        _write_gpus(host, table)

    return stage


def card_at_work(at: int, **values: str) -> Stage:
    """Lets one card show these values although it works; dots in names are written as `__`."""
    return _in_table(kept={str(at): {name.replace("__", "."): value for name, value in values.items()}})


def only_cards(number: int) -> Stage:
    """Leaves so many cards."""
    return lambda host: _write_gpus(host, _gpus(host) | {"each": _gpus(host)["each"][:number]})


def many_cards(number: int) -> Stage:
    """Makes so many cards of those that are there."""

    def stage(host: StandInHost) -> None:
        table = _gpus(host)
        one = table["each"][-1]
        for index in range(len(table["each"]), number):
            uuid = f"{one['uuid'][:-4]}{index:04x}"
            bus = f"00000000:{index + 96:02X}:00.0"
            more = {"index": str(index), "uuid": uuid, "gpu_uuid": uuid, "pci.bus_id": bus, "gpu_bus_id": bus}
            table["each"].append(one | more)
        _write_gpus(host, table)

    return stage


def cards_remark(text: str) -> Stage:
    """Makes nvidia-smi print this beside its rows."""
    return _in_table(remark=text)


def without_card(at: int) -> Stage:
    """Takes a card out."""

    def stage(host: StandInHost) -> None:
        table = _gpus(host)
        del table["each"][at]
        _write_gpus(host, table)

    return stage


def cards_say(text: str, status: int) -> Stage:
    """Makes nvidia-smi print this and nothing else."""
    return _in_table(complaint=[text, status])


def other_on_card(at: int, pid: int, name: str) -> Stage:
    """Lets a process that is not the unit's compute on a card."""

    def stage(host: StandInHost) -> None:
        table = _gpus(host)
        uuid = table["each"][at]["uuid"]
        row = {"gpu_uuid": uuid, "pid": str(pid), "process_name": name, "name": name, "used_memory": "1024"}
        table.setdefault("others", []).append(row | {"used_gpu_memory": "1024"})
        _write_gpus(host, table)

    return stage


def toolkit(release: str) -> Stage:
    """Gives nvcc and ptxas another release."""
    return _in_table(toolkit=release)


def unlisted() -> Stage:
    """Takes the table of processes from nvidia-smi."""
    return _in_table(unlisted=True)


def _in_table(**values: object) -> Stage:
    return lambda host: _write_gpus(host, _gpus(host) | values)


def mount(point: str, device: str, room: tuple[int, int], inodes: tuple[int, int]) -> Stage:
    """Gives a mount another size: `room` is size and used bytes, `inodes` how many there are and are used."""

    def stage(host: StandInHost) -> None:
        file = host.folder / "mounts.json"
        known = json.loads(file.read_text("utf-8")) if file.exists() else {}
        file.write_text(json.dumps(known | {point: [device, *room, *inodes]}), "utf-8")

    return stage


def written(path: str, text: str, *, mode: int = 0o644) -> Stage:
    """Writes a file below the host's root."""

    def stage(host: StandInHost) -> None:
        file = host.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")
        file.chmod(mode)

    return stage


def mode(path: str, bits: int) -> Stage:
    """Gives a file or a folder below the host's root other rights."""
    return lambda host: (host.root / path).chmod(bits)


def drop_in(text: str, folder: str = "etc/systemd/system", name: str = "override.conf") -> Stage:
    """Writes a drop-in of the unit."""
    return lambda host: written(f"{folder}/{host.unit}.d/{name}", text)(host)


def gone(path: str) -> Stage:
    """Removes a file or an empty folder below the host's root."""

    def stage(host: StandInHost) -> None:
        found = host.root / path
        found.rmdir() if found.is_dir() else found.unlink()

    return stage


def package(name: str, version: str) -> Stage:
    """Gives a package of the serving interpreter another version."""

    def stage(host: StandInHost) -> None:
        (held,) = host.site_packages.glob(f"{name.replace('-', '_')}-*.dist-info")
        held.rename(host.folder / f"{held.name}.replaced")
        venv.install(host.site_packages, name, version)

    return stage


def awaited(text: str) -> Stage:
    """Waits for a line of the log of the invocation that runs then."""
    return lambda host: host.wait_for_log(text)


def _gpus(host: StandInHost) -> dict[str, Any]:
    table: dict[str, Any] = json.loads((host.folder / "gpus.json").read_text("utf-8"))
    return table


def _write_gpus(host: StandInHost, table: object) -> None:
    (host.folder / "gpus.json").write_text(json.dumps(table), "utf-8")
