"""The faults that no entry of the rehearsal's tables can stage, and the tests that stage them instead.

Law: a table; each test runs the suites as a user does and sees exactly the named check red.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pytest_dflash.rehearsal.faults import Fault

TESTS = Path(__file__).parents[1]


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """One such fault: why it is not in the tables, where it is staged, and by which test."""

    fault: Fault
    why: str
    staged: str
    module: str
    test: str

    @property
    def path(self) -> Path:
        """The file of the test."""
        return TESTS / self.module


ELSEWHERE = (
    Elsewhere(
        Fault(
            "put-to-sleep",
            "read",
            ("endpoint.awake",),
            "a real vLLM was put to sleep by its own route",
            layer="endpoint",
            severity="down",
            says="the engine sleeps: it lists its models, and answers nothing until it is woken",
        ),
        "vLLM alone tells that it sleeps, and the stand-in is SGLang",
        "real host",
        "realhost/test_vllm_deaths.py",
        "test_an_engine_that_was_put_to_sleep_is_told_and_is_awake_once_it_was_woken",
    ),
    Elsewhere(
        Fault(
            "slower-than-before",
            "load",
            ("throughput.compared",),
            "every step takes a tenth longer than in an earlier run",
            layer="throughput",
            severity="silent-slow",
            says="worse than in ",
        ),
        "it takes a run before this one",
        "two rehearsals",
        "faults/test_compared_staged.py",
        "test_a_load_that_is_slower_than_in_an_earlier_run_fails_and_names_both_rates",
    ),
)
