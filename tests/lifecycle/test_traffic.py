"""Requests of others, and the way out of rotation and back, with small scripts for a load balancer's tool."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from pytest_dflash.engines.dialect import Load
from pytest_dflash.errors import NotPutBack, Refused
from pytest_dflash.facts.reading import Reading, Silent, Value
from pytest_dflash.lifecycle import traffic
from pytest_dflash.lifecycle.traffic import CommandFailed, Rotation, busy, command
from pytest_dflash.profile.schema import Traffic

IDLE: Reading[Load] = Value(Load(0, 0), "GET /v1/loads")
BUSY: Reading[Load] = Value(Load(2, 1), "GET /v1/loads")
MUTE: Reading[Load] = Silent("GET /v1/loads: it answered 401", "GET /v1/loads")


def looks(*seen: Reading[Load]) -> Callable[[], Reading[Load]]:
    left = list(seen)
    return lambda: left.pop(0) if len(left) > 1 else left[0]


class Time:
    """Seconds that pass by sleeping only."""

    def __init__(self) -> None:
        self.now = 0.0

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    def clock(self) -> float:
        return self.now


@pytest.fixture
def balancer(tmp_path: Path) -> Path:
    """A tool that writes down what it is told, and does what `behaviour` says."""
    tool = tmp_path / "lbctl"
    tool.write_text(f'#!/bin/sh\necho "$*" >>{tmp_path}/log\n. {tmp_path}/behaviour\n')
    tool.chmod(0o755)
    (tmp_path / "behaviour").write_text("")
    return tool


def log(balancer: Path) -> list[str]:
    path = balancer.parent / "log"
    return path.read_text().splitlines() if path.exists() else []


def rotation(
    balancer: Path | None, *seen: Reading[Load], drained: bool = False, timeout_s: float = 10.0
) -> Rotation:
    passing = Time()
    commands = Traffic()
    if balancer is not None:
        commands = Traffic(
            drain=(str(balancer), "drain", "{host};id"),
            undrain=(str(balancer), "undrain", "{host};id"),
            timeout_s=timeout_s,
        )
    return Rotation("gpu1", commands, looks(*seen), drained=drained, sleep=passing.sleep, clock=passing.clock)


def test_an_engine_is_idle_when_two_looks_in_a_row_say_so() -> None:
    assert busy(looks(IDLE), Time().sleep) == ""
    assert busy(looks(BUSY, IDLE, IDLE), Time().sleep) == ""


@pytest.mark.parametrize("seen", [(BUSY,), (IDLE, BUSY), (IDLE, BUSY, IDLE, BUSY)])
def test_a_batch_that_is_empty_for_a_moment_is_not_idle(seen: Sequence[Reading[Load]]) -> None:
    assert (
        busy(looks(*seen), Time().sleep)
        == "requests that are not ours: 2 running and 1 queued (GET /v1/loads)"
    )


def test_an_engine_that_does_not_tell_is_not_taken_for_idle() -> None:
    assert busy(looks(MUTE), Time().sleep) == (
        "whether requests of others run could not be told: GET /v1/loads: it answered 401"
    )


def test_a_load_is_held_back_by_foreign_requests() -> None:
    rotation(None, IDLE).load_guard()
    with pytest.raises(Refused) as refused:
        rotation(None, BUSY).load_guard()
    assert str(refused.value) == (
        "foreign_traffic: requests that are not ours: 2 running and 1 queued (GET /v1/loads); nothing was sent. "
        "Take the host out of rotation, or type --dflash-allow=load"
    )


def test_without_a_drain_command_a_busy_host_is_not_touched() -> None:
    with rotation(None, IDLE).left():
        pass
    with (
        pytest.raises(Refused, match=r"gpu1 was not touched\. Give the profile a \[traffic\] drain"),
        rotation(None, BUSY).left(),
    ):
        pytest.fail("it was touched")


def test_a_person_who_vouches_is_believed() -> None:
    with rotation(None, BUSY, drained=True).left():
        pass


def test_a_host_is_drained_before_and_undrained_after(balancer: Path) -> None:
    with rotation(balancer, BUSY, BUSY, IDLE).left():
        assert log(balancer) == ["drain gpu1;id"], "the host's name is one word, and no shell reads it"
    assert log(balancer) == ["drain gpu1;id", "undrain gpu1;id"]


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt, SystemExit])
def test_whatever_happens_it_is_undrained(balancer: Path, error: type[BaseException]) -> None:
    with pytest.raises(error), rotation(balancer, IDLE).left():
        raise error
    assert log(balancer)[-1] == "undrain gpu1;id"


def test_a_drain_that_fails_is_undone_and_refuses(balancer: Path) -> None:
    (balancer.parent / "behaviour").write_text('[ "$1" != drain ] || { echo "no such pool" >&2; exit 3; }')
    with pytest.raises(Refused) as refused, rotation(balancer, IDLE).left():
        pytest.fail("it was touched")
    assert str(refused.value) == (
        f"[traffic] drain failed: `{balancer} drain gpu1;id` ended with 3: no such pool; gpu1 was not touched. "
        "Try the command by hand"
    )
    assert log(balancer) == ["drain gpu1;id", "undrain gpu1;id"]


def test_a_host_that_stays_busy_after_the_drain_is_not_touched(balancer: Path) -> None:
    with (
        pytest.raises(Refused, match=r"10 s after \[traffic\] drain still requests that are not ours"),
        rotation(balancer, BUSY).left(),
    ):
        pytest.fail("it was touched")
    assert log(balancer)[-1] == "undrain gpu1;id"


def test_an_undrain_that_fails_says_what_to_type_by_hand(balancer: Path) -> None:
    (balancer.parent / "behaviour").write_text('[ "$1" != undrain ] || exit 4')
    with pytest.raises(NotPutBack) as not_put_back, rotation(balancer, IDLE).left():
        pass
    assert str(not_put_back.value) == (
        f"gpu1 is still out of rotation, since [traffic] undrain failed: `{balancer} undrain gpu1;id` ended with 4; "
        f"by hand: {balancer} undrain gpu1;id"
    )


def test_an_interrupted_undrain_is_made_again(balancer: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[Sequence[str]] = []

    def interrupted(argv: Sequence[str], host: str, timeout_s: float) -> None:
        calls.append(argv)
        if argv[1] == "undrain" and len(calls) == 2:
            raise KeyboardInterrupt
        command(argv, host, timeout_s)

    monkeypatch.setattr(traffic, "command", interrupted)
    with pytest.raises(KeyboardInterrupt), rotation(balancer, IDLE).left():
        pass
    assert log(balancer) == ["drain gpu1;id", "undrain gpu1;id"]


def test_a_command_that_hangs_is_ended_with_its_children(tmp_path: Path) -> None:
    script = tmp_path / "hang"
    script.write_text(f"#!/bin/sh\nsleep 600 & echo $! >{tmp_path}/child; wait\n")
    script.chmod(0o755)
    with pytest.raises(CommandFailed) as failed:
        command((str(script), "{host}"), "gpu1", 0.5)
    assert str(failed.value) == f"`{script} gpu1` did not end within 0.5 s"
    child = Path(f"/proc/{int((tmp_path / 'child').read_text())}/stat")
    until = time.monotonic() + 10
    while child.exists() and child.read_text().rpartition(")")[2].split()[0] != "Z":
        assert time.monotonic() < until, "it was not ended"


def test_a_child_that_stays_does_not_hold_up_a_command_that_is_done(tmp_path: Path) -> None:
    script = tmp_path / "leave"
    script.write_text(f"#!/bin/sh\nsleep 600 & echo $! >{tmp_path}/child\n")
    script.chmod(0o755)
    command((str(script),), "gpu1", 30.0)
    os.kill(int((tmp_path / "child").read_text()), 9)


def test_a_command_that_is_not_there_is_named() -> None:
    with pytest.raises(CommandFailed, match=r"`/nowhere/lbctl drain` could not be started: .*No such file"):
        command(("/nowhere/lbctl", "drain"), "gpu1", 1.0)
