"""The usual cause of a loss between two witnesses, and what to do.

Law: a table and its lookup. `{setting}`, `{value}` and `{unit}` are filled in; nothing is found out here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise


@dataclass(frozen=True, slots=True)
class Cause:
    """Why it usually happens, and the next step."""

    cause: str
    remedy: str


RELOAD = "systemctl daemon-reload && systemctl restart {unit}"

LOST: Mapping[tuple[str, str], Cause] = {
    ("unit_file", "loaded_unit"): Cause(
        "The file was edited and the manager has not read it since (a new drop-in directory or a file put back with "
        "an older date goes unnoticed even by NeedDaemonReload)",
        f"{RELOAD} when drained, then run again",
    ),
    ("loaded_unit", "process_argv"): Cause(
        "The manager was reloaded and the service was not restarted, so the process still runs the old command "
        "(or a wrapper between the two drops it)",
        "systemctl restart {unit} when drained, then run again",
    ),
    ("process_argv", "server_args_log"): Cause(
        "The engine replaced the value at start-up, or read another one later on the line or from a --config file",
        "Look for a warning about {setting} in this invocation's log, for a repeated flag and for --config",
    ),
    ("server_args_log", "server_info"): Cause(
        "It was changed while running (set_internal_state), or resolved after the arguments were printed",
        "Find out who changed it, then systemctl restart {unit} to return to the arguments",
    ),
    ("server_info", "draft_runner_log"): Cause(
        "The target was told and the draft was not",
        "Take a version or an algorithm whose draft runner honours {setting} (`--help` of this build names the flags that "
        "it has; a fork may have its own), then restart {unit}",
    ),
}
"""From one witness to the next one, where the expected value was lost."""

CAME_BACK: Mapping[tuple[str, str], Cause] = {
    ("unit_file", "loaded_unit"): Cause(
        "Only the disk differs: the file was edited and not loaded. The next reload and restart would bring the other value",
        "Put {value} for {setting} back into the unit file, or change the profile if the edit is meant",
    ),
    ("loaded_unit", "process_argv"): Cause(
        "The manager holds another value than the process runs with: the next restart would bring it",
        "Put {value} for {setting} back into the unit file, systemctl daemon-reload, and run again",
    ),
}
"""Where witnesses before the step differ from the expectation, and those after it hold it."""

EITHER_WAY = "If {new} is meant: {remedy}. If not: make {setting} what it was where it is set ({old})"
"""The remedy where nothing was expected, and disk, manager and process contradict each other."""

NEVER_ASKED = Cause(
    "It was never asked for: the unit does not set it and the engine decided by itself",
    f"Set {{setting}} to {{value}} in the unit, then {RELOAD}",
)
ASKED_OTHERWISE = Cause(
    "The unit asks for another value, and every witness repeats it",
    f"Set {{setting}} to {{value}} in the unit, then {RELOAD}; or change the profile if the unit is right",
)
UNWANTED = Cause(
    "The unit asks for it, or the engine turned it on by itself, and the profile wants it absent",
    f"Take {{setting}} out of the unit, then {RELOAD}; or change the profile if the unit is right",
)
ELSEWHERE = Cause(
    "The value changed on its way, and was at no time the expected one",
    f"Set {{setting}} to {{value}} in the unit, then {RELOAD}",
)
OTHERWISE = Cause(
    "A witness further on came back to the value",
    "Look at the two places named, and make them agree",
)

HEAR: Mapping[str, str] = {
    "unit_file": "Let the tool read the unit's files: run with --sudo or as root",
    "loaded_unit": "Let the tool ask the manager: systemctl and busctl must be there and allowed",
    "process_argv": "Start the unit, and let the tool read its process: run with --sudo or as root",
    "server_args_log": "Let the tool read the journal (--sudo, or group systemd-journal), and keep the start-up lines: "
    "restart {unit} if they were rotated away",
    "server_info": "Make the engine answer its passive routes: see endpoint.serves",
    "draft_runner_log": "Let the tool read the journal (--sudo, or group systemd-journal), and keep the start-up lines: "
    "restart {unit} if they were rotated away; where this engine never prints the line, name draft_runner_log in "
    "[witnesses] optional",
    "ready_line": "Wait until the engine is ready (see endpoint.serves), and run again",
}
"""What makes a silent witness speak."""


def between(order: Sequence[str], early: str, late: str, *, came_back: bool = False) -> Cause:
    """The cause of a change between two heard witnesses; with silent ones between, all that are possible.

    Args:
        order: All witnesses in order of propagation.
        early: The last one before the change.
        late: The first one after it.
        came_back: The expected value appears at `late`, it is not lost there.
    """
    names = list(order[order.index(early) : order.index(late) + 1])
    table = CAME_BACK if came_back else LOST
    found = [table[step] for step in pairwise(names) if step in table]
    if not found:
        return OTHERWISE
    if len(found) == 1:
        return found[0]
    return Cause(
        "One of these. " + " · ".join(each.cause for each in found),
        " · or ".join(each.remedy for each in found),
    )
