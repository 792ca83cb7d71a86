from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pytest_dflash.engines.scoring import Bounds
from pytest_dflash.oracle import prompts


def test_a_text_is_long_enough_and_never_the_same_for_another_seed() -> None:
    one, other = prompts.prose(1, 500), prompts.prose(2, 500)
    assert len(one) >= 500 * prompts.CHARACTERS_PER_TOKEN
    assert one == prompts.prose(1, 500)
    assert one != other


def test_edges_are_those_of_kernels_pages_chunks_and_the_window() -> None:
    assert prompts.edges(Bounds(context=8192, page=64, chunk=512), 2048) == (
        63, 64, 65, 66, 127, 128, 129, 511, 512, 513, 2047, 2048, 2049, 2560,
    )  # fmt: skip


def test_edges_leave_room_for_an_answer() -> None:
    assert max(prompts.edges(Bounds(context=1024, chunk=8192), 2048)) <= 1024 - prompts.ROOM
    assert prompts.edges(Bounds(), None) == prompts.FIXED


def test_a_page_of_one_token_and_a_chunk_that_is_off_are_no_edges() -> None:
    assert prompts.edges(Bounds(context=1024, page=1, chunk=-1), None) == prompts.FIXED


@given(st.lists(st.integers(1, 90), max_size=20), st.integers())
def test_prompts_are_slices_of_exactly_their_lengths_that_begin_differently(
    lengths: list[int], seed: int
) -> None:
    ids = tuple(range(200))
    found = prompts.cuts(ids, lengths, seed)
    assert [len(each) for each in found] == lengths
    assert all(each == tuple(range(each[0], each[0] + len(each))) for each in found)
    assert len({each[0] for each in found}) == len(found)
    assert found == prompts.cuts(ids, lengths, seed)


def test_a_text_of_few_tokens_gives_prompts_all_the_same() -> None:
    assert len(prompts.cuts((1, 2) * 50, [10, 20, 30], 1)) == 3
