"""A unit held by one run: its lock taken, its lease renewed, the requests of others kept away.

Law: an agent, by its connection. It sends scripts and renews; what they change is `controller`'s. The order is: lock,
word of the drain, drain; and back: undrain, word and lock away. So a run that dies at any point leaves word.
"""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, nullcontext, suppress
from dataclasses import dataclass

from pytest_dflash.errors import HostError, NotPutBack, Refused
from pytest_dflash.facts.connection import Connection
from pytest_dflash.facts.probe import Reply
from pytest_dflash.lifecycle import lease, lock
from pytest_dflash.lifecycle.patience import ending_in_order

COMMAND_S = 30.0
STOP_S = 300.0
"""A restart blocks while the old process stops, which may take its whole TimeoutStopSec."""


@dataclass
class Hold:
    """One run's hold of one unit. Attributes as those of `controller.Controller`."""

    connection: Connection
    unit: str
    run: str
    who: str
    drop_in: str
    lease_s: float
    heals: bool = False
    tell: Callable[[str], None] = lambda _line: None
    apart: Callable[[], AbstractContextManager[None]] = nullcontext
    undrain: str = ""
    clock: Callable[[], float] = time.monotonic
    held: bool = False
    lost: bool = False
    _renewed: float = 0.0
    _apart: ExitStack | None = None
    _heed: ExitStack | None = None

    def take(self) -> None:
        """Takes the lock, and the host out of its load balancer. Done once.

        Raises:
            Refused: Somebody else holds it, or requests of others run. Nothing is left.
            NotPutBack: The host is out of its load balancer and cannot be brought back.
        """
        if self.held:
            return
        if self._heed is None:
            self._heed = ExitStack()
            self._heed.enter_context(ending_in_order())
        self._lock()
        if self._apart is None:
            self._alone()

    def end(self, *, as_before: bool) -> None:
        """Lets others in again, and gives the lock away where the unit is as before. May be called twice.

        Raises:
            NotPutBack: The host is still out of its load balancer.
        """
        apart, self._apart = self._apart, None
        heed, self._heed = self._heed or ExitStack(), None
        with heed, ExitStack() as released:
            if as_before:
                released.callback(self._give_away)
            if apart is not None:
                apart.close()
                if self.undrain:
                    with suppress(HostError):
                        self.send(lock.FORGET)

    def let_go(self) -> None:
        """After a put-back: where the lease came first, the lock went with it."""
        if self.lost:
            self.held = self.lost = False

    def beat(self) -> None:
        """Renews lease and lock when a quarter of their time is over.

        Raises:
            Refused: It was too late, and is from then on.
        """
        if self.lost or not self.renew():
            raise self.came_first()

    def came_first(self) -> Refused:
        """What is to be raised where the lease ran out first; it is kept."""
        self.lost = True
        return Refused(f"the lease on {self.unit} ran out before it was renewed; the host was put back")

    def renew(self) -> bool:
        """The same; False where it was too late."""
        if not self.held or self.clock() - self._renewed <= self.lease_s / 4:
            return True
        self._renewed = self.clock()
        return self.send(lease.BEAT).rc == 0

    @property
    def head(self) -> str:
        """What every script begins with."""
        return lease.preamble(self.unit, self.run, self.who, self.drop_in, self.lease_s)

    def send(self, script: str, deadline_s: float = COMMAND_S) -> Reply:
        """Runs a script on the host."""
        return self.connection.run(f"R={shlex.quote(self.connection.root)}\n{self.head}{script}", deadline_s)

    def step(self, step: str, script: str, deadline_s: float = COMMAND_S) -> Reply:
        """The same, told before it is done."""
        self.tell(f"{self.unit}: {step}")
        return self.send(script, deadline_s)

    def must(self, step: str, script: str) -> None:
        """The same.

        Raises:
            Refused: It failed. It has undone what it did.
        """
        reply = self.step(step, script)
        if reply.rc:
            raise Refused(f"{self.unit} was not changed, as `{step}` failed: {said(reply)}")

    def _lock(self) -> None:
        reply = self.step("lock", lock.ACQUIRE)
        if reply.rc == lock.HELD:
            holder = lock.holder(reply.text)
            if not holder.stale:
                raise Refused(f"another run works on {self.unit}: {holder}. Wait for it, or end it")
            if not self.heals:
                raise Refused(
                    f"an earlier run left {self.unit} half changed: {holder}. "
                    "`--dflash-allow=reconfigure` puts it back"
                )
            self.tell(f"{self.unit}: an earlier run died ({holder}); what it left is put back")
            self.send(lease.RECOVER, STOP_S)
            reply = self.step("lock", lock.ACQUIRE)
        if reply.rc:
            raise Refused(f"no lock on {self.unit}: {said(reply)} Is it root there? `--sudo` may help")
        self.held, self._renewed = True, self.clock()

    def _alone(self) -> None:
        """Keeps the requests of others away. The host is told before, as nobody else would know if this run died."""
        try:
            if self.undrain:
                self.must("note", lock.note(self.undrain))
            with ExitStack() as stack:
                stack.enter_context(self.apart())
                self._apart = stack.pop_all()
        except NotPutBack:
            raise
        except BaseException:
            with suppress(HostError):
                if self.undrain:
                    self.send(lock.FORGET)
                self._give_away()
            raise

    def _give_away(self) -> None:
        if not self.held:
            return
        self.held = False
        try:
            self.step("unlock", lock.RELEASE)
        except HostError as error:
            self.tell(f"the lock of {self.unit} could not be given away, it lapses by itself: {error}")


def said(reply: Reply) -> str:
    """What a command complained about."""
    lines = [line.strip() for line in reply.stderr.decode("utf-8", "replace").splitlines() if line.strip()]
    return (lines[-1][:300] if lines else f"it ended with {reply.rc}").rstrip(".") + "."
