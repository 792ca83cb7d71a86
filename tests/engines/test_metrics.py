"""Samples in Prometheus' text format."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pytest_dflash.engines.metrics import by_position, samples, total

TEXT = """# HELP its:steps_total Steps.
# TYPE its:steps_total counter
its:steps_total{rank="0"} 3.0
its:steps_total{rank="1"} 4.5
its:running 2
its:broken nan
its:worse 1.0.0
others:steps_total 9
"""


def test_the_samples_of_one_engine_are_read_by_name() -> None:
    found = samples(TEXT, "its")
    assert found == {"steps": [('rank="0"', 3.0), ('rank="1"', 4.5)], "running": [("", 2.0)]}
    assert total(found["steps"]) == 7.5


def test_a_number_that_nothing_counts_to_is_left_out() -> None:
    told = "its:running 1e308\nits:running 1e308\nits:running -1e300\nits:running inf\nits:running 3\n"
    assert samples(told, "its") == {"running": [("", 3.0)]}


def test_accepted_tokens_are_summed_by_their_position_in_a_draft() -> None:
    told = [
        ('engine="0",position="0"', 5.0),
        ('engine="1",position="0"', 2.0),
        ('position="1"', 1.0),
        ("", 9.0),
    ]
    assert by_position(told) == {0: 7.0, 1: 1.0}


@given(st.text())
def test_any_text_is_read_without_an_exception(text: str) -> None:
    samples(text, "its")
    samples(f"its:{text}{{{text}}} {text}", "its")
