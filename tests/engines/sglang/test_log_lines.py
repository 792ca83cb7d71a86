"""Prefixes, decode lines, runner lines."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_dflash.engines.dialect import Decode
from pytest_dflash.engines.sglang.log_lines import decode_line, effective_line, runner_line, said
from pytest_dflash.facts.journal import Entry


def entry(message: str) -> Entry:
    return Entry(7, 7, 1, 6, message)


@pytest.mark.parametrize(
    "prefix, rank",
    [
        ("", ""),
        ("[2026-11-29 16:32:46] ", ""),
        ("[2026-11-29 16:32:46.123] ", ""),
        ("[2026-11-29 16:32:46 TP0] ", "TP0"),
        ("[2026-11-29 16:32:46 DP1 PP0 ATTN_CP0 MOE_DP2 TP3 EP4] ", "DP1 PP0 ATTN_CP0 MOE_DP2 TP3 EP4"),
        ("2025-12-04 20:35:53 INFO 151972 [scheduler_metrics_mixin.py:287] ", ""),
        ("2025-12-04T20:35:53.001+00:00 WARNING ", ""),
        ("(APIServer pid=8267) INFO ", ""),
        ("INFO:sglang.srt.server:", ""),
    ],
)
def test_the_prefix_is_taken_off_and_the_rank_kept(prefix: str, rank: str) -> None:
    found = said(entry(f"{prefix}The server is fired up and ready to roll!"))
    assert (found.text, found.who) == ("The server is fired up and ready to roll!", rank)


@pytest.mark.parametrize("key", ["message", "msg", "event"])
def test_a_line_of_a_json_log_is_read(key: str) -> None:
    assert (
        said(entry(f'{{"level": "info", "{key}": "server_args={{\'a\': \\"b\\"}}"}}')).text
        == "server_args={'a': \"b\"}"
    )


@pytest.mark.parametrize(
    "line, wanted",
    [
        (
            (
                "[2025-05-31 18:31:21 DP0 TP0] Decode batch. #running-req: 8, #token: 37217, token usage: 0.13, "
                "accept len: 2.90, cuda graph: True, gen throughput (token/s): 171.01, #queue-req: 0"
            ),
            Decode(7, "DP0 TP0", 8, 0, 2.9, None, graph=True, tokens_per_s=171.01),
        ),
        (
            (
                "2025-12-04 20:35:53 INFO 151972 [scheduler_metrics_mixin.py:287] Decode batch. #running-req: 48, "
                "#token: 3894, token usage: 0.00, accept len: 1.00, accept rate: 0.11, cuda graph: False, "
                "gen throughput (token/s): 5452.63, #queue-req: 0,"
            ),
            Decode(7, "", 48, 0, 1.0, 0.11, graph=False, tokens_per_s=5452.63),
        ),
        (
            (
                "[2026-04-05 20:02:51] Decode batch, #running-req: 32, #token: 11179, token usage: 0.08, "
                "cuda graph: True, gen throughput (token/s): 1635.11, #queue-req: 0"
            ),
            Decode(7, "", 32, 0, None, None, graph=True, tokens_per_s=1635.11),
        ),
        (
            (
                "Decode batch [1234], #running-req: 1, #full token: 3, full token usage: 0.00, mamba num: 2, "
                "accept len: 6.90, accept rate: 0.84, npu graph: True, gen throughput (token/s): 1033.37, "
                "#queue-req: 0, more: text"
            ),
            Decode(7, "", 1, 0, 6.9, 0.84, graph=True, tokens_per_s=1033.37),
        ),
    ],
)
def test_a_decode_line_is_read_in_all_its_shapes(line: str, wanted: Decode) -> None:
    assert decode_line(said(entry(line))) == wanted


def test_other_lines_are_no_decode_lines() -> None:
    assert decode_line(said(entry("Prefill batch, #new-seq: 1, #running-req: 31, cuda graph: True"))) is None
    assert decode_line(said(entry("Receive: obj=X(text='Decode batch, #running-req: 1')"))) is None


@pytest.mark.parametrize(
    "text, algorithm, what, pairs",
    [
        (
            "Initialized DDTREE draft runner. draft_window_size=None, ratio=0.5, model=X, note=a, b, last=True.",
            "DDTREE",
            "draft runner",
            {"draft_window_size": None, "ratio": 0.5, "model": "X", "note": "a, b", "last": True},
        ),
        ("Initialized DDTree worker. block_size=16", "DDTree", "worker", {"block_size": 16}),
        (
            "Initialized DSpark draft runner. gamma=7, markov_head=None",
            "DSpark",
            "draft runner",
            {"gamma": 7, "markov_head": None},
        ),
        ("Initialized X draft runner. ", "X", "draft runner", {}),
    ],
)
def test_a_runner_line_is_read(text: str, algorithm: str, what: str, pairs: dict[str, object]) -> None:
    found = runner_line(said(entry(text)))
    assert found is not None
    assert (found.algorithm, found.what, found.pairs) == (algorithm, what, pairs)


@given(st.text())
def test_any_line_is_read_without_an_exception(text: str) -> None:
    for message in (text, f"[{text}] {text}", f"{{{text}}}", f"Decode batch, #running-req: {text}"):
        line = said(entry(message))
        decode_line(line)
        effective_line(line)
        runner_line(line)
    runner_line(said(entry(f"Initialized X draft runner. a={text}, b={text}")))
