"""A restart that was made.

Law: a value; whoever judges it need not know how it was made.
"""

from __future__ import annotations

from dataclasses import dataclass

from pytest_dflash.lifecycle.phase import Phase
from pytest_dflash.lifecycle.readiness import Settled


@dataclass(frozen=True, slots=True)
class Restart:
    """One restart that was made.

    Attributes:
        before, after: The invocations; a restart that was one has changed it.
        at_s: When it was asked for, seconds since the host's boot.
        settled: How the unit stood in the end.
        took_s: From asking until it stood, confirmed by a completion where one may be asked for.
        noticed_s: From asking until it was seen to stand; None where that was not measured.
    """

    before: str
    after: str
    at_s: float
    settled: Settled
    took_s: float
    noticed_s: float | None = None

    @property
    def ready(self) -> bool:
        """Whether the fresh process serves."""
        return self.settled.phase is Phase.READY
