"""How many restarts and how much time a run may still spend on changing a host.

Law: arithmetic on a clock that is handed in. A step is refused before it is begun, never its way back: a host
that was changed is put back whatever it costs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pytest_dflash.errors import Refused


@dataclass(slots=True)
class Allowance:
    """What a run may spend on one unit.

    Attributes:
        max_restarts: How many restarts in all, those of the way back included; None for any number.
        deadline_s: Seconds after `begun` by which the host must be as it was; None for none.
        clock: Monotonic seconds.
        begun: When the run began, by that clock.
        restarts: How many there have been.
    """

    max_restarts: int | None = None
    deadline_s: float | None = None
    clock: Callable[[], float] = lambda: 0.0
    begun: float = 0.0
    restarts: int = 0

    def afford(self, step: str, *, restarts: int, seconds: float) -> None:
        """Asked before a step is begun.

        Args:
            step: What is to be done, as a noun: "a restart", "budget 15".
            restarts: How many it needs, its way back included.
            seconds: How long it may take, its way back included.

        Raises:
            Refused: It does not fit any more. Nothing was touched.
        """
        if self.max_restarts is not None and self.restarts + restarts > self.max_restarts:
            raise Refused(
                f"{step} needs {counted(restarts, 'restart')} with its way back, {self.restarts} of "
                f"--dflash-max-restarts={self.max_restarts} are used up; raise it, or select fewer checks"
            )
        left = self.left_s
        if left is not None and seconds > left:
            raise Refused(
                f"{step} may take {seconds:.0f} s with its way back, and of --dflash-deadline="
                f"{self.deadline_s:g} only {max(left, 0):.0f} s are left; raise it, or select fewer checks"
            )

    @property
    def left_s(self) -> float | None:
        """Seconds until the deadline; None where there is none."""
        return None if self.deadline_s is None else self.begun + self.deadline_s - self.clock()

    def restarted(self) -> None:
        """Counts a restart, also one of the way back."""
        self.restarts += 1


def counted(number: int, noun: str) -> str:
    """Number and noun: "1 restart", "2 restarts"."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
