"""Being asked to end while a host is changed: the way back comes first.

Law: signals of this process, and nothing of hosts. Only in the main thread, where Python hears them; elsewhere
nothing is done, and the host's lease is the way back.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

ENDING = (signal.SIGTERM, signal.SIGHUP)
"""What a CI job that is cancelled gets, and what a terminal that is closed sends. By themselves they end a process at
once, with nothing put back."""


@contextmanager
def ending_in_order() -> Iterator[None]:
    """SIGTERM and SIGHUP end the run as Ctrl-C does, for the time of the block. One that is ignored stays so."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def hear(number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt(signal.Signals(number).name)

    ours = [each for each in ENDING if signal.getsignal(each) is signal.SIG_DFL]
    for each in ours:
        signal.signal(each, hear)
    try:
        yield
    finally:
        for each in ours:
            signal.signal(each, signal.SIG_DFL)


@contextmanager
def patient(tell: Callable[[str], None], doing: str) -> Iterator[None]:
    """The first Ctrl-C is answered with what is being done; the second one ends it. SIGTERM and SIGHUP never do."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    asked = 0

    def hear(number: int, _frame: FrameType | None) -> None:
        nonlocal asked
        if number != signal.SIGINT:
            tell(f"{doing}; {signal.Signals(number).name} is answered when that is done")
            return
        asked += 1
        if asked > 1:
            raise KeyboardInterrupt
        tell(f"{doing}; Ctrl-C once more leaves that to the host's lease")

    signals = [signal.SIGINT, *(each for each in ENDING if signal.getsignal(each) is not signal.SIG_IGN)]
    previous = {each: signal.signal(each, hear) for each in signals}
    try:
        yield
    finally:
        for each, handler in previous.items():
            signal.signal(each, handler)
