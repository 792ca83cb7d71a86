"""The two attention operators that SGLang's CPU backend calls, by torch's own attention.

Law: arithmetic on the tensors handed in. The argument lists are those of SGLang's operators.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention


def register() -> None:
    """Makes them operators of torch, where SGLang looks for them."""
    torch.ops.sgl_kernel.extend_attention_cpu = extend
    torch.ops.sgl_kernel.decode_attention_cpu = decode


def _attend(query: Tensor, keys: Tensor, values: Tensor, scale: float, mask: Tensor | None) -> Tensor:
    """One request: query [tokens, heads, width], keys and values [length, kv heads, width]."""
    attended: Tensor = scaled_dot_product_attention(
        *(each.transpose(0, 1)[None] for each in (query, keys, values)),
        attn_mask=mask, scale=scale, enable_gqa=True,
    )  # fmt: skip
    return attended[0].transpose(0, 1)


def extend(  # noqa: PLR0917 - SGLang's argument list
    query: Tensor, key: Tensor, value: Tensor, out: Tensor, key_cache: Tensor, value_cache: Tensor,
    _k_scale: Any, _v_scale: Any, table: Tensor, rows: Tensor, lengths: Tensor, new_lengths: Tensor, starts: Tensor,
    _longest: int, scale: float, *_rest: Any, tree_mask: Tensor | None = None, causal: bool = True,
) -> None:  # fmt: skip
    """Attention of the new tokens of each request over its cached ones and themselves."""
    for request, (row, length, new, start) in enumerate(
        zip(rows.tolist(), lengths.tolist(), new_lengths.tolist(), starts.tolist(), strict=True)
    ):
        old = length - new
        mine = slice(start, start + new)
        slots = table[row, :old].long()
        keys = torch.cat([key_cache[slots], key[mine].view(new, *key_cache.shape[1:])])
        values = torch.cat([value_cache[slots], value[mine].view(new, *value_cache.shape[1:])])
        mask = torch.ones(new, length, dtype=torch.bool)
        if causal and tree_mask is not None:
            mask[:, old:] = tree_mask.flatten().view(-1, new, new)[request]
        elif causal:
            mask[:, old:].tril_()
        out[mine] = _attend(query[mine], keys, values, scale, mask)


def decode(  # noqa: PLR0917 - SGLang's argument list
    query: Tensor, key_cache: Tensor, value_cache: Tensor, _k_scale: Any, _v_scale: Any, out: Tensor,
    key: Tensor | None, value: Tensor | None, slots: Tensor, _scratch: Tensor, table: Tensor, rows: Tensor,
    lengths: Tensor, scale: float, *_rest: Any,
) -> None:  # fmt: skip
    """Attention of one new token of each request, after it was put into the cache."""
    if key is not None and value is not None:
        key_cache[slots.long()] = key.view(-1, *key_cache.shape[1:]).to(key_cache.dtype)
        value_cache[slots.long()] = value.view(-1, *value_cache.shape[1:]).to(value_cache.dtype)
    for request, (row, length) in enumerate(zip(rows.tolist(), lengths.tolist(), strict=True)):
        mine = table[row, :length].long()
        out[request] = _attend(query[request : request + 1], key_cache[mine], value_cache[mine], scale, None)[
            0
        ]
