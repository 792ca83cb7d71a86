"""docs/faults.md says what the tables say."""

from __future__ import annotations

from tests.faults import page


def test_the_page_is_current() -> None:
    text = page.PAGE.read_text("utf-8")
    assert text == page.render(page.seconds(text)), "write it anew: make matrix-full"


def test_what_is_said_to_be_staged_on_a_real_host_is() -> None:
    assert set(page.STAGED_FOR_REAL.values()) <= set(page.tests_of_the_real_host())
