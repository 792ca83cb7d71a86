"""Signals of this process while a host is changed."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator

import pytest

from pytest_dflash.lifecycle.patience import ENDING, ending_in_order, patient


@pytest.fixture(autouse=True)
def _not_by_nohup() -> Iterator[None]:
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


@pytest.mark.parametrize("number", ENDING, ids=lambda each: each.name)
def test_a_cancelled_run_ends_as_ctrl_c_ends_it(number: signal.Signals) -> None:
    before = signal.getsignal(number)
    with pytest.raises(KeyboardInterrupt, match=number.name), ending_in_order():
        os.kill(os.getpid(), number)
    assert signal.getsignal(number) is before


def test_a_signal_that_is_ignored_stays_so() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as nohup does
    try:
        with ending_in_order(), patient(lambda _line: None, "it"):
            os.kill(os.getpid(), signal.SIGHUP)
    finally:
        signal.signal(signal.SIGHUP, before)


def test_a_way_back_is_ended_by_the_second_ctrl_c_only() -> None:
    told: list[str] = []
    with ending_in_order(), patient(told.append, "x is being put back"):
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
            os.kill(os.getpid(), number)
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
    assert told == [
        "x is being put back; SIGTERM is answered when that is done",
        "x is being put back; SIGHUP is answered when that is done",
        "x is being put back; Ctrl-C once more leaves that to the host's lease",
        "x is being put back; SIGTERM is answered when that is done",
    ]


def test_in_another_thread_nothing_is_touched() -> None:
    before = [signal.getsignal(each) for each in ENDING]
    seen: list[object] = []

    def work() -> None:
        with ending_in_order(), patient(lambda _line: None, "it"):
            seen.extend(signal.getsignal(each) for each in ENDING)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == before
