from __future__ import annotations

from dataclasses import replace

import pytest

from pytest_dflash.engines.registry import dialect
from pytest_dflash.facts.claim import Claim
from pytest_dflash.facts.identity import Identity
from pytest_dflash.facts.journal import Entry, Journal
from pytest_dflash.facts.reading import Absent, Silent, Value
from pytest_dflash.facts.systemd import DiskFile, UnitFiles
from pytest_dflash.findings import Judgement, Outcome, failed, passed, unproven
from pytest_dflash.lifecycle.changing import Changed
from pytest_dflash.lifecycle.phase import Observation, Phase
from pytest_dflash.lifecycle.readiness import Settled
from pytest_dflash.lifecycle.restart import Restart
from pytest_dflash.rules import lifecycle

SGLANG = dialect("sglang")
READY = "The server is fired up and ready to roll!"
SOMEBODY = Identity("boot", "a", 7, 0, 1)


def restart(phase: Phase = Phase.READY, why: str = "why", **changes: object) -> Restart:
    made = Restart("a", "b", 100.0, Settled(phase, Observation(), 1.0, why), 12.5)
    return replace(made, **changes)  # type: ignore[arg-type]  # names of its own fields


def journal(*messages: str) -> Value[Journal]:
    entries = tuple(Entry(0, 112_000_000, 7, 6, message) for message in messages)
    return Value(Journal("b", entries, reaches_start=True, whole=True))


@pytest.mark.parametrize(
    "made,outcome,says",
    [
        (restart(), Outcome.PASS, "a new invocation serves: a ended, b was started"),
        (restart(after="a"), Outcome.FAIL, "the invocation is still a"),
        (restart(after=""), Outcome.UNPROVEN, "did not say which invocation runs"),
        (restart(Phase.CRASH_LOOP, "it ended"), Outcome.FAIL, "it does not serve: it ended"),
        (restart(Phase.UNKNOWN, "not seen"), Outcome.UNPROVEN, "it does not serve: not seen"),
    ],
)
def test_a_restart_is_a_new_invocation_that_serves(made: Restart, outcome: Outcome, says: str) -> None:
    found = lifecycle.restarts(made)
    assert (found.outcome, says in found.summary) == (outcome, True), found.summary


@pytest.mark.parametrize(
    "made,within,outcome",
    [
        (restart(), 20, Outcome.PASS),
        (restart(), 10, Outcome.FAIL),
        (restart(), None, Outcome.NOT_APPLICABLE),
        (restart(Phase.FAILED), 20, Outcome.FAIL),
    ],
)
def test_readiness_has_its_time(made: Restart, within: float | None, outcome: Outcome) -> None:
    assert lifecycle.ready_in_time(made, journal(READY), SGLANG, within).outcome is outcome


def test_the_runs_own_time_is_what_the_engines_ready_line_leaves() -> None:
    found = lifecycle.ready_in_time(restart(noticed_s=12.25), journal(READY), SGLANG, 20)
    assert dict(found.measures) == {
        "ready_s": 12.5,
        "engine_s": 12.0,
        "noticed_after_s": 0.25,
        "confirmed_after_s": 0.25,
    }
    assert found.summary == (
        "ready 12.5 s after the restart was asked for (the engine took 12 s, it was noticed 0.25 s later and "
        "confirmed in 0.25 s), within 20 s"
    )
    for nothing in (journal("x"), Silent("no permission")):
        assert dict(lifecycle.ready_in_time(restart(), nothing, SGLANG, 20).measures) == {"ready_s": 12.5}


@pytest.mark.parametrize(
    "after,outcome,says",
    [
        (
            Value(SOMEBODY),
            Outcome.PASS,
            "the same process 120 s after it was ready, and after a short prompt",
        ),
        (Value(replace(SOMEBODY, invocation_id="b")), Outcome.FAIL, "did not stay up for 120 s"),
        (Silent("gone"), Outcome.UNPROVEN, "was not told: gone"),
    ],
)
def test_a_fresh_process_stays_up(after: Value[Identity] | Silent, outcome: Outcome, says: str) -> None:
    found = lifecycle.stays_up(Value(SOMEBODY), after, 120, "a short prompt")
    assert (found.outcome, says in found.summary) == (outcome, True), found.summary


@pytest.mark.parametrize(
    "proofs,outcome",
    [
        ((passed("x"),), Outcome.PASS),
        ((passed("x"), failed("y")), Outcome.FAIL),
        ((passed("x"), unproven("y")), Outcome.UNPROVEN),
        ((), Outcome.UNPROVEN),
    ],
)
def test_a_budget_is_in_force_when_all_its_flags_are(proofs: tuple[Judgement, ...], outcome: Outcome) -> None:
    assert lifecycle.budget_in_force("7", Changed(restart(), proofs)).outcome is outcome


def test_a_budget_with_which_the_engine_does_not_start_fails() -> None:
    found = lifecycle.budget_in_force("7", Changed(restart(Phase.CRASH_LOOP, "it ended (exited 2)")))
    assert found.outcome is Outcome.FAIL
    assert found.summary == "the engine does not get ready with budget 7: it ended (exited 2)"


def test_without_budgets_nothing_is_visited() -> None:
    assert lifecycle.budget_in_force(None, None).outcome is Outcome.NOT_APPLICABLE


CLEAN = Value(UnitFiles(None, (DiskFile("/etc/x.d/10.conf", ""),)))
LEFT = Value(UnitFiles(None, (DiskFile("/run/x.d/zzz-dflash-r.conf", ""),)))
NOBODY = Absent("/run/pytest-dflash")


def test_a_drop_in_that_was_left_is_named_with_the_way_to_take_it_away() -> None:
    assert lifecycle.nothing_left_behind(CLEAN, NOBODY, "x").outcome is Outcome.PASS
    found = lifecycle.nothing_left_behind(LEFT, NOBODY, "x")
    assert (found.outcome, found.observed) == (Outcome.FAIL, ["/run/x.d/zzz-dflash-r.conf"])
    assert found.summary == (
        "an earlier run left /run/x.d/zzz-dflash-r.conf: the unit does not run as its own files say"
    )
    assert "rm /run/x.d/zzz-dflash-r.conf; systemctl daemon-reload; systemctl restart x" in str(found.remedy)
    escaped = str(lifecycle.nothing_left_behind(LEFT, NOBODY, r"llm-kimi\x2dk2.service").remedy)
    assert r"systemctl restart 'llm-kimi\x2dk2.service'" in escaped
    assert lifecycle.nothing_left_behind(Silent("no"), NOBODY, "x").outcome is Outcome.UNPROVEN
    assert lifecycle.nothing_left_behind(CLEAN, Silent("no"), "x").outcome is Outcome.UNPROVEN


def test_a_host_that_a_dead_run_left_drained_is_named_with_what_brings_it_back() -> None:
    found = lifecycle.nothing_left_behind(
        CLEAN, Value(Claim(held=False, drained=True, undrain="lb undrain gpu1")), "x"
    )
    assert (found.outcome, found.observed) == (Outcome.FAIL, ["lb undrain gpu1"])
    assert found.summary == "an earlier run left the host out of its load balancer"
    assert found.remedy == (
        "run with --dflash-allow=reconfigure, which puts it back, and a profile whose [traffic] undrain brings the "
        "host back; or by hand: lb undrain gpu1 (on the side of that run); rm /run/pytest-dflash/x.drained"
    )
    hidden = lifecycle.nothing_left_behind(CLEAN, Value(Claim(held=False, drained=True)), "x")
    assert "[traffic] undrain of that run's profile; root reads it in /run/pytest-dflash/x.drained" in str(
        hidden.remedy
    )


def test_a_lock_that_lapsed_fails_and_one_at_work_leaves_the_question_open() -> None:
    stale = Claim(held=True, who="alice@laptop", since="2026-11-29 20:00:00 UTC", left_s=-3)
    found = lifecycle.nothing_left_behind(CLEAN, Value(stale), "x")
    assert found.outcome is Outcome.FAIL
    assert found.summary == "an earlier run left its lock (alice@laptop since 2026-11-29 20:00:00 UTC)"
    assert "rm -r /run/pytest-dflash/x" in str(found.remedy)
    working = lifecycle.nothing_left_behind(LEFT, Value(replace(stale, left_s=40)), "x")
    assert working.outcome is Outcome.UNPROVEN
    assert working.summary == (
        "another run works on x: alice@laptop since 2026-11-29 20:00:00 UTC; its time ends in 40 s"
    )
