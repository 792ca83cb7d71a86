"""Asks a host everything at once, again where it moved meanwhile.

Law: acts through its connection only; knows no engine and judges nothing. What it hands out holds no secret.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from pytest_dflash.errors import CommandTimeout, HostUnreachable
from pytest_dflash.facts import transcript
from pytest_dflash.facts.connection import Connection
from pytest_dflash.facts.identity import Identity
from pytest_dflash.facts.probe import Probe
from pytest_dflash.facts.reading import Reading
from pytest_dflash.facts.transcript import Transcript
from pytest_dflash.redaction import Redactor

ATTEMPTS = 3
PAUSE_S = 0.5


class Collector:
    """Collects transcripts of one unit on one host.

    Args:
        connection: The way there.
        unit: The unit's full name.
        redactor: Learns the secrets that the host shows, and hides them.
        pause: Waits so many seconds between attempts.
        owner: The user whose own manager has the unit; "" for the system's.
    """

    def __init__(
        self,
        connection: Connection,
        unit: str,
        redactor: Redactor | None = None,
        pause: Callable[[float], None] = time.sleep,
        owner: str = "",
    ) -> None:
        self.connection = connection
        self.unit = unit
        self.redactor = redactor or Redactor()
        self._pause = pause
        self._owner = owner

    def collect(self, probes: Sequence[Probe[Any]], *, passive: bool = True) -> Transcript:
        """All answers in one round trip; a torn transcript is collected again, at most three times in all.

        Args:
            probes: What is asked.
            passive: False while a start is waited out: such looks are not counted as commands for facts.

        Returns:
            A transcript that may still be torn or cut; it says so itself.

        Raises:
            HostUnreachable: No shell spoke at all.
            CommandTimeout: As above, within the deadline.
        """
        script = transcript.compose(probes, self.unit, self.connection.root, owner=self._owner)
        read = self._ask(script, probes, passive=passive)
        for _ in range(ATTEMPTS - 1):
            if not read.torn or read.cut:
                break
            self._pause(PAUSE_S)
            read = self._ask(script, probes, passive=passive)
        return read

    def identity(self) -> Reading[Identity]:
        """Who runs now; counts as no passive command, as it brackets measurements."""
        script = transcript.compose((), self.unit, self.connection.root, owner=self._owner)
        return self._ask(script, (), passive=False).identity

    def _ask(self, script: str, probes: Sequence[Probe[Any]], *, passive: bool = True) -> Transcript:
        cut = ""
        try:
            stdout = self.connection.run(script, passive=passive).stdout
        except (CommandTimeout, HostUnreachable) as error:
            if not error.partial:
                raise
            stdout, cut = error.partial, str(error)
        return transcript.read(stdout, probes, cut=cut, guard=self.redactor.guard)
