"""Which oracle judged, and why no stronger one did.

Law: names and reasons. The order is by strength: what each can prove is said in docs/tree.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Oracle(StrEnum):
    """The ways to know what the target alone would have said, the strongest first."""

    RESCORING = "rescoring by input logprobs"
    PREFILL = "one-token prefill over token ids"
    TEXT = "one-token prefill over text"


WEAKNESS = {
    Oracle.RESCORING: "",
    Oracle.PREFILL: "Only sampled positions are compared, and nobody tells how near two tokens were",
    Oracle.TEXT: "Only sampled places are compared, a text may be cut into other tokens when it comes back, and nobody "
    "tells how near two tokens were",
}


@dataclass(frozen=True, slots=True)
class Choice:
    """The oracle, and why no stronger one: "" for the strongest."""

    oracle: Oracle
    why: str = ""

    def __str__(self) -> str:
        return f"by {self.oracle}" + (f" ({self.why})" if self.why else "")
