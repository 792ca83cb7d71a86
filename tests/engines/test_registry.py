"""Engines by name and by command line."""

from __future__ import annotations

import pytest

from pytest_dflash.engines.registry import dialect, recognise
from pytest_dflash.errors import UsageError


def test_an_unknown_engine_is_refused_with_the_known_ones() -> None:
    with pytest.raises(UsageError, match=r"engine = 'vllmm' is not known; known engines: .*sglang"):
        dialect("vllmm")


@pytest.mark.parametrize(
    "line",
    [
        "/opt/venv/bin/python -m sglang.launch_server --port 1",
        "/opt/venv/bin/python3.12 -u -X dev -m sglang.launch_server",
        "sglang serve --model-path x",
        "/opt/venv/bin/python /opt/venv/bin/sglang serve --model-path x",
        "python -m sglang serve",
        "uvx --from sglang[all] sglang serve",
        "python3 /opt/sglang/launch_server.py --port 1".replace("/opt/sglang/", "/opt/lib/sglang/"),
    ],
)
def test_a_server_is_recognised(line: str) -> None:
    found = recognise(line.split())
    assert found is not None
    assert found.name == "sglang"


@pytest.mark.parametrize(
    "line",
    [
        "",
        "sglang::scheduler_TP0",
        "sglang::detokenizer",
        "python -c import(sglang.launch_server)",
        "python -m sglang_router.launch_router",
        "journalctl -u sglang serve",
        "/opt/start.sh sglang serve",
        "python",
        "python -m",
        "sglang generate",
    ],
)
def test_what_only_looks_like_a_server_is_not(line: str) -> None:
    assert recognise(line.split()) is None
