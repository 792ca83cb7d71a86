"""The printed settings, whole, cut and mutated."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_dflash.engines.sglang.args_line import parse

CASES = Path(__file__).parents[1] / "cases"
LINES = [
    text[text.index("server_args=") :]
    for version in ("0.5.11", "0.5.19")
    for text in [(CASES / f"sglang-{version}" / "log.txt").read_text().strip()]
]


@pytest.mark.parametrize("line", LINES)
def test_a_cut_line_keeps_its_whole_fields_and_says_so(line: str) -> None:
    whole, cut = parse(line), parse(line[:8192])
    assert whole is not None
    assert cut is not None
    assert whole.whole
    assert not cut.whole
    assert 200 < len(cut.fields) < len(whole.fields)
    assert cut.fields.items() <= whole.fields.items()


@pytest.mark.parametrize("text", ["", "server_args", "server_args=None", "x server_args={'a': 1}"])
def test_another_line_is_not_taken_for_one(text: str) -> None:
    assert parse(text) is None


def test_objects_that_are_no_literals_survive() -> None:
    found = parse(
        "server_args=ServerArgs(a=<x.Y object at 0x1, 'b'>, e=<E.A: 3>, n=N(x=1, y=M(z='(')), "
        "t=torch.int8, f=[N(a=1)], s={'k': <o>})"
    )
    assert found is not None
    assert found.fields == {
        "a": "<x.Y object at 0x1, 'b'>",
        "e": 3,
        "n": {"x": 1, "y": {"z": "("}},
        "t": "torch.int8",
        "f": [{"a": 1}],
        "s": {"k": "<o>"},
    }


@given(st.text())
def test_any_text_is_read_without_an_exception(text: str) -> None:
    parse(text)
    parse("server_args={" + text)
    parse("server_args=ServerArgs(" + text)


@given(st.sampled_from(range(len(LINES))), st.integers(30, 9000), st.integers(0, 40), st.text(max_size=20))
def test_a_damaged_line_is_read_without_an_exception(which: int, at: int, cut: int, put: str) -> None:
    line = LINES[which]
    assert parse(line[:at] + put + line[at + cut :]) is not None


@given(
    st.dictionaries(
        st.from_regex(r"[a-z_]{1,12}", fullmatch=True),
        st.recursive(
            st.none()
            | st.booleans()
            | st.integers()
            | st.floats(allow_nan=False, allow_infinity=False)
            | st.text(),
            lambda inner: (
                st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
            ),
            max_leaves=8,
        ),
        max_size=6,
    )
)
def test_what_python_prints_comes_back(fields: dict[str, object]) -> None:
    inside = ", ".join(f"{key}={value!r}" for key, value in fields.items())
    for text in (f"server_args={fields!r}", f"server_args=ServerArgs({inside})"):
        found = parse(text)
        assert found is not None
        assert found.fields == fields
        assert found.whole
