"""What lines say about settings, by tables of phrases."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_dflash.engines.phrases import LONGEST, Phrases, kinds

PHRASES = Phrases(
    kinds(("ignored", r"\bis ignored\b"), ("fallback", r"\bfalling back\b")),
    {"page-size": re.compile(r"\bpages\b")},
    speaks_for_itself=re.compile(r"^Odd thing"),
    skipped=re.compile(r"^Received request"),
    named=lambda name: name.replace("_", "-"),
    known=lambda setting: setting in {"page-size", "tp-size"},
)


@pytest.mark.parametrize(
    "text,setting",
    [
        ("--tp-size is ignored", "tp-size"),
        ("tp_size is ignored", "tp-size"),
        ("pages: --tp-size is ignored", "page-size"),
        ("Odd thing is ignored", None),
    ],
)
def test_a_line_is_about_its_words_its_flag_or_its_field(text: str, setting: str | None) -> None:
    found = PHRASES.notice(text, "Worker", 7)
    assert found is not None
    assert (found.setting, found.kind, found.alarming) == (setting, "ignored", True)
    assert found.where == "Worker, pid 7"


@pytest.mark.parametrize(
    "text",
    [
        "--unknown is ignored",
        "--tp-size is 8",
        "Received request: --tp-size is ignored",
        "x" * LONGEST + " is ignored",
    ],
)
def test_a_line_about_nothing_says_nothing(text: str) -> None:
    assert PHRASES.notice(text, "Worker", 7) is None


def test_each_text_is_told_once_however_many_say_it() -> None:
    lines = [(" --tp-size is ignored ", who, None) for who in ("TP0", "TP1", "")]
    (found,) = PHRASES.notices(lines)
    assert (found.message, found.where) == ("--tp-size is ignored", "TP0")
    (nobody,) = PHRASES.notices(lines[2:])
    assert nobody.where == "log"


def test_a_fallback_alarms_nobody() -> None:
    found = PHRASES.notice("tp_size: falling back", "", None)
    assert found is not None
    assert not found.alarming


@given(st.text(max_size=200))
def test_any_line_is_read(text: str) -> None:
    PHRASES.notice(text, "", None)
