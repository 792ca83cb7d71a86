"""Samples in Prometheus' text format."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pytest_dflash.engines.metrics import samples, total

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


@given(st.text())
def test_any_text_is_read_without_an_exception(text: str) -> None:
    samples(text, "its")
    samples(f"its:{text}{{{text}}} {text}", "its")
