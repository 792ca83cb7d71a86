"""EnvironmentFile= as systemd reads it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_dflash.facts.environment_file import parse_environment_file


@pytest.mark.parametrize(
    "text, variables",
    [
        ("A=1\nB=2\n", {"A": "1", "B": "2"}),
        ("A=1", {"A": "1"}),
        ("A=", {"A": ""}),
        ("# c\n; c\n\n  A = b c  \n", {"A": "b c"}),
        ("A=b # no comment\n", {"A": "b # no comment"}),
        ("A=\"b c\"\nB='d e'\n", {"A": "b c", "B": "d e"}),
        ('A="x" y\n', {"A": "xy"}),
        ('A=a "b"\n', {"A": 'a "b"'}),
        ("A='q\\'z\n", {"A": "q\\z"}),
        (r'A="a\nb\"c\$d"' + "\n", {"A": 'a\\nb"c$d'}),
        ("A=a\\ b  \n", {"A": "a b"}),
        ("A=a\\\nb\n", {"A": "ab"}),
        ("A='two\nlines'\n", {"A": "two\nlines"}),
        ('A="open\nB=1\n', {"A": "open\nB=1\n"}),
        ("export A=1\nB=$A\n", {"B": "$A"}),
        ("1A=1\nA-B=1\n=x\nword\nC=1\r\n", {"C": "1"}),
        ("A=1\nA=2\n", {"A": "2"}),
        ("# c \\\nA=1\n", {"A": "1"}),  # from systemd 254 on; before, the comment went on
    ],
)
def test_a_file_is_read_by_systemds_rules(text: str, variables: dict[str, str]) -> None:
    assert parse_environment_file(text) == variables


@given(st.one_of(st.text(), st.text(alphabet="A=\\\"'# \n;$")))
def test_any_text_is_read(text: str) -> None:
    for name in parse_environment_file(text):
        assert name.isidentifier()
