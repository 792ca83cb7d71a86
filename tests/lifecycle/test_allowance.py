"""What may still be spent on changing a host."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_dflash.errors import Refused
from pytest_dflash.lifecycle.allowance import Allowance


def test_without_limits_everything_is_afforded() -> None:
    Allowance().afford("a restart", restarts=1000, seconds=1e9)


def test_a_step_whose_way_back_is_one_restart_too_many_is_refused() -> None:
    allowance = Allowance(max_restarts=2)
    allowance.afford("budget 15", restarts=2, seconds=1.0)
    allowance.restarted()
    with pytest.raises(Refused) as refused:
        allowance.afford("budget 15", restarts=2, seconds=1.0)
    assert str(refused.value) == (
        "budget 15 needs 2 restarts with its way back, 1 of --dflash-max-restarts=2 are used up; "
        "raise it, or select fewer checks"
    )
    allowance.afford("a restart", restarts=1, seconds=1.0)


def test_a_step_whose_way_back_ends_after_the_deadline_is_refused() -> None:
    now = 100.0
    allowance = Allowance(deadline_s=1000.0, clock=lambda: now, begun=100.0)
    allowance.afford("a restart", restarts=1, seconds=1000.0)
    now = 500.0
    with pytest.raises(Refused) as refused:
        allowance.afford("a restart", restarts=1, seconds=601.0)
    assert str(refused.value) == (
        "a restart may take 601 s with its way back, and of --dflash-deadline=1000 only 600 s are left; "
        "raise it, or select fewer checks"
    )
    now = 5000.0
    with pytest.raises(Refused, match="only 0 s are left"):
        allowance.afford("a restart", restarts=1, seconds=1.0)


@given(st.integers(0, 20), st.lists(st.integers(1, 3), max_size=20))
def test_steps_that_are_afforded_never_come_to_more_restarts_than_allowed(
    most: int, steps: list[int]
) -> None:
    allowance = Allowance(max_restarts=most)
    for restarts in steps:
        try:
            allowance.afford("a step", restarts=restarts, seconds=1.0)
        except Refused:
            continue
        for _ in range(restarts):
            allowance.restarted()
    assert allowance.restarts <= most
