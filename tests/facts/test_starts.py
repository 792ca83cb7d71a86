"""How the previous invocation ended."""

from __future__ import annotations

from dataclasses import replace

from pytest_dflash.facts.starts import Previous

ENDED = Previous("5e", "killed", 9, "signal", stop_requested=False, ended_realtime_us=None, last_lines=())


def test_a_signal_that_nobody_asked_for_is_a_crash() -> None:
    assert ENDED.crashed
    assert ENDED.ending.startswith("killed by SIGKILL")


def test_a_healthy_engine_may_end_by_a_signal_when_it_is_stopped() -> None:
    stopped = replace(ENDED, stop_requested=True)
    assert not stopped.crashed
    assert (
        stopped.ending == "ended by SIGKILL, as engines do to their own processes, after a stop was asked for"
    )


def test_a_stop_that_took_too_long_is_not_called_the_engines_own_end() -> None:
    late = replace(ENDED, stop_requested=True, result="timeout")
    assert late.ending.startswith("killed by SIGKILL (")


def test_what_the_journal_does_not_say_is_not_guessed() -> None:
    unknown = replace(ENDED, exit_code=None, exit_status=None, result=None)
    assert not unknown.crashed
    assert unknown.ending == "how it ended is not in the journal"
    assert replace(unknown, result="success").ending == "ended with result success"
