"""Whatever bytes come from a host, an engine, a model or a file: every reader returns, and in its input's own time."""

from __future__ import annotations

import time
from collections.abc import Mapping

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.hostile.parsers import PARSERS, seeds

SIZE = 200_000
"""Bytes of a bomb. What costs its square takes minutes for so many, what costs its length well under a second."""
MOST_S = 6.0
"""Seconds of CPU for one bomb, on a machine that does other things besides."""


def repeated(unit: bytes) -> bytes:
    """So often that it is a bomb."""
    return unit * (SIZE // len(unit))


BOMBS: Mapping[str, bytes] = {
    "one line": repeated(b"a"),
    "digits": repeated(b"9"),
    "lines": repeated(b"\n"),
    "nothing but NULs": repeated(b"\0"),
    "no UTF-8": repeated(b"\xff\xfe\xf0"),
    "blanks": repeated(b" \t"),
    "quotes": repeated(b"'\""),
    "open quotes": repeated(b"key='"),
    "backslashes": repeated(b"\\"),
    "lists in lists": repeated(b"["),
    "lists in lists that end": b"[" * (SIZE // 2) + b"]" * (SIZE // 2),
    "800 lists in lists": b"[" * 800 + b"]" * 800,
    "800 tables in tables": b'{"a":' * 800 + b"1" + b"}" * 800,
    "brackets": repeated(b"(["),
    "equals": repeated(b"a="),
    "names of secrets": repeated(b"key="),
    "words that name secrets": repeated(b"token "),
    "flags": repeated(b"--a "),
    "escapes": repeated(b"\x1b["),
    "commands to the terminal": repeated(b"\x1b]52;"),
    "percents": repeated(b"%n"),
    "dollars": repeated(b"${a"),
    "colons": repeated(b"a: "),
    "commas": repeated(b", "),
    "dashes": repeated(b"- - "),
    "events": repeated(b"data: {}\n\n"),
    "half an event": b"data: " + repeated(b"x"),
    "chunks": repeated(b"1\r\nx\r\n"),
    "aliases": b"a: &a [x,x,x,x,x,x,x,x,x]\n"
    + b"".join(b"%c: &%c [%s]\n" % (c, c, b",".join([b"*%c" % (c - 1)] * 9)) for c in b"bcdefghi"),
    "one key many times": b"{" + repeated(b'"a":1,') + b'"a":2}',
    "huge number": b'{"usage":{"completion_tokens":1' + b"0" * 4000 + b'},"version":1e99999}',
    "journal lines": repeated(b'{"__REALTIME_TIMESTAMP":"1","MESSAGE":"a"}\n'),
    "a journal line of lists": b'{"__REALTIME_TIMESTAMP":"1","MESSAGE":' + b"[" * 700 + b"]" * 700 + b"}",
    "journal lines that go on": repeated(b'{"__REALTIME_TIMESTAMP":"1","_LINE_BREAK":"line-max","MESSAGE":"aaaaaa"}\n'),
    "arguments": b"server_args=ServerArgs(" + repeated(b"a='b', "),
    "open arguments": repeated(b"server_args=ServerArgs(a="),
    "draft runners": repeated(b"Initialized X draft runner. a=b, "),
    "section heads": repeated(b"[Service]\n"),
    "continued lines": repeated(b"\\\n"),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", PARSERS)
def test_a_bomb_costs_a_reader_no_more_than_its_length(name: str) -> None:
    slow, wrong = [], []
    for bomb, data in BOMBS.items():
        begun = time.process_time()
        try:
            PARSERS[name](data)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is told with its bomb
            wrong.append(f"{bomb}: {type(error).__name__}: {str(error)[:200]}")
        if (took := time.process_time() - begun) > MOST_S:
            slow.append(f"{bomb}: {took:.1f} s")
    assert (wrong, slow) == ([], [])


@pytest.mark.parametrize("name", PARSERS)
@settings(max_examples=15, suppress_health_check=list(HealthCheck))
@given(
    parts=st.lists(
        st.one_of(st.binary(max_size=60), st.sampled_from(sorted(seeds())).map(lambda seed: seed[:2000])),
        max_size=4,
    ),
    cut=st.integers(0, 4000),
)
def test_any_bytes_are_read(name: str, parts: list[bytes], cut: int) -> None:
    PARSERS[name](b"\n".join(parts))
    PARSERS[name](b"\n".join(parts)[cut:])
