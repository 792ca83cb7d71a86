"""What the stand-in executables answer, one module a tool or family.

Law: exactly the questions that were recorded, answered from the manager's state; anything else is refused
loudly (status 64), so that a probe cannot come to rely on an answer that no host ever gave.
"""

from __future__ import annotations

from dataclasses import dataclass

UNKNOWN = 64  # EX_USAGE


@dataclass(frozen=True, slots=True)
class Answer:
    """What a tool prints, and its exit status."""

    stdout: str = ""
    stderr: str = ""
    status: int = 0


def unknown(tool: str, what: object) -> Answer:
    """The refusal of a question that the stand-in does not know."""
    return Answer(
        stderr=f"stand-in {tool}: unknown {what}; no recording tells what a host would say\n", status=UNKNOWN
    )
