from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from pytest_dflash.engines.dialect import Load
from pytest_dflash.errors import HostUnreachable
from pytest_dflash.facts.journal import Entry
from pytest_dflash.facts.kernel import RECENT_KERNEL, KernelJournal
from pytest_dflash.facts.reading import Reading, Silent, Value
from pytest_dflash.facts.transcript import Transcript
from pytest_dflash.load.phase import Progress
from pytest_dflash.load.sampling import Beside, HostSample, Sight, growing, in_a_row
from pytest_dflash.load.watching import Watch

SILENT: Silent = Silent("not asked")
XID = Entry(0, 7, None, None, "NVRM: Xid (PCI:0000:01:00): 79, GPU has fallen off the bus.")


def transcript(*entries: Entry) -> Transcript:
    readings: dict[str, Reading[object]] = {
        RECENT_KERNEL.name: Value(KernelJournal(entries, reaches_boot=True))
    }
    return Transcript(readings, SILENT, SILENT)


def progress(in_flight: int = 1, **more: object) -> Progress:
    told = {"at_s": 0.0, "repeat": 0, "in_flight": in_flight, "begun": 1, "ended": 0, "chunks": 0}
    return Progress(**{**told, **more})  # type: ignore[arg-type]  # a test's own numbers


def until(happened: Callable[[], object], patience_s: float = 20.0) -> None:
    deadline = time.monotonic() + patience_s
    while not happened() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert happened()


def test_foreign_requests_that_stay_are_a_reason_to_abort_where_that_is_allowed() -> None:
    with Watch(lambda: Value(Load(3, 2), "GET /v1/loads"), transcript, aborts=True) as watch:
        until(lambda: watch.reason(progress(1)))
        reason = watch.reason(progress(1))
    assert reason == "requests that are not ours: 3 running and 2 queued, at most 1 of them ours"


def test_where_nothing_aborts_it_is_seen_all_the_same() -> None:
    with Watch(lambda: Value(Load(3, 0), "x"), transcript, aborts=False) as watch:
        watch.reason(progress(1))
        until(lambda: len(watch.sights) > 1)
        assert watch.reason(progress(1)) is None
    assert watch.beside.foreign


def test_our_own_requests_are_not_foreign_and_without_them_nobody_looks() -> None:
    with Watch(lambda: Value(Load(2, 1), "x"), transcript, aborts=True) as watch:
        assert not watch.sights
        watch.reason(progress(3))
        until(lambda: len(watch.sights) > 1)
        assert watch.reason(progress(3)) is None


@pytest.mark.parametrize(
    "more, words",
    [({"statuses": {200: 3, 503: 2}}, "the engine answered 2 requests with an error of its own (5xx)")],
)
def test_errors_of_the_engine_are_a_reason(more: dict[str, object], words: str) -> None:
    with Watch(lambda: Value(Load(1, 0), "x"), transcript, aborts=True) as watch:
        assert watch.reason(progress(1, **more)) == words


def test_an_xid_that_comes_while_the_load_runs_is_a_reason_and_an_older_one_is_not() -> None:
    told = [transcript(XID)]
    with Watch(lambda: Value(Load(1, 0), "x"), lambda: told[0], aborts=True) as watch:
        assert watch.reason(progress(1)) is None
        told[0] = transcript(XID, Entry(0, 8, None, None, XID.message))
        until(lambda: watch.reason(progress(1)))
        assert str(watch.reason(progress(1))).startswith("the driver reports a new Xid: NVRM: Xid")


def test_a_host_that_cannot_be_asked_any_more_is_told_and_stops_no_load() -> None:
    def lost() -> Transcript:
        raise HostUnreachable("the connection was lost")

    with Watch(lambda: SILENT, lost, aborts=True) as watch:
        watch.reason(progress(1))
        until(lambda: len(watch.deaf) > 1)
    assert watch.beside.deaf == ("the connection was lost", "not asked")
    assert watch.beside.loaded == ()


def sight(running: int, ours: int) -> Sight:
    return Sight(at_s=0.0, running=running, queued=0, ours=ours)


def test_a_single_sight_of_one_more_may_be_an_answer_on_its_way() -> None:
    assert in_a_row([sight(2, 1), sight(1, 1), sight(2, 1)]) == ()
    assert in_a_row([sight(2, 1), sight(3, 1)]) == (sight(3, 1),)


def queue(*queued: int, running: int = 2, now: int | None = 4) -> list[Sight]:
    return [Sight(at_s=0.0, running=running, queued=each, ours=64, now=now) for each in queued]


def test_a_queue_that_grows_at_two_looks_beyond_what_is_in_flight_is_not_ours() -> None:
    assert growing(queue(1, 2, 3)) == tuple(queue(3))
    assert growing(queue(0, 1, 2)) == ()  # four in all, and four are ours
    assert growing(queue(1, 3, 3)) == growing(queue(4, 3, 4)) == growing(queue(5, 6)) == ()
    assert growing(queue(1, 2, 3, now=None)) == ()


def test_a_growing_queue_is_a_reason_where_requests_of_ours_that_are_over_hide_those_of_others() -> None:
    told = iter(range(1, 1000))
    with Watch(lambda: Value(Load(1, next(told)), "x"), transcript, aborts=True) as watch:
        for _ in range(3):
            watch.reason(progress(64))
        watch.reason(progress(1))
        watch.reason(progress(1))
        until(lambda: len(watch.sights) > 2)
        reason = str(watch.reason(progress(1)))
    assert reason.startswith("the engine's queue grows, and our loop is bounded: 1 running and 3 queued")


def test_the_kernels_log_is_asked_more_often_than_all_else_where_an_xid_may_end_the_load() -> None:
    told = [transcript()]

    def all_else() -> Transcript:
        time.sleep(0.3)  # so that its next turn is more than a second away
        return transcript()

    with Watch(lambda: SILENT, all_else, aborts=True, pulse=lambda: told[0]) as watch:
        until(lambda: len(watch.samples) > 1)
        told[0] = transcript(XID)
        until(lambda: watch.reason(progress(1)))
        samples = len(watch.samples)
    assert samples == 2
    assert len(watch.heard) == 1


def test_a_pulse_that_is_lost_is_told() -> None:
    def lost() -> Transcript:
        raise HostUnreachable("the connection was lost")

    with Watch(lambda: SILENT, transcript, aborts=True, pulse=lost) as watch:
        until(lambda: watch.deaf)
    assert watch.beside.deaf == ("the connection was lost",)


def test_only_looks_with_our_own_requests_in_flight_are_of_a_loaded_host() -> None:
    def look(in_flight: int) -> HostSample:
        return HostSample(
            at_s=1.0,
            cost_s=0.25,
            in_flight=in_flight,
            gpus=SILENT,
            pressure=SILENT,
            kernel=SILENT,
            identity=SILENT,
        )

    beside = Beside(samples=(look(0), look(2)))
    assert beside.loaded == (look(2),)
    assert beside.cost_s == 0.5
    assert beside.new_xids == ()
