from __future__ import annotations

import pytest

from pytest_dflash.engines.dialect import Decode
from pytest_dflash.facts.reading import Silent, Value
from pytest_dflash.findings import Outcome
from pytest_dflash.rules.graphs import cuda_graphs, spans


def lines(*told: tuple[int, bool | None]) -> Value[tuple[Decode, ...]]:
    return Value(tuple(Decode(1, "TP0", running, 0, 4.0, 0.4, graph, 100.0) for running, graph in told))


def test_steps_that_all_ran_as_graphs_pass_with_the_batches_that_prove_it() -> None:
    found = cuda_graphs(lines((1, True), (2, True), (3, True), (16, True)), expected_off=False)
    assert found.outcome is Outcome.PASS
    assert found.summary == "decode ran as CUDA graphs with 1 to 3, 16 requests (4 lines)"


def test_large_batches_without_graph_fail_by_their_size() -> None:
    found = cuda_graphs(lines((32, True), (33, False), (34, False), (40, False)), expected_off=False)
    assert found.outcome is Outcome.FAIL
    assert found.summary == "decode ran without CUDA graph with 33 to 34, 40 requests, and as one with 32"


def test_a_single_step_without_graph_is_no_fallback() -> None:
    assert cuda_graphs(lines((4, True), (4, True), (4, False)), expected_off=False).outcome is Outcome.PASS


def test_an_engine_that_does_not_tell_is_not_accused() -> None:
    assert cuda_graphs(lines((4, None)), expected_off=False).outcome is Outcome.NOT_APPLICABLE


def test_no_line_at_all_proves_nothing() -> None:
    assert cuda_graphs(lines(), expected_off=False).outcome is Outcome.UNPROVEN
    assert cuda_graphs(Silent("no permission"), expected_off=False).outcome is Outcome.UNPROVEN


def test_an_engine_that_is_expected_to_run_eagerly_may() -> None:
    assert cuda_graphs(lines((1, False)), expected_off=True).outcome is Outcome.NOT_APPLICABLE


@pytest.mark.parametrize("sizes, said", [([], ""), ([5], "5"), ([1, 2, 4], "1 to 2, 4")])
def test_numbers_are_said_as_spans(sizes: list[int], said: str) -> None:
    assert spans(sizes) == said
