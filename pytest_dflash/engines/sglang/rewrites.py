"""Which values SGLang may turn into another.

Law: rules about values that were read; no reading. Only what the engine's own start-up code does is legal:
an explicit value that became another one is drift unless a rule here says otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import PurePosixPath

from pytest_dflash.engines.literals import plain
from pytest_dflash.engines.sglang import flags
from pytest_dflash.engines.sglang.sameness import same
from pytest_dflash.findings import Json

Context = Mapping[str, Json]
Rule = Callable[[Json, Json, Context], bool]
"""(asked, found, the settings asked for together with it) -> legal."""


WITHOUT_FIELD = frozenset(
    {
        "config",
        "hybrid-kvcache-ratio",
        "prefill-round-robin-balance",
        "collect-tokens-histogram",
        "enable-expert-distribution-metrics",
        "enable-piecewise-cuda-graph",
        "disable-piecewise-cuda-graph",
        "enforce-piecewise-cuda-graph",
        "enable-breakable-cuda-graph",
    }
)
"""Flags that some version takes and has no field for: retired ones, and those that set another field."""


def is_rewrite(setting: str, asked: Json, found: Json, context: Context) -> bool:
    """Whether the engine legally turns `asked` (None: nobody asked) into `found`.

    Args:
        setting: Which.
        asked: What the earlier witness says.
        found: What the later one says.
        context: What else was asked for, by setting.
    """
    if same(setting, asked, found) or asked == "auto":
        return True
    if isinstance(asked, str) and found in RENAMED.get(setting, {}).get(asked, ()):
        return True
    if any(rule(asked, found, context) for rule in RULES.get(setting, ())):
        return True
    if found is None and setting in WITHOUT_FIELD:
        return True
    if asked is None or (asked is False and flags.kind(setting) == "switch" and flags.resolves(setting)):
        default = flags.default(setting)
        return flags.resolves(setting) or (default is not ... and same(setting, plain(default), found))
    return False


def _algorithm(context: Context) -> str:
    return str(context.get("speculative-algorithm") or "").upper()


def _draft_block(context: Context) -> bool:
    """Whether the algorithm drafts a block at once, so that steps and top-k mean nothing to it."""
    return _algorithm(context) in {"DFLASH", "DSPARK", "DDTREE"}


def _upper(asked: Json, found: Json, _: Context) -> bool:
    """`dflash` is upper-cased, NEXTN is EAGLE, and a Gemma 4 assistant draft makes FROZEN_KV_MTP of both."""
    name = str(asked).upper()
    also = {"NEXTN": {"EAGLE", "FROZEN_KV_MTP"}, "EAGLE": {"FROZEN_KV_MTP"}}
    return found == name or found in also.get(name, ())


def _one_for_blocks(_: Json, found: Json, context: Context) -> bool:
    return found == 1 and _draft_block(context)


def _steps_plus_one(_: Json, found: Json, context: Context) -> bool:
    """EAGLE with top-k 1 drafts a chain, whose length follows from its steps."""
    steps, topk = context.get("speculative-num-steps"), context.get("speculative-eagle-topk")
    return isinstance(steps, int) and found == steps + 1 and topk in (1, None) and not _draft_block(context)


def _block_size(asked: Json, found: Json, context: Context) -> bool:
    """`--speculative-dflash-block-size` is another way to ask for it; DSpark verifies one more than it drafts."""
    gamma = context.get("speculative-dspark-block-size")
    by_gamma = isinstance(gamma, int) and found == gamma + 1
    return asked is None and (found == context.get("speculative-dflash-block-size") or by_gamma)


def _tree(asked: Json, found: Json, context: Context) -> bool:
    """A fork that verifies a tree of `budget` nodes and the root submits so many tokens, a block at least."""
    budget = context.get("speculative-ddtree-budget")
    block = asked if isinstance(asked, int) else 0
    return isinstance(budget, int) and found == max(block, budget + 1)


def _downloaded(asked: Json, found: Json, _: Context) -> bool:
    """A hub name becomes the folder of its snapshot, a relative path an absolute one, a last slash is lost."""
    if not isinstance(asked, str) or not isinstance(found, str):
        return False
    if asked.rstrip("/") == found.rstrip("/"):
        return True
    if f"models--{asked.strip('/').replace('/', '--')}/snapshots/" in found:
        return True
    if asked.startswith("/") or not found.startswith("/"):
        return False
    return PurePosixPath(found).parts[-len(PurePosixPath(asked).parts) :] == PurePosixPath(asked).parts


def _the_target(asked: Json, found: Json, context: Context) -> bool:
    return (
        asked is None
        and isinstance(found, str)
        and _downloaded(context.get("model-path"), found, context) is True
    )


def _over_ranks(asked: Json, found: Json, context: Context) -> bool:
    """Under data parallel attention every rank takes its part of a prefill chunk."""
    ranks = context.get("dp-size") or context.get("attn-dp-size")
    return isinstance(asked, int) and isinstance(ranks, int) and ranks > 1 and found == asked // ranks


def _eased(asked: Json, found: Json, context: Context) -> bool:
    spread = context.get("enable-dp-attention") or context.get("attn-dp-size")
    return isinstance(asked, int | float) and found in (asked * 0.3, round(asked * 0.3, 6)) and bool(spread)


_PAGES: dict[str, tuple[int, ...]] = {
    "flashmla": (64,),
    "cutlass_mla": (128,),
    "trtllm_mla": (32, 64),
    "trtllm_mha": (16, 32, 64),
    "tokenspeed_mla": (32, 64),
    "fa4": (128,),
    "dsa": (1, 64),
    "nsa": (1, 64),
    "ascend": (128,),
    "cutedsl_mla": (32, 64),
}


def _pages_of_backend(_: Json, found: Json, context: Context) -> bool:
    """Some attention backends know one page size only, and the engine changes it with a line in the log."""
    names = (context.get(f"{part}attention-backend") for part in ("", "decode-", "prefill-"))
    return any(isinstance(name, str) and found in _PAGES.get(name, ()) for name in names)


def _all_ranks(_: Json, found: Json, context: Context) -> bool:
    """Experts that travel between the ranks are spread over all of them."""
    return found == context.get("tp-size") and context.get("moe-a2a-backend") not in (None, "none")


def _speculating(_: Json, found: Json, context: Context) -> bool:
    return found is True and bool(_algorithm(context))


def _not_mixed(_: Json, found: Json, context: Context) -> bool:
    return found is False and bool(_algorithm(context))


def _same_path_list(asked: Json, found: Json, _: Context) -> bool:
    """`name=path` words become objects; whether each says the same cannot be read off their text."""
    return isinstance(asked, list) and isinstance(found, list | dict) and len(asked) == len(found)


_BACKENDS: Mapping[str, tuple[Json, ...]] = {
    "nsa": ("dsa",),
    "compressed": ("dsv4",),
    "tokenspeed_mla": ("cutedsl_mla", "trtllm_mla"),
}
RENAMED: Mapping[str, Mapping[str, tuple[Json, ...]]] = {
    "attention-backend": _BACKENDS,
    "decode-attention-backend": _BACKENDS,
    "prefill-attention-backend": _BACKENDS,
    "speculative-draft-attention-backend": _BACKENDS,
    "kv-cache-dtype": {"bf16": ("bfloat16",)},
    "quantization": {"unquant": (None,)},
    "speculative-draft-model-quantization": {"unquant": (None,)},
    "moe-runner-backend": {"megamoe": ("auto",)},
}
"""Values that have a newer name, by setting and old name. Source: arg_groups/serving_hook.py of 0.5.23."""

RULES: Mapping[str, tuple[Rule, ...]] = {
    "speculative-algorithm": (_upper,),
    "speculative-num-steps": (_one_for_blocks,),
    "speculative-eagle-topk": (_one_for_blocks,),
    "speculative-num-draft-tokens": (_steps_plus_one, _block_size, _tree),
    "speculative-draft-model-path": (_downloaded, _the_target),
    "model-path": (_downloaded,),
    "tokenizer-path": (_downloaded, _the_target),
    "chunked-prefill-size": (_over_ranks,),
    "schedule-conservativeness": (_eased,),
    "page-size": (_pages_of_backend,),
    "ep-size": (_all_ranks,),
    "disable-overlap-schedule": (_speculating,),
    "enable-mixed-chunk": (_not_mixed,),
    "lora-paths": (_same_path_list,),
}
"""Explicit values that the engine replaces, by setting. Source: server_args.py and arg_groups/*_hook.py."""
