"""Which process of which boot all readings are about.

Law: five numbers and names, and what it means when they move. A pid alone identifies nothing: it is bound to
the boot, the unit's invocation and the process's start time.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

from pytest_dflash.facts.digits import whole
from pytest_dflash.facts.probe import Reply
from pytest_dflash.facts.reading import Reading, Silent, Value


@dataclass(frozen=True, slots=True)
class Identity:
    """What must not move while something is read or measured.

    Attributes:
        boot_id: The kernel's random name of this boot.
        invocation_id: systemd's name of this run of the unit; None when the unit never ran since boot.
        main_pid: None when no process runs.
        n_restarts: How often the manager restarted the unit by itself; None where it does not say.
        start_ticks: When main_pid started, in clock ticks since boot; None when it is gone.
    """

    boot_id: str
    invocation_id: str | None
    main_pid: int | None
    n_restarts: int | None
    start_ticks: int | None


_WORDS = {
    "boot_id": "the host was rebooted",
    "invocation_id": "the unit was started anew",
    "main_pid": "the main process changed",
    "n_restarts": "the manager restarted the unit",
    "start_ticks": "the main process changed",
}


def movement(first: Identity, last: Identity) -> str:
    """What moved between two readings, in words; empty when nothing did."""
    moved = (
        f"{_WORDS[field.name]} ({field.name} {getattr(first, field.name)} -> {getattr(last, field.name)})"
        for field in fields(Identity)
        if getattr(first, field.name) != getattr(last, field.name)
    )
    return "; ".join(moved)


def parse_identity(reply: Reply) -> Reading[Identity]:
    """Reads the KEY=VALUE lines of `transcript`'s identity question."""
    says = dict(line.split("=", 1) for line in reply.text.splitlines() if "=" in line)
    if not says.get("BootID"):
        return Silent("the host's boot id (/proc/sys/kernel/random/boot_id) cannot be read", "/proc")
    if "MainPID" not in says:
        return Reply(b"", reply.stdout, reply.rc).silence("systemctl show")
    return Value(
        Identity(
            boot_id=says["BootID"],
            invocation_id=says.get("InvocationID") or None,
            main_pid=whole(says.get("MainPID")) or None,
            n_restarts=whole(says.get("NRestarts")),
            start_ticks=whole(says.get("StartTicks")) or None,
        ),
        "systemctl show",
    )
