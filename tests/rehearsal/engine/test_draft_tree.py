"""The engine's tree, mask, positions and compaction against the oracle's, which shares no code with them."""

from __future__ import annotations

import numpy as np
import pytest

from pytest_dflash.oracle.tree import building, verification
from pytest_dflash.rehearsal.engine import corruption, draft_tree, drafter, healthy, masking, tokens
from pytest_dflash.rehearsal.engine.sequence import Sequence, Wishes
from pytest_dflash.rehearsal.engine.target import ENTRY


def guesses(seed: int, depth: int, size: int) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    rows = np.random.default_rng(seed).dirichlet(np.full(size, 0.4), depth)
    logs: np.ndarray[tuple[int, int], np.dtype[np.float64]] = np.log(rows + 1e-12)
    return np.minimum(logs, 0.0)


@pytest.mark.parametrize("top_k", [1, 2, 3, 8])
@pytest.mark.parametrize("budget", [1, 2, 3, 7, 8, 15, 40])
def test_engine_and_oracle_build_the_same_tree(budget: int, top_k: int) -> None:
    for seed in range(20):
        rows = guesses(seed, 1 + seed % 7, 9)
        built = draft_tree.build(5, rows, budget, top_k)
        true = building.build(rows.tolist(), budget, top_k)

        assert built.tokens[1:].tolist() == [node.token for node in true.nodes[1:]]
        assert built.parents[1:].tolist() == [node.parent for node in true.nodes[1:]]
        assert (built.tokens[0], built.parents[0]) == (5, -1)
        assert tuple((100 + built.depths).tolist()) == true.positions(100)
        assert built.ancestry.tolist() == [list(row) for row in true.mask()]
        for node in range(len(built.tokens)):
            assert built.children(node) == true.children(node)


def test_a_guess_is_never_surer_than_what_it_continues() -> None:
    for said in ("the tre", "of the attentio", "a mem", "xyz", ""):
        rows = drafter.marginals([*tokens.encode(said), 0], np.zeros((0, 32)), 7)
        assert rows.max() <= 0
        for budget in (1, 2, 3, 8):
            tree = draft_tree.build(0, rows, budget, 8)
            assert (tree.parents[1:] < np.arange(1, len(tree.parents))).all()
            assert (tree.parents[1:] >= 0).all()


def test_the_kernel_reads_what_was_laid_out() -> None:
    trees = [
        draft_tree.build(1, guesses(seed, 4, 6), budget, 3) for seed, budget in ((1, 7), (2, 3), (3, 12))
    ]
    pasts, sizes = [5, 0, 9], [len(tree.tokens) for tree in trees]
    read = masking.read(masking.flat([tree.ancestry for tree in trees], pasts), sizes, pasts, sizes)

    for tree, past, mask in zip(trees, pasts, read, strict=True):
        assert mask[:, :past].all()
        assert (mask[:, past:] == tree.ancestry).all()


def test_another_stride_reads_other_bits() -> None:
    tree = draft_tree.build(1, guesses(4, 4, 6), 12, 3)
    buffer = masking.flat([tree.ancestry], [5])

    assert (masking.read(buffer, [13], [5], [13])[0][:, 5:] == tree.ancestry).all()
    for believed in (1, 8, 20):
        read = masking.read(buffer, [13], [5], [believed])[0]
        assert read.shape == (13, 18)
        assert not (read[:, 5:] == tree.ancestry).all()


def sequence() -> Sequence:
    made = Sequence((1, 2, 3), Wishes(4))
    made.commit(np.full((3, ENTRY), -1.0))
    return made


@pytest.mark.parametrize("path", [[0], [0, 1], [0, 2, 5], [0, 1, 3, 7], [0, 3, 4]])
def test_engine_and_oracle_keep_the_same_entries(path: list[int]) -> None:
    fresh = np.arange(8.0)[:, None] * np.ones(ENTRY)
    made = sequence()
    made.keep(healthy.Healthy().kept(np.array(path)), fresh)

    true = verification.compacted([-1.0] * 3 + list(range(8)), 3, path)
    assert made.cache[:, 0].tolist() == true


def test_moving_from_the_last_on_overwrites_what_is_still_to_be_read() -> None:
    wrong = corruption.of(["kv-committed-in-wrong-order"])

    assert wrong.kept(np.array([0, 1, 2])).tolist() == [0, 1, 2]
    assert wrong.kept(np.array([0, 1, 3])).tolist() == [0, 1, 3]
    assert wrong.kept(np.array([0, 2, 3])).tolist() == [0, 3, 3]


def test_a_cache_grows_beyond_what_was_thought_of() -> None:
    made = sequence()
    for number in range(600):
        made.commit(np.full((1, ENTRY), float(number)))

    assert made.cached == 603
    assert made.cache[-1, 0] == 599
