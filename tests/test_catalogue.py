"""What a person is told of a check: every shipped check has its reason and its mending."""

from __future__ import annotations

import tomllib
from importlib import resources

import pytest

from pytest_dflash import catalogue
from pytest_dflash.catalogue import Entry
from pytest_dflash.findings import AREAS

ENTRIES = catalogue.entries()


@pytest.mark.parametrize("entry", ENTRIES.values(), ids=ENTRIES)
def test_each_check_says_why_it_is_there_and_how_to_mend_what_it_finds(entry: Entry) -> None:
    assert entry.why, f"pytest_dflash/checks.toml says nothing of {entry.name}: give it `why` and `mend`"
    assert entry.mend


def test_the_table_names_no_check_that_is_not_there() -> None:
    told = tomllib.loads((resources.files("pytest_dflash") / "checks.toml").read_text("utf-8"))
    assert set(told) <= set(ENTRIES)


def test_checks_stand_in_the_order_of_their_areas() -> None:
    areas = list(dict.fromkeys(name.partition(".")[0] for name in ENTRIES))
    assert areas == [area for area in AREAS if area in areas]


def test_an_entry_fits_one_screen_and_ends_with_what_to_type() -> None:
    text = catalogue.explained(ENTRIES["window.reaches_draft_runner"], ".venv/bin/pytest", "suites/")
    lines = text.splitlines()
    assert lines[0] == "window.reaches_draft_runner: window reaches the draft runner"
    assert "level   read (commands that change nothing, and passive routes only)" in lines
    assert any(line.startswith("why     The target may be told a draft window") for line in lines)
    assert any("--dflash-fault=window-dropped" in line for line in lines)
    assert lines[-1].startswith(
        "next: .venv/bin/pytest --host=rehearsal suites/ -k window.reaches_draft_runner"
    )
    assert len(lines) < 25


def test_a_check_that_changes_the_host_is_run_with_its_level() -> None:
    text = catalogue.explained(ENTRIES["lifecycle.budget_in_force"], "pytest", "suites/")
    assert "once    for each budget of the profile" in text
    assert "--dflash-allow=reconfigure" in text
