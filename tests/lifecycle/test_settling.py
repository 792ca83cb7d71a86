"""What is looked at until a unit stands still, with facts and answers made up and no time passing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, cast

import pytest

from pytest_dflash.facts.journal import Entry, Journal
from pytest_dflash.facts.reading import Absent, Reading, Silent, Value
from pytest_dflash.lifecycle import settling as module
from pytest_dflash.lifecycle.phase import Observation, Phase
from pytest_dflash.lifecycle.readiness import Settled, wait_until_settled
from pytest_dflash.lifecycle.settling import Answered, Settling, reasons

LOADING = Observation(
    load_state="loaded",
    active_state="active",
    sub_state="running",
    serving_process=True,
    port=30000,
    port_open=False,
    progress="Load weight",
    invocation_id="aa",
)
READY = replace(LOADING, port_open=True, owner_in_unit=True, ready_line="ready")
MUTE = replace(LOADING, port_open=True, owner_in_unit=True, log_heard=False, progress="")


@dataclass
class Look:
    """Facts, as far as they matter here."""

    seen: Observation
    journal: Reading[str]
    fits: bool

    def continuing(self, _known: object) -> Look | None:
        return self if self.fits else None


@dataclass
class World:
    """A host that shows these observations one after the other, and a service that answers so."""

    seen: list[Observation]
    answers: list[Answered] = field(default_factory=lambda: [Answered(answers=True)])
    now: float = 0.0
    asked: int = 0
    all_asked: int = 0
    beats: int = 0
    whole_logs: int = 0
    journal: Reading[str] = field(default_factory=lambda: Silent("not heard"))
    fits: bool = True

    def everything(self) -> Any:
        self.all_asked += 1
        return self.alive()

    def alive(self) -> Any:
        self.whole_logs += 1
        return self.look()

    def look(self) -> Look:
        seen = self.seen.pop(0) if len(self.seen) > 1 else self.seen[0]
        return Look(seen, self.journal, fits=self.fits)

    def answered(self, _facts: object) -> Answered:
        self.asked += 1
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    def beat(self) -> None:
        self.beats += 1

    def settling(self, before: str | None = None) -> Settling:
        wait: Callable[[Callable[[], Observation]], Settled] = partial(
            wait_until_settled, timeout_s=100.0, before=before, sleep=self.sleep, clock=lambda: self.now
        )
        return Settling(
            self.everything, self.alive, cast("Any", self.look), self.answered, cast("Any", None), wait
        )


@pytest.fixture(autouse=True)
def _facts_are_observations(monkeypatch: pytest.MonkeyPatch) -> None:
    """What `observe` makes of facts has tests of its own."""

    def observe(facts: Any, _dialect: object, answers: bool | None = None) -> Observation:  # noqa: FBT001 - as the real one
        look = cast("Look", facts)
        return look.seen if answers is None else replace(look.seen, answers=answers)

    monkeypatch.setattr(module, "observe", observe)


def test_a_unit_that_is_ready_and_answers_is_read_once() -> None:
    world = World([READY])
    _, settled = world.settling().settle()
    assert (settled.phase, settled.waited_s) == (Phase.READY, 0.0)
    assert (world.all_asked, world.asked) == (1, 1)


def test_a_loading_unit_is_waited_for_and_then_read_again() -> None:
    world = World([LOADING, LOADING, READY])
    facts, settled = world.settling().settle()
    assert cast("Any", facts).seen == READY
    assert settled.phase is Phase.READY
    assert settled.waited_s == pytest.approx(1.0)
    assert world.all_asked == 2


def test_a_ready_unit_that_does_not_answer_does_not_serve() -> None:
    world = World([READY], [Answered(answers=False, why="GET /v1/models: connection refused")])
    _, settled = world.settling().settle()
    assert settled.phase is Phase.ACTIVE_NOT_SERVING
    assert settled.why == (
        "it logged that it is ready, and port 30000 does not answer: GET /v1/models: connection refused"
    )


def test_where_no_way_leads_the_units_own_words_stand() -> None:
    _, settled = World([READY], [Answered(answers=None)]).settling().settle()
    assert settled.phase is Phase.READY


def test_an_owner_that_cannot_be_seen_is_settled_by_an_answer() -> None:
    hidden = replace(READY, owner_in_unit=None)
    _, settled = World([hidden]).settling().settle()
    assert settled.phase is Phase.READY
    assert settled.why == "port 30000 answers; whose process answers could not be seen"
    _, settled = World([hidden], [Answered(answers=None)]).settling().settle()
    assert settled.phase is Phase.UNKNOWN


def test_where_no_log_is_heard_a_single_look_asks_the_service_before_it_says_that_it_loads() -> None:
    _, settled = World([MUTE]).settling().at_once()
    assert settled.phase is Phase.READY
    _, settled = World([MUTE], [Answered(answers=False, why="refused")]).settling().at_once()
    assert settled.phase is not Phase.READY


@pytest.mark.parametrize("restarted", [False, True])
def test_where_the_log_cannot_be_read_the_service_is_asked_now_and_then(restarted: bool) -> None:  # noqa: FBT001 - both ways
    world = World([MUTE], [Answered(answers=False), Answered(answers=False), Answered(answers=True)])
    settled = world.settling().anew(world.beat) if restarted else world.settling().settle()[1]
    assert settled.phase is Phase.READY
    assert settled.waited_s == pytest.approx(2 * module.ASK_AGAIN * 0.5)
    assert world.asked == 4, "three times while it was waited for, and once in the end"


def test_after_a_restart_the_old_process_is_not_taken_for_the_new_one() -> None:
    world = World([READY])
    assert world.settling(before="aa").anew(world.beat).phase is Phase.NOT_RESTARTED
    fresh = replace(READY, invocation_id="bb")
    world = World([replace(LOADING, invocation_id="bb"), fresh])
    settled = world.settling(before="aa").anew(world.beat)
    assert (settled.phase, settled.observation.invocation_changed) == (Phase.READY, True)
    assert world.beats == 2


@pytest.mark.parametrize(
    "says, phase", [(True, Phase.READY), (None, Phase.READY), (False, Phase.ACTIVE_NOT_SERVING)]
)
def test_a_fresh_process_that_is_ready_is_asked_for_one_completion(says: bool | None, phase: Phase) -> None:  # noqa: FBT001 - three-valued
    asked: list[object] = []

    def completes(facts: object) -> Answered:
        asked.append(facts)
        return Answered(says, "the answer 'no no no' does not match 'ready'")

    settled = replace(World([LOADING, READY]).settling(), completes=completes).anew(lambda: None)
    assert (settled.phase, settled.observation.completes, len(asked)) == (phase, says, 1)
    if says is False:
        assert settled.why == (
            "it logged that it is ready, and a short completion on port 30000 came out wrong: "
            "the answer 'no no no' does not match 'ready'"
        )


def test_a_unit_that_was_not_restarted_or_is_not_ready_is_asked_for_none() -> None:
    def completes(_facts: object) -> Answered:
        raise AssertionError

    assert replace(World([READY]).settling(), completes=completes).settle()[1].phase is Phase.READY
    failed = replace(LOADING, active_state="failed", sub_state="failed")
    assert replace(World([failed]).settling(), completes=completes).anew(lambda: None).phase is Phase.FAILED


@pytest.mark.parametrize(
    "heard, fits, whole_logs",
    [(True, True, 3), (True, False, 5), (False, True, 7)],
    ids=["heard", "gap", "mute"],
)
def test_a_log_that_was_heard_is_not_read_again_at_every_look(
    heard: bool,  # noqa: FBT001 - a column of the table above
    fits: bool,  # noqa: FBT001 - likewise
    whole_logs: int,
) -> None:
    world = World([LOADING] * 4 + [READY], journal=Value("lines") if heard else Silent("no"), fits=fits)
    assert world.settling().settle()[1].phase is Phase.READY
    assert world.settling().anew(world.beat).phase is Phase.READY
    assert world.whole_logs == whole_logs


@dataclass
class Said:
    """What was said, in place of facts."""

    journal: Reading[Journal] = field(default_factory=lambda: Silent("not heard"))
    previous: Reading[Any] = field(default_factory=Absent)
    unit: Reading[Any] = field(default_factory=Absent)


@dataclass
class Before:
    last_lines: tuple[Entry, ...]
    manager_lines: tuple[Entry, ...]


def line(at: int, message: str, *, manager: bool = False) -> Entry:
    return Entry(at, None, 1 if manager else 10, 6, message, from_manager=manager)


def told(phase: Phase, said: Said) -> list[str]:
    return [entry.message for entry in reasons(cast("Any", said), Settled(phase, LOADING, 0.0, ""))]


def test_a_crash_loop_is_explained_by_the_invocation_that_crashed() -> None:
    exited = line(
        2, "engine.service: Main process exited, code=exited, status=2/INVALIDARGUMENT", manager=True
    )
    before = Before((line(1, "engine: error: unrecognized arguments: --x"),), (exited,))
    fresh = Journal("bb", (line(3, "Loading"),), reaches_start=True, whole=True)
    said = Said(Value(fresh), Value(before))
    assert told(Phase.CRASH_LOOP, said) == [before.last_lines[0].message, exited.message]
    assert told(Phase.FAILED, said) == ["Loading"]


def test_what_is_ready_needs_no_reasons_and_what_is_silent_has_none() -> None:
    assert told(Phase.READY, Said()) == []
    assert told(Phase.FAILED, Said()) == []
