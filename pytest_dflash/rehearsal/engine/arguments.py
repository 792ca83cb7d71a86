"""The command line, and what the engine makes of it.

Law: names, kinds and defaults come from a recorded `server_args` of 0.5.23 (`server_args.json`, 546 fields,
GPU defaults), and one from a fork that verifies DFLASH's guesses as a tree: `--speculative-dflash-enable-ddtree`.
Resolution is what that version does for DFLASH, no more. argparse speaks as it does there.
"""

from __future__ import annotations

import argparse
import ast
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

RECORDED = Path(__file__).parent / "server_args.json"
ALGORITHMS = ("EAGLE", "EAGLE3", "NEXTN", "STANDALONE", "NGRAM", "DFLASH", "DSPARK", "UNO")
TREE = "speculative_dflash_enable_ddtree"
TREE_TOP_K = 8
BLOCK = 8
WINDOW_ALGORITHMS = ("EAGLE", "EAGLE3", "DFLASH")
ALIASES = {
    "model_path": ("--model",),
    "speculative_draft_model_path": ("--speculative-draft-model",),
    "tp_size": ("--tensor-parallel-size", "--tp"),
}


def defaults() -> dict[str, Any]:
    """Every field with its default, in the order in which the engine prints them."""
    fields: dict[str, Any] = json.loads(RECORDED.read_text("utf-8"))
    return fields | {TREE: False}


def _plain(text: str) -> Any:
    """A value of a field whose recorded default is None: a number where it reads as one."""
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text
    return value if isinstance(value, int | float) and not isinstance(value, bool) else text


def _kind(default: Any) -> dict[str, Any]:
    if isinstance(default, bool):
        return {"action": "store_true"}
    if isinstance(default, list):
        return {"nargs": "*"}
    if isinstance(default, dict):
        return {"type": json.loads}
    return {"type": _plain if default is None else type(default)}


def parser() -> argparse.ArgumentParser:
    """The engine's argument parser; unique prefixes are accepted, as there."""
    made = argparse.ArgumentParser(prog="sglang serve")
    for name, default in defaults().items():
        if name.startswith("_"):
            continue
        flag = "--" + name.replace("_", "-")
        made.add_argument(flag, *ALIASES.get(name, ()), dest=name, default=default, **_kind(default))
    return made


def resolve(argv: Sequence[str]) -> tuple[dict[str, Any], list[str]]:
    """The fields as the engine prints them, and the warnings that it logs on the way.

    Raises:
        ValueError: Where the engine refuses to start.
        SystemExit: argparse's, with status 2.
    """
    given = vars(parser().parse_args(list(argv)))
    fields = defaults() | given
    warnings: list[str] = []
    if fields["model_path"] is None:
        parser().error("the following arguments are required: --model-path/--model")
    fields["tokenizer_path"] = fields["tokenizer_path"] or fields["model_path"]
    fields["served_model_name"] = fields["served_model_name"] or fields["model_path"]
    fields["context_length"] = fields["context_length"] or 4096
    fields["random_seed"] = 918273645 if fields["random_seed"] is None else fields["random_seed"]
    fields["attention_backend"] = fields["attention_backend"] or "triton"
    _speculation(fields, warnings)
    return fields, warnings


def _speculation(fields: dict[str, Any], warnings: list[str]) -> None:
    algorithm = fields["speculative_algorithm"]
    window = fields["speculative_draft_window_size"]
    if algorithm is None:
        return
    algorithm = fields["speculative_algorithm"] = str(algorithm).upper()
    if algorithm not in ALGORITHMS:
        raise ValueError(f"Unknown speculative algorithm name: {algorithm}")
    if fields["speculative_draft_model_path"] is None:
        raise ValueError(f"{algorithm} requires setting --speculative-draft-model-path.")
    fields["speculative_draft_model_revision"] = fields["speculative_draft_model_revision"] or "main"
    if window is not None and algorithm not in WINDOW_ALGORITHMS:
        warnings.append(window_warning(algorithm))
    if algorithm != "DFLASH":
        return
    _blocks(fields, warnings)
    if window is not None and window < fields["speculative_num_draft_tokens"]:
        raise ValueError("--speculative-draft-window-size must be >= speculative_num_draft_tokens")
    fields["speculative_draft_attention_backend"] = (
        fields["speculative_draft_attention_backend"] or fields["attention_backend"]
    )


def _blocks(fields: dict[str, Any], warnings: list[str]) -> None:
    """What DFLASH makes of the flags that are about other algorithms, or were not given."""
    if fields[TREE]:
        fields["speculative_eagle_topk"] = fields["speculative_eagle_topk"] or TREE_TOP_K
    for name in ("speculative_num_steps", *(() if fields[TREE] else ("speculative_eagle_topk",))):
        if fields[name] not in (None, 1):
            warnings.append(f"DFLASH only supports {name} == 1; overriding {name}={fields[name]} to 1.")
        fields[name] = 1
    fields["speculative_num_draft_tokens"] = fields["speculative_num_draft_tokens"] or block_size(fields)
    if fields["max_running_requests"] is None:
        fields["max_running_requests"] = 48
        warnings.append(
            "Max running requests is reset to 48 for speculative decoding. "
            "You can override this by explicitly setting --max-running-requests."
        )


def block_size(fields: Mapping[str, Any]) -> int:
    """Tokens of the draft's block: what its config says, else `BLOCK`."""
    try:
        config = json.loads((Path(fields["speculative_draft_model_path"]) / "config.json").read_text("utf-8"))
        return max(int(config["block_size"]), 2)
    except (OSError, ValueError, KeyError, TypeError):
        return BLOCK


def window_warning(algorithm: str) -> str:
    """The engine's words when it ignores the window."""
    return (
        f"--speculative-draft-window-size has no effect with speculative_algorithm={algorithm} "
        "(honored by EAGLE and EAGLE3)."
    )
