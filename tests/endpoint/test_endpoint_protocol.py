from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_dflash.endpoint.protocol import Ending, Generation, complaint_of, read_stream, read_whole

CASES = sorted((Path(__file__).parent / "cases").iterdir())
NOT_TOLD = ("duration_s", "first_text_s", "arrivals_s", "chunk_chars")


def told(generation: Generation) -> dict[str, Any]:
    """What a case expects: all facts but those of single chunks, those that are empty left out."""
    facts = json.loads(json.dumps(asdict(generation)))
    if facts["usage"] and facts["usage"]["cached_tokens"] is None:
        del facts["usage"]["cached_tokens"]
    told = {name: fact for name, fact in facts.items() if name not in NOT_TOLD and fact not in (None, "", 0)}
    return told | {"chunks_with_text": len(generation.arrivals_s)}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_an_answer_reads_as_its_case_says(case: Path) -> None:
    (body,) = case.glob("body.*")
    raw = body.read_bytes()
    generation = read_stream([(1.0, raw)]) if body.suffix == ".sse" else read_whole(json.loads(raw), 1.0)
    assert told(generation) == json.loads((case / "expected.json").read_text(encoding="utf-8"))
    assert sum(generation.chunk_chars) == len(generation.text + generation.reasoning)


@pytest.mark.parametrize(
    "case", [case for case in CASES if (case / "body.sse").exists()], ids=lambda c: c.name
)
def test_where_a_stream_is_cut_into_pieces_does_not_matter(case: Path) -> None:
    raw = (case / "body.sse").read_bytes()
    bytewise = read_stream((0.0, raw[i : i + 1]) for i in range(len(raw)))
    assert told(bytewise) == told(read_stream([(0.0, raw)]))


@given(
    st.lists(st.binary(max_size=40) | st.sampled_from([b"data: {}\n\n", b"data: [DONE]\n\n", b"\r", b"\n"]))
)
def test_any_bytes_read_as_a_generation(pieces: list[bytes]) -> None:
    assert read_stream((0.0, piece) for piece in pieces).ending in Ending


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["choices", "delta", "message", "usage", "error", "detail", "text", "index", "token_ids"]
            ),
            inner,
            max_size=4,
        )
    ),
)


@given(JSON)
def test_any_document_reads_as_a_generation(document: Any) -> None:
    raw = b"data: " + json.dumps(document).encode() + b"\n\n"
    assert read_stream([(0.0, raw)]).ending is Ending.EARLY
    assert complaint_of(document) is None or isinstance(complaint_of(document), str)


def test_times_are_those_of_the_text() -> None:
    def chunk(text: str) -> bytes:
        return (
            b"data: " + json.dumps({"choices": [{"index": 0, "delta": {"content": text}}]}).encode() + b"\n\n"
        )

    generation = read_stream(
        [(0.1, chunk("")), (0.2, chunk("a")), (0.4, chunk("bc")), (0.5, b"data: [DONE]\n\n")]
    )
    assert generation.first_text_s == 0.2
    assert generation.arrivals_s == (0.2, 0.4)
    assert generation.duration_s == 0.5


@pytest.mark.parametrize(
    "document, said",
    [
        ({"object": "error", "message": "too long"}, "too long"),
        ({"error": {"message": "no\x1b[31m such\nmodel"}}, "no [31m such model"),
        ({"error": "plain"}, "plain"),
        ({"error": {"code": 7}}, '{"code": 7}'),
        ({"detail": "Not Found"}, "Not Found"),
        ({"detail": [{"msg": "x"}]}, '[{"msg": "x"}]'),
        ({"object": "error"}, "an error without a message"),
        ({"choices": []}, None),
        ({"error": None, "choices": []}, None),
        ([], None),
    ],
)
def test_complaints_are_found_in_all_their_shapes(document: Any, said: str | None) -> None:
    assert complaint_of(document) == said
