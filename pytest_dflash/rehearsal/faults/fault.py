"""What a fault is: who stages it, who must notice it, and in which words.

Law: values only. How a host is spoiled is told in `stages` and in the module of the fault's area.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING, Literal

from pytest_dflash.rehearsal.faults.stages import Stage

if TYPE_CHECKING:
    from pytest_dflash.rehearsal.host import StandInHost

Layer = Literal[
    "hardware",
    "driver",
    "machine",
    "toolkit",
    "python",
    "systemd",
    "process",
    "configuration",
    "speculation",
    "endpoint",
    "throughput",
    "exposure",
    "tool",
]
"""Where the cause lies, from the cards up; "tool" is a trap for whoever looks."""
Severity = Literal["silent-wrong", "silent-slow", "exposure", "down", "noisy"]
"""What it does to the users, worst first: wrong answers or settings, lost speed, open doors, an outage, an annoyance."""
SERVING = "The server is fired up and ready to roll!"


def nothing(_host: StandInHost) -> None:
    """No stage."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault.

    Attributes:
        name: Kebab-case, stable.
        level: How far a run must be allowed to go to notice: read, probe, load, restart, reconfigure.
        checks: Which checks must notice, as `check` or `check[param]`; unproven is noticing.
        title: What happened, in one line.
        layer: Where its cause lies.
        severity: What it does to the users of the host.
        says: Words that the summary of a red finding must hold.
        before: Done to the host before the unit is started (a daemon-reload follows).
        after: Done once the unit has settled.
        settled_by: The line of the log by which it has; "" where no start is to be waited for.
        expects: What the profile expects differently of this host, as `KEY=VALUE`.
        otherwise_at: Which checks must notice instead, at some budgets of the draft tree: none of them where the engine
            does what a healthy one does.
    """

    name: str
    level: str
    checks: tuple[str, ...]
    title: str
    _: KW_ONLY
    layer: Layer
    severity: Severity
    says: str
    before: Stage = nothing
    after: Stage = nothing
    settled_by: str = SERVING
    expects: tuple[str, ...] = ()
    otherwise_at: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
