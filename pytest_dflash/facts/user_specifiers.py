"""What specifiers stand for to a user's own manager.

Law: pure, and silent rather than wrong: what depends on something that was not told stays for the host to resolve.
Sources: systemd.unit(5) of 252 and of 254, which moved state and logs from $XDG_CONFIG_HOME to $XDG_STATE_HOME
(systemd#28168); of the variables those count that the manager itself was started with (systemd#29414).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

PLAIN: Mapping[str, str] = {"u": "user", "U": "uid", "g": "group", "G": "gid", "h": "home", "t": "runtime"}
"""Specifiers to what the host tells."""
STATE_SINCE = 254
HOMES: Mapping[str, tuple[str, str]] = {
    "C": ("XDG_CACHE_HOME", ".cache"),
    "E": ("XDG_CONFIG_HOME", ".config"),
}
STATE: Mapping[bool, tuple[str, str]] = {
    False: ("XDG_CONFIG_HOME", ".config"),
    True: ("XDG_STATE_HOME", ".local/state"),
}
"""Where state is, by whether the manager knows a home of its own for it."""
TEMPORARY: Mapping[str, str] = {"T": "/tmp", "V": "/var/tmp"}  # noqa: S108 - what they stand for, not files of ours
TEMPORARY_BY = frozenset({"TMPDIR", "TEMP", "TMP"})


def told(manager: Iterable[tuple[str, str]]) -> dict[str, str]:
    """The specifiers that are certain.

    Args:
        manager: What is known of the manager by name; `unset` names a variable that it does not have, each in turn.
    """
    pairs = [(name, value) for name, value in manager if value]
    known, unset = dict(pairs), {value for name, value in pairs if name == "unset"}
    found = {letter: known[name] for letter, name in PLAIN.items() if name in known}
    found |= TEMPORARY if unset >= TEMPORARY_BY else {}
    if home := known.get("home"):
        version = re.match(r"v?(\d{3})(?!\d)", known.get("version", ""), re.ASCII)
        state = STATE[int(version[1]) >= STATE_SINCE] if version else ("", "")
        homes = {**HOMES, "S": state, "L": (state[0], f"{state[1]}/log")}
        found |= {letter: f"{home}/{below}" for letter, (name, below) in homes.items() if name in unset}
    return found
