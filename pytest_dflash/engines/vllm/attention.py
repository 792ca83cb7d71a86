"""The attention backend that a vLLM runs with, by its own line.

Law: a table of wordings; the lines come in without their prefix. vLLM replaces a backend that it cannot use by a slower
one, and says so here only. The target is loaded before its drafter, so the first line is the target's.
Source: platforms/cuda.py, rocm.py, cpu.py, xpu.py, 0.8.5 to 0.32.0.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from pytest_dflash.engines.lines import Said

SETTING = "attention-backend"
WORDINGS = (
    re.compile(r"^Using (?P<name>[A-Z][A-Z0-9_]+)(?: attention)? backend out of potential backends\b"),
    re.compile(r"^Using (?:AttentionBackendEnum\.)?(?P<name>[A-Z][A-Z0-9_]+) backend(?: \(selected via|\.$)"),
    re.compile(r"^Using (?P<name>[A-Z]\w+(?: \w+)?) (?:attention )?backend on V1 engine\b"),
    re.compile(r"^Using (?P<name>Torch SDPA) backend\.$"),
)
NAMES = {
    "Flash Attention": "FLASH_ATTN",
    "FlashInfer": "FLASHINFER",
    "Triton": "TRITON_ATTN",
    "Triton Attention": "TRITON_ATTN",
    "FlexAttention": "FLEX_ATTENTION",
    "Flex Attention": "FLEX_ATTENTION",
    "TreeAttention": "TREE_ATTN",
    "Tree Attention": "TREE_ATTN",
    "Triton MLA": "TRITON_MLA",
    "FlashMLA": "FLASHMLA",
    "Cutlass MLA": "CUTLASS_MLA",
    "FlashInfer MLA": "FLASHINFER_MLA",
    "FlashAttention MLA": "FLASH_ATTN_MLA",
    "Torch SDPA": "TORCH_SDPA",
}
"""What older versions call in words, by the name that --attention-backend takes."""


def backend(lines: Iterable[Said]) -> tuple[str, Said] | None:
    """The name as --attention-backend takes it, and the line that says it; None where no line does."""
    for line in lines:
        for wording in WORDINGS:
            if found := wording.match(line.text.strip()):
                return NAMES.get(found["name"], found["name"]), line
    return None
