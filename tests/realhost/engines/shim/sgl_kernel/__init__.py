"""Stands in for `sgl_kernel`, whose published builds are for CUDA only, so that SGLang serves on any CPU.

Law: what SGLang 0.5.23 calls for greedy DFLASH decoding of a small model, in plain torch; everything else can be
imported and says its name when called. Slow, and no evidence about SGLang's own kernels: HTTP, arguments, processes,
scheduler, draft worker and logs are SGLang's, attention is ours.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import sys
import types
from collections.abc import Sequence
from typing import Any

from . import after_import, attention, cache_slots

__version__ = "0.4.10"
# What is called of the package; attention is reached as an operator of torch.
assign_req_to_token_pool_cpu = cache_slots.into_table
assign_extend_cache_locs_cpu = cache_slots.from_table
copy_all_layer_kv_cache_cpu = cache_slots.copy


class Missing:
    """An operation that this stand-in does not have, until somebody calls it."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __call__(self, *_args: Any, **_kwargs: Any) -> None:
        raise NotImplementedError(f"the stand-in for sgl_kernel has no {self._name}")

    def __getattr__(self, name: str) -> Missing:
        if name.startswith("__"):
            raise AttributeError(name)
        return Missing(f"{self._name}.{name}")


def __getattr__(name: str) -> Missing:
    if name.startswith("__"):
        raise AttributeError(name)
    return Missing(name)


class _Submodules(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Any `sgl_kernel.x.y` that is no file here is a module of missing operations."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if not fullname.startswith("sgl_kernel."):
            return None
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        module = types.ModuleType(spec.name)
        missing = Missing(spec.name.removeprefix("sgl_kernel."))
        module.__getattr__ = missing.__getattr__  # type: ignore[method-assign]  # PEP 562
        return module

    def exec_module(self, module: types.ModuleType) -> None:
        """Nothing to run."""


sys.meta_path.append(_Submodules())
attention.register()
after_import.register()
