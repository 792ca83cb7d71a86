"""The way to one host: a connection, and for the rehearsal the stand-in host behind it.

Law: opens and closes; one for each host and run, whatever is judged there.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pytest_dflash.facts.connection import Connection, local_connection, open_connection
from pytest_dflash.facts.target import Target


@dataclass
class Reach:
    """The way to one host, shared by all that is judged there; connects when it is first used."""

    target: Target
    options: dict[str, Any]
    faults: tuple[str, ...] = ()
    opened: Connection | None = None
    closers: list[Callable[[], None]] = field(default_factory=list)

    @property
    def connection(self) -> Connection:
        """The connection; for the rehearsal the stand-in host is started first."""
        if self.opened is None:
            self.opened = self._rehearse() if self.target.scheme == "rehearsal" else self._open()
        return self.opened

    def _open(self) -> Connection:
        return open_connection(self.target, **self.options)

    def _rehearse(self) -> Connection:
        from pytest_dflash.rehearsal.host import StandInHost  # noqa: PLC0415 - only where it is played

        folder = tempfile.TemporaryDirectory(prefix="dfl-rehearsal-")
        self.closers.append(folder.cleanup)
        host = StandInHost(Path(folder.name) / "host", self.faults)
        self.closers.append(host.close)
        host.start()
        return local_connection(host.root, host.bin)

    def close(self) -> None:
        """Closes the connection and ends the stand-in; may be called twice."""
        opened, self.opened = self.opened, None
        if opened is not None:
            opened.close()
        while self.closers:
            self.closers.pop()()
