"""Before a check acts: whether it may, and whether anything would come of it.

Law: asks the run, changes nothing; where a check must not act, it raises what the reports then say.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pytest_dflash.errors import Asleep
from pytest_dflash.facts.reading import Value
from pytest_dflash.rules.endpoint import ASLEEP, WAKE

if TYPE_CHECKING:
    from pytest_dflash.checks import Check
    from pytest_dflash.host_run import HostRun

QUIET_HOLDS_S = 5.0
"""So long a host without foreign requests counts as one: each look for them takes a while."""


@dataclass
class Guard:
    """Of all hosts of a session. `quiet_until`: by host, when it has to be looked at again."""

    quiet_until: dict[str, float] = field(default_factory=dict)

    def passes(self, declared: Check, run: HostRun) -> None:
        """Returns where the check may act.

        Raises:
            Asleep: It waits for tokens, and the engine sleeps.
            Refused: It would load the host while requests of others run, and nobody typed that it may; or a
                change that was made is not in force any more.
            NotServing, HostError: There is nothing to load.
        """
        if "controller" in run.__dict__:
            run.controller.beat()  # a check may take its time while flags are changed
        if declared.generates and isinstance(run.load, Value) and run.load.value.asleep:
            raise Asleep(ASLEEP, WAKE)
        if declared.level == "load" and not run.allowed.load_typed and run.service:
            self._quiet(run)

    def _quiet(self, run: HostRun) -> None:
        now = run.rotation.clock
        if now() >= self.quiet_until.get(run.name, 0.0):
            run.rotation.load_guard()
            self.quiet_until[run.name] = now() + QUIET_HOLDS_S
