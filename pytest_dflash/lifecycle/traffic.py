"""Requests that are not ours, and taking a host out of its load balancer while it is changed.

Law: an agent on this side: runs the profile's two commands, without a shell, and waits. How busy an engine is, it
is told; between two of our own requests every request is somebody else's. What was drained is undrained in any
case, also where the drain itself failed half way.
"""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from tempfile import TemporaryFile

from pytest_dflash.engines.dialect import Load
from pytest_dflash.errors import NotPutBack, Refused
from pytest_dflash.facts.reading import Reading, Silent, Value
from pytest_dflash.profile.schema import Traffic

QUIET_LOOKS, QUIET_PAUSE_S, LOOKS = 2, 0.3, 4
"""An engine is idle when two looks in a row say so: a batch may be empty for a moment, and one of ours may linger."""
DRAIN_PAUSE_S = 1.0
REASON = "foreign_traffic"

Look = Callable[[], Reading[Load]]
Sleep = Callable[[float], None]


class CommandFailed(Exception):  # noqa: N818 - as those of `errors`
    """A command on this side did not end well; the message names it."""


def busy(look: Look, sleep: Sleep = time.sleep) -> str:
    """Why the engine does not count as idle, in words; "" when it is."""
    quiet, said = 0, ""
    for number in range(LOOKS):
        if number:
            sleep(QUIET_PAUSE_S)
        found = look()
        if not isinstance(found, Value):
            why = found.why if isinstance(found, Silent) else "it has no such thing"
            return f"whether requests of others run could not be told: {why}"
        quiet = quiet + 1 if found.value.idle else 0
        if quiet >= QUIET_LOOKS:
            return ""
        if not found.value.idle:
            said = f"requests that are not ours: {found.value} ({found.where})"
    return said


@dataclass(frozen=True, slots=True)
class Rotation:
    """One host's place behind its load balancer.

    Attributes:
        host: Its name, for `{host}` in the commands.
        traffic: The profile's commands.
        look: Tells how busy the engine is.
        drained: A person vouches that nobody else uses the host.
        sleep, clock: The world's time.
        tell: Takes a line of progress.
    """

    host: str
    traffic: Traffic
    look: Look
    drained: bool = False
    sleep: Sleep = time.sleep
    clock: Callable[[], float] = time.monotonic
    tell: Callable[[str], None] = lambda _line: None

    @property
    def by_hand(self) -> str:
        """What brings the host back, as a person types it; "" where `left` takes it out of nothing."""
        drains = self.traffic.drain and not self.drained
        return shlex.join(filled(self.traffic.undrain, self.host)) if drains else ""

    def load_guard(self) -> None:
        """Before requests that load the host.

        Raises:
            Refused: Somebody else's requests run, or it cannot be told.
        """
        why = busy(self.look, self.sleep)
        if why:
            raise Refused(
                f"{REASON}: {why}; nothing was sent. Take the host out of rotation, or type --dflash-allow=load"
            )

    @contextmanager
    def left(self) -> Iterator[None]:
        """The host without foreign requests, for the time of the block: drained, or found idle.

        Raises:
            Refused: It could not be brought about. The host was not touched, and is in rotation again.
            NotPutBack: It could not be undrained.
        """
        if self.drained:
            yield
        elif self.traffic.drain:
            try:
                self._drain()
                yield
            finally:
                self._undrain()
        else:
            why = busy(self.look, self.sleep)
            if why:
                raise Refused(
                    f"{REASON}: {why}; {self.host} was not touched. Give the profile a [traffic] drain and "
                    "undrain, or take the host out of rotation and type --dflash-drained"
                )
            yield

    def _drain(self) -> None:
        self.tell(f"{self.host}: drain")
        try:
            command(self.traffic.drain, self.host, self.traffic.timeout_s)
        except CommandFailed as error:
            raise Refused(
                f"[traffic] drain failed: {error}; {self.host} was not touched. Try the command by hand"
            ) from None
        deadline = self.clock() + self.traffic.timeout_s
        while why := busy(self.look, self.sleep):
            if self.clock() >= deadline:
                raise Refused(
                    f"{REASON}: {self.traffic.timeout_s:g} s after [traffic] drain still {why}; {self.host} was "
                    "not touched. Raise traffic.timeout_s, or see who goes around the load balancer"
                )
            self.tell(f"{self.host}: drained, {why}")
            self.sleep(DRAIN_PAUSE_S)

    def _undrain(self) -> None:
        """Once more where it was interrupted: a host that nobody puts back serves nobody."""
        self.tell(f"{self.host}: undrain")
        try:
            command(self.traffic.undrain, self.host, self.traffic.timeout_s)
        except KeyboardInterrupt:
            with suppress(CommandFailed):
                command(self.traffic.undrain, self.host, self.traffic.timeout_s)
            raise
        except CommandFailed as error:
            by_hand = " ".join(filled(self.traffic.undrain, self.host))
            raise NotPutBack(
                f"{self.host} is still out of rotation, since [traffic] undrain failed: {error}; by hand: {by_hand}"
            ) from None


def filled(argv: Sequence[str], host: str) -> list[str]:
    """The command with the host's name in it."""
    return [word.replace("{host}", host) for word in argv]


def command(argv: Sequence[str], host: str, timeout_s: float) -> None:
    """Runs a command of the profile on this side, in a group of its own that a Ctrl-C does not reach.

    Raises:
        CommandFailed: It could not be started, ended with something else than 0, or not in time.
    """
    words = filled(argv, host)
    shown = " ".join(words)
    with TemporaryFile() as complaints:
        try:
            process = subprocess.Popen(  # noqa: S603 - the profile's own words, no shell
                words,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=complaints,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            raise CommandFailed(f"`{shown}` could not be started: {error}") from None
        try:
            code = process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            raise CommandFailed(f"`{shown}` did not end within {timeout_s:g} s") from None
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        complaints.seek(0)
        last = complaints.read().decode("utf-8", "replace").strip().splitlines()[-1:]
    if code:
        raise CommandFailed(f"`{shown}` ended with {code}" + "".join(f": {each[:200]}" for each in last))
