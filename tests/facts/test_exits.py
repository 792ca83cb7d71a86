"""How a process ended, in words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_dflash.facts.exits import SIGNALS, exit_meaning


@pytest.mark.parametrize(
    "code, status, words",
    [
        (1, 203, "exited with 203 (EXEC: the program of ExecStart= does not exist or may not be executed)"),
        ("exited", 2, "exited with 2 (wrong arguments: the program refused its command line)"),
        (1, 77, "exited with 77"),
        (
            2,
            9,
            f"killed by SIGKILL ({SIGNALS['SIGKILL']})",
        ),
        ("dumped", 11, "killed by SIGSEGV, core dumped (a segmentation fault)"),
        (2, 99, "killed by signal 99"),
        (0, 0, "has not ended"),
        (None, None, "has not ended"),
        ("exited", None, "has not ended"),
    ],
)
def test_an_end_has_words(code: int | str | None, status: int | None, words: str) -> None:
    assert exit_meaning(code, status) == words


@given(st.one_of(st.none(), st.integers(), st.text()), st.one_of(st.none(), st.integers()))
def test_any_numbers_have_words(code: int | str | None, status: int | None) -> None:
    assert exit_meaning(code, status)
