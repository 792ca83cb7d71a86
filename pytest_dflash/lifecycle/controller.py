"""Restarts a unit, changes its flags for a while, and puts it back: the only one that changes a host.

Law: an agent, by its connection. Each step is one command on the host, told before it is made. The order is: lock,
fingerprint, lease, drop-in, restart; and back. Nothing is tried again after a failed put-back: the controller is
broken from then on, and says what is left.
"""

from __future__ import annotations

import re
import shlex
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from typing import Any

from pytest_dflash.errors import HostUnreachable, NotPutBack, Refused
from pytest_dflash.facts.collector import Collector
from pytest_dflash.facts.identity import Identity
from pytest_dflash.facts.reading import Reading
from pytest_dflash.lifecycle import dropin, fingerprint, lease, lock
from pytest_dflash.lifecycle.fingerprint import rebooted
from pytest_dflash.lifecycle.flagline import Changes, loaded_command, rewritten
from pytest_dflash.lifecycle.hold import STOP_S, Hold, said
from pytest_dflash.lifecycle.patience import patient
from pytest_dflash.lifecycle.readiness import Settled
from pytest_dflash.lifecycle.restart import Restart

STEPS = (
    "lock",
    "fingerprint",
    "lease",
    "drop-in",
    "check",
    "restart",
    "wait",
    "put back",
    "wait again",
    "compare",
    "unlock",
)
"""In order; the host is safe when the run is killed before, in or after any of them."""
WATCH_S = 5.0
"""How often it is looked whether a process is still there."""
RECONNECT_S, PAUSE_S = 60.0, 1.0
"""How long a lost host is looked for before the put-back is left to its lease, and how often."""


@dataclass
class Controller:
    """Changes one unit of one host.

    Attributes:
        collector: The way there, and the reader of the fingerprint.
        dialect: The engine's.
        wait: Waits until the unit stands. Calls its first argument now and then; the second is the invocation
            that a restart must have ended, where there was one.
        run: This run's own name. who: for those who meet its lock.
        lease_s: After how many seconds without a renewal the host puts itself back.
        heals: Whether what an earlier run left may be taken away.
        tell: Takes a line of progress.
        afford: Told what is about to begin and how many restarts it takes with its way back; refuses by raising.
        apart: Keeps the requests of others away, from the first change until `close`.
        undrain: What brings the host back into its load balancer by hand; "" where `apart` takes it out of none.
        changed: Whether anything was done to the unit.
        broken: What is left, once a put-back failed.
        notes: What was met meanwhile: edits of somebody else, which stay; a reboot.
    """

    collector: Collector
    dialect: Any
    wait: Callable[[Callable[[], object], str | None], Settled]
    run: str
    who: str
    lease_s: float
    heals: bool = False
    tell: Callable[[str], None] = lambda _line: None
    afford: Callable[[str, int], None] = lambda _step, _restarts: None
    apart: Callable[[], AbstractContextManager[None]] = nullcontext
    undrain: str = ""
    clock: Callable[[], float] = time.monotonic
    pause: Callable[[float], None] = time.sleep
    changed: bool = False
    broken: str = ""
    restored: bool | None = None
    notes: list[str] = field(default_factory=list)
    _before: fingerprint.Fingerprint | None = None
    _moved: bool = False
    _held: Hold = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._held = Hold(
            connection=self.collector.connection,
            unit=self.unit,
            run=self.run,
            who=self.who,
            drop_in=self.drop_in,
            lease_s=self.lease_s,
            heals=self.heals,
            tell=lambda line: self.tell(line),  # noqa: PLW0108 - whoever listens may come later
            apart=self.apart,
            undrain=self.undrain,
            clock=lambda: self.clock(),  # noqa: PLW0108 - likewise
        )

    @property
    def unit(self) -> str:
        """Whose command is changed."""
        return self.collector.unit

    @property
    def drop_in(self) -> str:
        """Where the drop-in of this run lies, or would."""
        return dropin.path(self.unit, self.run)

    def restart(self) -> Restart:
        """Restarts the unit as it is, and waits until it stands.

        Raises:
            Refused: Somebody else holds the lock.
            NotPutBack: An earlier put-back failed.
            HostError: The connection was lost.
        """
        self.afford("a restart", 1)
        self._hold()
        self._unchanged()
        self.changed = True
        return self._restarted("restart", lease.RESTART, "wait")

    @contextmanager
    def reconfigured(self, changes: Changes, version: str | None = None) -> Iterator[Restart]:
        """The unit with other flags, for the time of the block.

        Raises:
            Refused: The change is not certain, or must not be made now. Nothing was touched.
            NotPutBack: The host is not as it was.
        """
        try:
            yield self.apply(changes, version)
        finally:
            self.put_back()

    def apply(self, changes: Changes, version: str | None = None) -> Restart:
        """The unit with other flags, until `put_back`; changes that were made before are replaced.

        Raises:
            As `reconfigured`.
        """
        self.afford(", ".join(f"{name}={value}" for name, value in changes.items()), 2)
        self._hold()
        try:
            return self._apply(changes, version)
        except BaseException:
            self.put_back()
            raise

    def _apply(self, changes: Changes, version: str | None) -> Restart:
        before = self._unchanged()
        new = rewritten(
            loaded_command(before.files, before.loaded, self.unit), changes, self.dialect, version
        )
        name = self.drop_in.rpartition("/")[2]
        hidden = dropin.hidden_by(name, before.files)
        if hidden:
            raise Refused(f"{hidden} would have the last word over {name}; rename it, or take it away")
        if before.unit.active_state != "active":
            raise Refused(
                f"{self.unit} is {before.unit.active_state}: what does not run cannot be put back to run"
            )
        if not self._moved:
            self._held.must("lease", lease.arm(self._held.head))
        self.changed = self._moved = True
        self._held.must("drop-in", lease.write(dropin.text(new, self.run)))
        now = fingerprint.read(self._collect("check"))
        if not dropin.in_force(self.drop_in, now.unit.drop_in_paths) or now.loaded.exec_start != (new.argv,):
            raise Refused(f"the manager does not take the drop-in: it holds {now.loaded.exec_start}")
        return self._restarted("restart", lease.RESTART, "wait")

    def watch(self, seconds: float) -> Reading[Identity]:
        """Who runs after so many seconds, or as soon as somebody else does."""
        first = self.collector.identity()
        end = self.clock() + seconds
        now = first
        while now == first and (left := end - self.clock()) > 0:
            self.pause(min(left, WATCH_S))
            self.beat()
            now = self.collector.identity()
        return now

    def put_back(self) -> None:
        """Takes the change back, if there is one: drop-in away, restart, wait, compare.

        Raises:
            NotPutBack: That failed; it is not tried again.
        """
        if not self._moved or self.broken:
            return
        with patient(self.tell, f"{self.unit} is being put back"):
            try:
                self._reaching(self._put_back)
            except BaseException as error:
                self.broken, self.restored = self._left(error), False
                self.tell(self.broken)
                if isinstance(error, Exception):
                    raise NotPutBack(self.broken) from error
                raise

    def _reaching(self, act: Callable[[], None]) -> None:
        """Does it over a new connection where the old one was lost; each step may be done twice."""
        deadline = self.clock() + RECONNECT_S
        while True:
            try:
                return act()
            except HostUnreachable as error:
                if self.clock() > deadline:
                    raise
                self.tell(f"{self.unit}: {error}; it is tried again")
            self.pause(PAUSE_S)

    def _put_back(self) -> None:
        before = self._before
        assert before is not None
        back = self._restarted("put back", lease.PUT_BACK, "wait again", self._held.renew)
        after = fingerprint.read(self._collect("compare"))
        boot = rebooted(before, after)
        if not back.ready:
            raise NotPutBack(
                f"it does not serve as it did: {back.settled.why}" + (f"; {boot}" if boot else "")
            )
        found = fingerprint.compare(before, after)
        self.notes += [f"somebody else's, left as it is: {each}" for each in found.others]
        self.notes += [boot] if boot else []
        if found.ours:
            raise NotPutBack("; ".join(found.ours))
        self._moved, self._before, self.restored = False, None, True
        self._held.let_go()

    def close(self) -> None:
        """Puts back what is changed, gives the lock away, lets others in again. May be called twice.

        A failure is told, and kept in `broken`: whoever closes has no other way left.
        """
        with suppress(NotPutBack):
            self.put_back()
        try:
            self._held.end(as_before=not self.broken)
        except NotPutBack as error:
            self.broken, self.restored = self.broken or str(error), False
            self.tell(str(error))

    def beat(self) -> None:
        """Renews lease and lock when a quarter of their time is over.

        Raises:
            Refused: It was too late: the host has put itself back, and what follows would be about its own flags.
        """
        self._held.beat()

    def _hold(self) -> None:
        if self.broken:
            raise NotPutBack(self.broken)
        try:
            self._held.take()
        except NotPutBack as error:
            self.broken, self.restored = str(error), False
            raise

    def _unchanged(self) -> fingerprint.Fingerprint:
        """The unit before this run changed it."""
        if self._before is None:
            found = fingerprint.read(self._collect("fingerprint"))
            left = dropin.left_behind(found.files)
            if left and not self.heals:
                raise Refused(f"an earlier run left {left[0]}; `--dflash-allow=reconfigure` takes it away")
            if left:
                self.tell(f"{self.unit}: an earlier run left {', '.join(left)}; it is taken away")
                self.changed = True
                self._held.send("take_away && start_anew\n", STOP_S)
                self.wait(self.beat, None)
                found = fingerprint.read(self._collect("fingerprint"))
            self._before = found
        return self._before

    def _restarted(
        self, step: str, script: str, waiting: str, beat: Callable[[], object] | None = None
    ) -> Restart:
        begun = self.clock()
        reply = self._held.step(step, script, STOP_S)
        told = dict(line.split("=", 1) for line in reply.text.splitlines() if "=" in line)
        if script is lease.RESTART and reply.rc == lock.NO_SPACE:
            raise self._held.came_first()
        if reply.rc and "after" not in told:
            raise NotPutBack(f"`{step}` failed: {said(reply)}")
        self.tell(f"{self.unit}: {waiting}")
        waiting_s = self.clock() - begun
        settled = self.wait(beat or self.beat, told.get("before"))
        at = told.get("at", "")
        return Restart(
            before=told.get("before", ""),
            after=told.get("after", ""),
            at_s=float(at) if re.fullmatch(r"[0-9]+\.?[0-9]*", at) else 0.0,
            settled=settled,
            took_s=self.clock() - begun,
            noticed_s=waiting_s + settled.waited_s,
        )

    def _collect(self, step: str) -> Any:
        self.tell(f"{self.unit}: {step}")
        return self.collector.collect(fingerprint.PROBES, passive=False)

    def _left(self, error: BaseException) -> str:
        by_hand = f"rm -f {shlex.quote(self.drop_in)}; systemctl daemon-reload; systemctl restart {shlex.quote(self.unit)}"
        why = "it was interrupted" if isinstance(error, KeyboardInterrupt) else str(error).rstrip(".")
        return (
            f"{self.unit} could not be put back: {why or type(error).__name__}. "
            f"The host's own lease ({lease.name(self.unit)}) does it within {self.lease_s:.0f} s if it can; "
            f"by hand: `{by_hand}`"
        )
