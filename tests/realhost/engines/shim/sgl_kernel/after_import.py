"""Changes a few things of SGLang itself, each right after its module is imported.

Law: the fewest changes with which SGLang 0.5.23 runs DFLASH on a CPU, which it refuses by itself.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import sys
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

import torch


class _Willing:
    """The CPU platform, which also says that it supports speculation."""

    def __init__(self, platform: Any) -> None:
        self._platform = platform

    def __getattr__(self, name: str) -> Any:
        return getattr(self._platform, name)

    def is_out_of_tree(self) -> bool:
        return True

    def supports_speculative_algorithm(self, _algorithm: str) -> bool:
        return True

    def supports_speculative_draft_attention_backend(self, _algorithm: str, _backend: str) -> bool:
        return True

    def get_default_speculative_draft_attention_backend(self, _algorithm: str) -> str:
        return "torch_native"


def _backends(module: ModuleType) -> None:
    """The CPU backend, which knows verification, under the names that DFLASH accepts."""
    for name in ("torch_native", "flashinfer"):
        module.ATTENTION_BACKENDS[name] = module.create_intel_amx_backend


def _platform(module: ModuleType) -> None:
    module.current_platform = _Willing(module.current_platform)  # type: ignore[attr-defined]


def _chain(module: ModuleType) -> None:
    """DFLASH verifies a chain: the CPU backend asks for the width of the tree."""
    module.DFlashVerifyInput.tree_topk = 1


def _unfused(module: ModuleType) -> None:
    """Norm and rotation of the drafter by SGLang's own torch path: its fused kernel, interpreted, is 80 % of a step."""
    module.DFlashAttention.use_table_qk_norm_rope = property(lambda _self: False, lambda _self, _value: None)


CHANGES: dict[str, Callable[[ModuleType], None]] = {
    "sglang.srt.layers.attention.attention_registry": _backends,
    "sglang.srt.arg_groups.speculative_hook": _platform,
    "sglang.srt.speculative.dflash_info": _chain,
    "sglang.srt.models.dflash": _unfused,
}


class _AfterImport(importlib.abc.MetaPathFinder):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        change = CHANGES.get(fullname)
        spec = importlib.machinery.PathFinder.find_spec(fullname, path, target) if change else None
        if change is None or spec is None or spec.loader is None:
            return None
        execute = spec.loader.exec_module

        def execute_and_change(module: ModuleType) -> None:
            execute(module)
            change(module)

        spec.loader.exec_module = execute_and_change  # type: ignore[method-assign]  # this one module's loader
        return spec


def register() -> None:
    """Applies the changes to modules imported already, and to those imported later."""
    for name, change in CHANGES.items():
        if (module := sys.modules.get(name)) is not None:
            change(module)
    sys.meta_path.insert(0, _AfterImport())
    # A CPU tensor belongs to no stream.
    torch.Tensor.record_stream = lambda _self, _stream: None
