"""Other load clients: how each is told the same work, and where its report has the numbers.

Each lives in a virtual environment of its own, below $DFLASH_CACHE/peers (else ~/.cache/pytest-dflash/peers):

    python3.12 -m venv peers/aiperf && peers/aiperf/bin/pip install aiperf==0.13.0
    python3.12 -m venv peers/guidellm && peers/guidellm/bin/pip install guidellm==0.8.1
    python3.12 -m venv peers/inference-perf && peers/inference-perf/bin/pip install inference-perf==0.7.0
    python3.11 -m venv peers/sglang && peers/sglang/bin/pip install sglang==0.5.23     # with its Rust client

One that is not there is left out, and said so.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
CACHE = Path(os.environ.get("DFLASH_CACHE", Path.home() / ".cache" / "pytest-dflash"))
TOKENIZER = ROOT / "tests" / "realhost" / "models" / "target"
PROMPT_TOKENS = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What every client is told to do."""

    url: str
    scenario: str
    concurrency: int
    requests: int
    tokens: int
    folder: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Reported:
    """What a client says it measured."""

    ttft_mean_s: float
    ttft_p99_s: float
    tpot_s: float
    tokens_per_s: float


@dataclass(frozen=True, slots=True)
class Peer:
    """A client. `program` must exist; `command` gives the rest of the line; `read` its report."""

    name: str
    program: Path
    command: Callable[[Work], Sequence[str | Path]]
    read: Callable[[Path], Reported]
    environment: Mapping[str, str] = field(default_factory=dict)


def mean(values: Sequence[float]) -> float:
    """Arithmetic mean."""
    return sum(values) / len(values)


def p99(values: Sequence[float]) -> float:
    """Nearest rank."""
    return sorted(values)[max(-(-99 * len(values) // 100), 1) - 1]


def _read_own(folder: Path) -> Reported:
    said = json.loads((folder / "out.json").read_text())
    if said["failed"]:
        raise ValueError(f"{said['failed']} requests failed")
    return Reported(
        ttft_mean_s=mean(said["ttft_s"]),
        ttft_p99_s=p99(said["ttft_s"]),
        tpot_s=mean(said["tpot_s"]),
        tokens_per_s=said["tokens_per_s"],
    )


def _own(name: str) -> Peer:
    def command(work: Work) -> Sequence[str | Path]:
        numbers = (work.concurrency, work.requests, work.tokens)
        out = work.folder / "out.json"
        return ["-m", "benchmarks.own_client", name, work.url, work.scenario, *map(str, numbers), out]

    return Peer(name, Path(sys.executable), command, _read_own, {"PYTHONPATH": str(ROOT)})


def _sglang_line(work: Work) -> list[str | Path]:
    options: dict[str, Any] = {
        "backend": "sglang-oai-chat",
        "base-url": work.url,
        "model": work.scenario,
        "tokenizer": TOKENIZER,
        "dataset-name": "random-ids",
        "random-input-len": PROMPT_TOKENS,
        "random-output-len": work.tokens,
        "random-range-ratio": 1,
        "num-prompts": work.requests,
        "max-concurrency": work.concurrency,
        "warmup-requests": 1,
        "output-file": work.folder / "out.jsonl",
    }
    return ["--output-details", "--disable-tqdm", *(f"--{name}={value}" for name, value in options.items())]


def _read_sglang(folder: Path) -> Reported:
    said = json.loads((folder / "out.jsonl").read_text().splitlines()[-1])
    return Reported(
        ttft_mean_s=said["mean_ttft_ms"] / 1000,
        ttft_p99_s=p99(said["ttfts"]),
        tpot_s=said["mean_tpot_ms"] / 1000,
        tokens_per_s=said["output_throughput"],
    )


def _aiperf_line(work: Work) -> list[str | Path]:
    options: dict[str, Any] = {
        "model": work.scenario,
        "url": work.url,
        "endpoint-type": "chat",
        "concurrency": work.concurrency,
        "request-count": work.requests,
        "synthetic-input-tokens-mean": PROMPT_TOKENS,
        "synthetic-input-tokens-stddev": 0,
        "output-tokens-mean": work.tokens,
        "output-tokens-stddev": 0,
        "tokenizer": TOKENIZER,
        "extra-inputs": "ignore_eos:true",
        "artifact-dir": work.folder,
        "ui": "none",
    }
    line: list[str | Path] = ["profile", "--streaming", "--use-server-token-count"]
    for name, value in options.items():
        line += [f"--{name}", str(value)]
    return line


def _read_aiperf(folder: Path) -> Reported:
    said = json.loads((folder / "profile_export_aiperf.json").read_text())
    return Reported(
        ttft_mean_s=said["time_to_first_token"]["avg"] / 1000,
        ttft_p99_s=said["time_to_first_token"]["p99"] / 1000,
        tpot_s=said["inter_token_latency"]["avg"] / 1000,
        tokens_per_s=said["output_token_throughput"]["avg"],
    )


def _guidellm_line(work: Work) -> list[str | Path]:
    options: dict[str, Any] = {
        "backend": f"kind=openai_http,target={work.url},model={work.scenario},request_format=/v1/chat/completions",
        "profile": f"kind=concurrent,streams={work.concurrency}",
        "constraint": f"kind=max_requests,count={work.requests}",
        "tokenizer": f"kind=huggingface_auto,model={TOKENIZER}",
        "data": f"kind=synthetic_text,prompt_tokens={PROMPT_TOKENS},output_tokens={work.tokens}",
        "output": f"kind=json,path={work.folder / 'benchmarks.json'}",
    }
    line: list[str | Path] = ["run", "--disable-console-interactive"]
    for name, value in options.items():
        line += [f"--{name}", value]
    return line


def _read_guidellm(folder: Path) -> Reported:
    (said,) = json.loads((folder / "benchmarks.json").read_text())["benchmarks"]
    values = {name: value or {} for name, value in said["metrics"].items()}  # null where nothing was measured
    metrics = {name: value["successful"] for name, value in values.items() if "successful" in value}
    ttft = metrics["time_to_first_token_ms"]
    return Reported(
        ttft_mean_s=ttft["mean"] / 1000,
        ttft_p99_s=ttft["percentiles"]["p99"] / 1000,
        tpot_s=metrics["time_per_output_token_ms"]["mean"] / 1000,
        tokens_per_s=metrics["output_tokens_per_second"]["mean"],
    )


def _infperf_line(work: Work) -> list[str | Path]:
    fixed = {
        "min": work.tokens,
        "max": work.tokens,
        "mean": work.tokens,
        "std_dev": 0,
        "total_count": work.requests,
    }
    prompt = dict.fromkeys(("min", "max", "mean"), PROMPT_TOKENS) | {
        "std_dev": 0,
        "total_count": work.requests,
    }
    config = {
        "api": {"type": "completion", "streaming": True},
        "data": {"type": "random", "input_distribution": prompt, "output_distribution": fixed},
        "load": {
            "type": "concurrent",
            "stages": [{"num_requests": work.requests, "concurrency_level": work.concurrency}],
            "num_workers": 1,
            "worker_max_concurrency": work.concurrency,
        },
        "server": {"type": "vllm", "model_name": work.scenario, "base_url": work.url, "ignore_eos": True},
        "tokenizer": {"pretrained_model_name_or_path": str(TOKENIZER)},
        "report": {"request_lifecycle": {"summary": True, "per_stage": True, "per_request": True}},
        "storage": {"local_storage": {"path": str(work.folder)}},
    }  # fmt: skip
    path = work.folder / "config.yml"
    path.write_text(json.dumps(config))  # JSON is YAML
    return ["--config_file", path]


def _read_infperf(folder: Path) -> Reported:
    said = json.loads((folder / "summary_lifecycle_metrics.json").read_text())["successes"]
    latency = said["latency"]
    return Reported(
        ttft_mean_s=latency["time_to_first_token"]["mean"],
        ttft_p99_s=latency["time_to_first_token"]["p99"],
        tpot_s=latency["time_per_output_token"]["mean"],
        tokens_per_s=said["throughput"]["output_tokens_per_sec"],
    )


def _in(name: str, program: str) -> Path:
    return CACHE / "peers" / name / "bin" / program


PEERS: tuple[Peer, ...] = (
    _own("ours"),
    _own("aiohttp"),
    Peer(
        "sgl-rust",
        _in("sglang", "python"),
        lambda work: ["-m", "sglang.benchmark.rust_client", *_sglang_line(work)],
        _read_sglang,
    ),
    Peer(
        "sgl-py",
        _in("sglang", "python"),
        lambda work: ["-m", "sglang.benchmark.serving", *_sglang_line(work)],
        _read_sglang,
    ),
    Peer(
        "aiperf",
        _in("aiperf", "aiperf"),
        _aiperf_line,
        _read_aiperf,
        # Offline it takes a folder for a name at the hub.
        {"HF_HUB_OFFLINE": "", "TRANSFORMERS_OFFLINE": ""},
    ),
    Peer("guidellm", _in("guidellm", "guidellm"), _guidellm_line, _read_guidellm),
    Peer("inference-perf", _in("inference-perf", "inference-perf"), _infperf_line, _read_infperf),
)
