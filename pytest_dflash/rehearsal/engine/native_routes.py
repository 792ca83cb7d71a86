"""SGLang's own routes: what the server says of itself, loads and metrics.

Law: values in, bodies out. Field names are 0.5.23's.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from .scheduler import Scheduler

VERSION = "0.5.23"
STARTUP_TIME = {
    "load_weight": 0.02,
    "kv_cache_allocation": 0.41,
    "scheduler_e2e": 1.52,
    "tokenizer_e2e": 8.82,
}


def server_info(scheduler: Scheduler, argv: Sequence[str]) -> dict[str, Any]:
    """`/server_info`: all fields at the top, and again per scheduler with what it measured."""
    fields = dict(scheduler.fields)
    tokens = fields["max_total_tokens"] or 131072
    state = fields | {
        "world_size": fields["tp_size"],
        "startup_time": STARTUP_TIME,
        "effective_max_running_requests_per_dp": fields["max_running_requests"] or 2048,
        "last_gen_throughput": scheduler.last_throughput,
        "memory_usage": {
            "weight": 72.84,
            "kvcache": 9.42,
            "token_capacity": tokens,
            "token_capacity_swa": None,
        },
        "decode_cuda_graph_bs": [],
    }
    if (length := scheduler.counters.accept_length) is not None:
        state["avg_spec_accept_length"] = length
    return fields | {
        "launch_command": " ".join(argv),
        "status": "ready",
        "max_total_num_tokens": tokens,
        "max_req_input_len": fields["context_length"] - 6,
        "startup_time": STARTUP_TIME,
        "kv_events": None,
        "internal_states": [state],
        "version": VERSION,
        "frontend": "python",
    }


def model_info(fields: Mapping[str, Any]) -> dict[str, Any]:
    """`/model_info`."""
    return {
        "model_path": fields["model_path"],
        "served_model_name": fields["served_model_name"],
        "tokenizer_path": fields["tokenizer_path"],
        "is_generation": True,
        "preferred_sampling_params": None,
        "weight_version": "default",
        "load_format": "auto",
        "reasoning_parser": None,
        "tool_call_parser": None,
        "disaggregation_mode": "null",
        "has_image_understanding": False,
        "has_audio_understanding": False,
        "model_type": "kimi_k25",
        "architectures": ["KimiK25ForConditionalGeneration"],
    }


def models(fields: Mapping[str, Any]) -> dict[str, Any]:
    """`/v1/models`."""
    name = fields["served_model_name"]
    served = {"id": name, "object": "model", "created": int(time.time()), "owned_by": "sglang", "root": name}
    return {"object": "list", "data": [served | {"parent": None, "max_model_len": fields["context_length"]}]}


def loads(scheduler: Scheduler) -> dict[str, Any]:
    """`/v1/loads`."""
    length = scheduler.counters.accept_length
    return {
        "timestamp": time.time(),
        "version": VERSION,
        "dp_rank_count": 1,
        "loads": [
            {
                "dp_rank": 0,
                "num_running_reqs": scheduler.running,
                "num_waiting_reqs": scheduler.waiting,
                "num_used_tokens": scheduler.used_tokens,
                "max_total_num_tokens": scheduler.fields["max_total_tokens"] or 131072,
                "token_usage": 0.0,
                "speculative": None
                if length is None
                else {"accept_length": length, "accept_rate": (length - 1) / 7},
            }
        ],
        "aggregate": {"total_running_reqs": scheduler.running, "total_waiting_reqs": scheduler.waiting},
    }


def metrics(scheduler: Scheduler) -> str:
    """`/metrics` in Prometheus' text form."""
    labels = f'{{engine_type="unified",model_name="{scheduler.fields["served_model_name"]}"}}'
    counted = scheduler.counters
    rows = [
        ("prompt_tokens_total", "counter", "Number of prefill tokens processed.", counted.prompt_tokens),
        (
            "generation_tokens_total",
            "counter",
            "Number of generation tokens processed.",
            counted.generation_tokens,
        ),
        (
            "spec_verify_calls_total",
            "counter",
            "Number of speculative decoding verification calls.",
            counted.verify_calls,
        ),
        ("num_requests_total", "counter", "Number of requests processed.", counted.requests),
        ("num_running_reqs", "gauge", "The number of running requests.", scheduler.running),
        ("num_queue_reqs", "gauge", "The number of requests in the waiting queue.", scheduler.waiting),
        ("cached_tokens_total", "counter", "Number of cached prompt tokens.", counted.cached_tokens),
        (
            "spec_accept_length",
            "gauge",
            "The average acceptance length of speculative decoding.",
            scheduler.counters.accept_length or 0,
        ),
    ]
    return "".join(
        f"# HELP sglang:{name} {text}\n# TYPE sglang:{name} {kind}\nsglang:{name}{labels} {float(value)}\n"
        for name, kind, text, value in rows
    )
