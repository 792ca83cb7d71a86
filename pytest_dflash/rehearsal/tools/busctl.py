"""busctl --json=short get-property, for the properties whose exact form `systemctl show` loses.

Law: signatures and shapes as of systemd 252.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pytest_dflash.rehearsal.tools import Answer, unknown

if TYPE_CHECKING:
    from pytest_dflash.rehearsal.manager import Manager
    from pytest_dflash.rehearsal.service import Service

BUS = "org.freedesktop.systemd1"


def object_path(unit: str) -> str:
    """The unit's object: what is no letter or digit, and a leading digit, as `_` and two hex digits."""
    label = "".join(
        character if character.isascii() and character.isalnum() and not (at == 0 and character.isdigit())
        else "".join(f"_{byte:02x}" for byte in character.encode())
        for at, character in enumerate(unit)
    )  # fmt: skip
    return f"/org/freedesktop/systemd1/unit/{label}"


def _property(service: Service, name: str) -> tuple[str, Any] | None:
    loaded = service.loaded
    start = service.stamps.get("ExecMainStart", (0, 0))
    match name:
        case "ExecStart":
            rows = [[argv[0], list(argv), False, *start, 0, 0, service.exec_pid, service.exec_code, service.exec_status]
                    for argv in loaded.argument_lists()]  # fmt: skip
            return "a(sasbttttuii)", rows
        case "Environment":
            return "as", list(loaded.assignments())
        case "EnvironmentFiles":
            return "a(sb)", [list(pair) for pair in loaded.environment_files()]
        case "PassEnvironment" | "UnsetEnvironment":
            return "as", []
    return None


def answer(argv: Sequence[str], manager: Manager) -> Answer:
    """`busctl argv`."""
    words = [word for word in argv if word not in ("--json=short", "--system", "--user", "--no-pager")]
    if len(words) < 5 or words[0] != "get-property" or words[1] != BUS or "--json=short" not in argv:
        return unknown("busctl", f"call {' '.join(argv)!r}")
    path, interface, names = words[2], words[3], words[4:]
    if path != object_path(manager.service.name) or ("--user" in argv) != manager.log.by_user:
        return Answer(
            stderr=f"Failed to get property {names[0]} on interface {interface}: Unknown object '{path}'.\n",
            status=1,
        )
    if interface != f"{BUS}.Service":
        return unknown("busctl", f"interface {interface!r}")
    lines = []
    for name in names:
        held = _property(manager.service, name)
        if held is None:
            return unknown("busctl", f"property {name!r}")
        lines.append(
            json.dumps({"type": held[0], "data": held[1]}, separators=(",", ":"), ensure_ascii=False) + "\n"
        )
    return Answer("".join(lines))
