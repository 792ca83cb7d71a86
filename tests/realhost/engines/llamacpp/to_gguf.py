"""Writes a tiny Qwen3 model, or its DFlash drafter, as the GGUF file that llama.cpp reads.

Law: the folder of a model as transformers lays it out in, one file out. Names of keys and tensors are those of
llama.cpp's architectures `qwen3` and `dflash`; the drafter shares embeddings and head with its target.

    python to_gguf.py MODEL_FOLDER TARGET_FOLDER FILE
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import gguf
import numpy as np
from safetensors.numpy import load_file

NAMES = {
    "embed_tokens": "token_embd",
    "lm_head": "output",
    "norm": "output_norm",
    "fc": "fc",
    "hidden_norm": "enc.output_norm",
    "input_layernorm": "attn_norm",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "self_attn.q_norm": "attn_q_norm",
    "self_attn.k_norm": "attn_k_norm",
    "post_attention_layernorm": "ffn_norm",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}


def renamed(name: str) -> str:
    """`model.layers.3.mlp.up_proj.weight` is `blk.3.ffn_up.weight`."""
    parts = name.removeprefix("model.").removesuffix(".weight").split(".")
    if parts[0] == "layers":
        return f"blk.{parts[1]}.{NAMES['.'.join(parts[2:])]}.weight"
    return f"{NAMES['.'.join(parts)]}.weight"


def sizes(to: gguf.GGUFWriter, config: dict[str, Any]) -> None:
    """The numbers of the model, under its architecture's name."""
    to.add_context_length(config["max_position_embeddings"])
    to.add_embedding_length(config["hidden_size"])
    to.add_block_count(config["num_hidden_layers"])
    to.add_feed_forward_length(config["intermediate_size"])
    to.add_head_count(config["num_attention_heads"])
    to.add_head_count_kv(config["num_key_value_heads"])
    to.add_key_length(config["head_dim"])
    to.add_value_length(config["head_dim"])
    to.add_layer_norm_rms_eps(config["rms_norm_eps"])
    to.add_rope_freq_base(config["rope_parameters"]["rope_theta"])
    to.add_file_type(gguf.LlamaFileType.ALL_F32)


def words(to: gguf.GGUFWriter, folder: Path, config: dict[str, Any]) -> None:
    """The tokenizer: byte pairs as GPT-2 has them."""
    told = json.loads((folder / "tokenizer.json").read_text("utf-8"))
    special = {each["content"] for each in told["added_tokens"] if each["special"]}
    tokens = sorted(told["model"]["vocab"], key=told["model"]["vocab"].__getitem__)
    kinds = [gguf.TokenType.CONTROL if each in special else gguf.TokenType.NORMAL for each in tokens]
    to.add_tokenizer_model("gpt2")
    to.add_tokenizer_pre("gpt-2")
    to.add_token_list(tokens)
    to.add_token_types(kinds)
    to.add_token_merges(
        [each if isinstance(each, str) else " ".join(each) for each in told["model"]["merges"]]
    )
    to.add_bos_token_id(config["bos_token_id"])
    to.add_eos_token_id(config["eos_token_id"])
    to.add_pad_token_id(config["pad_token_id"])
    to.add_add_bos_token(value=False)
    to.add_chat_template((folder / "chat_template.jinja").read_text("utf-8"))


def drafter(to: gguf.GGUFWriter, config: dict[str, Any]) -> None:
    """What makes it a drafter. llama.cpp counts the layers that it listens to from 1: their input, not their output."""
    own = config["dflash_config"]
    to.add_uint32("dflash.block_size", config["block_size"])
    to.add_bool("dflash.sample_from_anchor", val=False)
    to.add_array("dflash.target_layers", [layer + 1 for layer in own["target_layer_ids"]])
    to.add_uint32("tokenizer.ggml.mask_token_id", own["mask_token_id"])


def convert(model: Path, target: Path, file: Path) -> None:
    """One model as one file."""
    config = json.loads((model / "config.json").read_text("utf-8"))
    drafts = "dflash_config" in config
    to = gguf.GGUFWriter(str(file), "dflash" if drafts else "qwen3")
    to.add_name(model.name)
    sizes(to, config)
    words(to, target, config)
    if drafts:
        drafter(to, config)
    for name, tensor in load_file(model / "model.safetensors").items():
        to.add_tensor(renamed(name), tensor.astype(np.float32))
    to.write_header_to_file()
    to.write_kv_data_to_file()
    to.write_tensors_to_file()
    to.close()


if __name__ == "__main__":
    convert(*map(Path, sys.argv[1:4]))
