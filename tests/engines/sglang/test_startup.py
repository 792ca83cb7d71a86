"""How far a start is."""

from __future__ import annotations

import pytest

from pytest_dflash.engines.registry import dialect
from pytest_dflash.facts.journal import Entry, Journal

SGLANG = dialect("sglang")


@pytest.mark.parametrize(
    "line, words",
    [
        ("Load weight begin. avail mem=94.1 GB", "loading weights"),
        ("Multi-thread loading shards:  38% Completed | 3/8 [00:10<00:20]", "loading weights, shard 3/8"),
        (
            "Loading safetensors checkpoint shards: | 0/64\rLoading safetensors checkpoint shards:  2% Completed | 1/64",
            "loading weights, shard 1/64",
        ),
        ("Load weight end. elapsed=0.02 s, type=Qwen3ForCausalLM, avail mem=1 GB", "Qwen3ForCausalLM loaded"),
        (
            "Capture cuda graph begin. This can take up to several minutes. avail mem=11.82 GB",
            "capturing CUDA graphs",
        ),
        (
            "Capture target decode CUDA graph begin. backend=full, bs=[1, 2], avail mem=7.10 GB",
            "capturing CUDA graphs",
        ),
        (
            "Capturing batches (bs=8 avail_mem=6.9 GB):  50%|#####     | 4/8 [00:01<00:01]",
            "capturing CUDA graphs 4/8",
        ),
        ("Initialized DFLASH draft runner. block_size=8", "DFLASH draft runner built"),
        ("INFO:     Uvicorn running on http://127.0.0.1:30000 (Press CTRL+C to quit)", "warming up"),
        ("Initialization failed. warmup error: x", "start-up failed: warmup error: x"),
        ("The server is fired up and ready to roll!", "start-up is over"),
        ("max_total_num_tokens=8192, chunked_prefill_size=4096", "scheduler up"),
        ("nothing telling", "settings resolved"),
    ],
)
def test_the_newest_telling_line_says_what_it_is_busy_with(line: str, words: str) -> None:
    earlier = [] if words == "settings resolved" else ["Init torch distributed begin."]
    lines = ["server_args={'a': 'compiling'}", *earlier, f"[2026-11-29 16:32:46 TP0] {line}"]
    entries = tuple(Entry(n, n, 1, 6, text) for n, text in enumerate(lines))
    assert SGLANG.progress(Journal("1f2e", entries, reaches_start=True, whole=True)) == words


def test_an_empty_log_tells_nothing() -> None:
    assert SGLANG.progress(Journal("1f2e", (), reaches_start=True, whole=True)) == ""
