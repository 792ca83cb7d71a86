"""What recorded starts of vLLM 0.32.0 say, what older wordings say, and a dirty log."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_dflash.engines.registry import dialect
from pytest_dflash.facts.journal import Entry, Journal
from pytest_dflash.facts.reading import Absent, Reading, Silent, Value

CASES = Path(__file__).parent / "cases"
VLLM = dialect("vllm")


def of(*lines: str, reaches_start: bool = True) -> Journal:
    entries = tuple(Entry(n, n, 4121, 6, line) for n, line in enumerate(lines))
    return Journal("1f2e", entries, reaches_start=reaches_start, whole=True)


def recorded(case: str) -> Journal:
    return of(*(CASES / f"0.32.0-{case}" / "log.txt").read_text().splitlines())


def values(reading: Reading[Any]) -> dict[str, Any]:
    assert isinstance(reading, Value), reading
    return dict(reading.value.values)


def test_the_arguments_and_what_the_core_made_of_them_are_one_witness() -> None:
    found = values(VLLM.args_log(recorded("dflash-trained")))
    assert found["speculative-config.num_speculative_tokens"] == 7
    assert found["speculative-config.model"] == "/srv/models/dflash"
    assert found["max-num-seqs"] == 4  # said by the server only
    assert found["tensor-parallel-size"] == 1  # a default, said by the core only
    assert found["dtype"] == "torch.float32"  # asked as float32, and the core's word is the later one
    assert "model-tag" not in found


def test_the_core_stands_in_for_the_draft_runner() -> None:
    assert values(VLLM.draft_runner(recorded("dflash-trained"))) == {
        "speculative-config.method": "dflash",
        "speculative-config.model": "/srv/models/dflash",
        "speculative-config.num_speculative_tokens": 7,
    }
    assert values(VLLM.draft_runner(recorded("ngram")))["speculative-config.model"] is None


def test_a_core_without_speculation_has_no_draft_runner() -> None:
    assert isinstance(VLLM.draft_runner(recorded("base")), Absent)


def test_older_versions_print_every_argument_as_a_namespace() -> None:
    line = "INFO 04-28 12:00:00 [api_server.py:1044] args: Namespace(port=8000, tensor_parallel_size=8, host=None)"
    assert values(VLLM.args_log(of(line))) == {"port": 8000, "tensor-parallel-size": 8, "host": None}


def test_only_the_newest_start_counts() -> None:
    log = of(
        "(APIServer pid=1) INFO 11-29 16:08:00 [x.py:1] non-default args: {'port': 1}",
        "INFO:     Application startup complete.",
        "(APIServer pid=2) INFO 11-29 16:09:00 [x.py:1] non-default args: {'port': 2}",
    )
    assert values(VLLM.args_log(log)) == {"port": 2}
    assert VLLM.ready_line(log) is None


@pytest.mark.parametrize("reaches_start", [True, False])
def test_a_log_without_the_arguments_is_silent(*, reaches_start: bool) -> None:
    assert isinstance(
        VLLM.args_log(of("INFO 11-29 16:08:00 [x.py:1] hello", reaches_start=reaches_start)), Silent
    )
    assert isinstance(VLLM.draft_runner(of("hello", reaches_start=reaches_start)), Silent)


def test_replicas_that_disagree_show_the_odd_one() -> None:
    core = "Initializing a V1 LLM engine (v0.32.0) with config: model='M', speculative_config="
    same, odd = (
        f"SpeculativeConfig(method='dflash', model='D', num_spec_tokens={n}), seed=0" for n in (7, 3)
    )
    log = of(
        *(
            f"(EngineCore_DP{n} pid={n}) INFO 11-29 16:08:00 [core.py:133] {core}{each}"
            for n, each in enumerate((same, odd, same))
        )
    )
    reading = VLLM.draft_runner(log)
    assert values(reading)["speculative-config.num_speculative_tokens"] == 3
    assert isinstance(reading, Value)
    assert reading.where == "speculative_config= of EngineCore_DP1"


def test_acceptance_is_counted_with_the_bonus_token() -> None:
    first, second, idle = VLLM.decode_lines(recorded("dflash-trained"))
    assert (first.rank, first.running, first.queued, first.tokens_per_s) == ("DP0", 1, 0, 77.9)
    assert first.accept_len == pytest.approx(4.21, abs=0.005)
    assert first.accept_rate == pytest.approx(0.459, abs=0.001)
    assert second.accept_len == pytest.approx(4.00, abs=0.01)
    assert idle.accept_len is None


def test_the_mean_of_0_8_5_which_leaves_the_bonus_out_is_set_right() -> None:
    stats = (
        "Engine 000: Avg prompt throughput: 0.0 tokens/s, Avg generation throughput: 9.0 tokens/s, "
        "Running: 1 reqs, Waiting: 0 reqs, GPU KV cache usage: 0.1%"
    )
    old = (
        "SpecDecoding metrics: Draft acceptance rate: 50.0%, Mean acceptance length: 1.00, Accepted: 10 tokens, "
        "Drafted: 20 tokens, Per-position acceptance rate: 0.600, 0.400"
    )
    (found,) = VLLM.decode_lines(of(stats, old))
    assert (found.accept_len, found.accept_rate) == (2.0, 0.5)


def test_resolved_values_and_hints_alarm_nobody() -> None:
    for case in ("dflash-trained", "ngram", "base"):
        assert [each for each in VLLM.warnings(recorded(case)) if each.alarming] == []
    told = {each.setting: each.kind for each in VLLM.warnings(recorded("ngram"))}
    assert told["async-scheduling"] == "fallback"


@pytest.mark.parametrize(
    "line",
    [
        (
            "Default vLLM sampling parameters have been overridden by the model's `generation_config.json`: "
            "`{'temperature': 0.7, 'top_k': 20}`. If this is not intended, please relaunch vLLM instance with "
            "`--generation-config vllm`."
        ),
        (
            "Default sampling parameters have been overridden by the model's Hugging Face generation config recommended from "
            "the model creator. If this is not intended, please relaunch vLLM instance with `--generation-config vllm`."
        ),
    ],
)
def test_a_model_with_sampling_settings_of_its_own_alarms_nobody(line: str) -> None:
    found = VLLM.warnings(of(f"(APIServer pid=7) WARNING 11-29 16:08:00 [model.py:1546] {line}"))
    assert [each for each in found if each.alarming] == []


@pytest.mark.parametrize(
    "line,setting,kind",
    [
        ("Found duplicate keys --port, --speculative-config.method", "port", "replaced"),
        ("Unknown vLLM environment variable detected: VLLM_FOO", None, "ignored"),
        ("--max-num-seqs has no effect with this backend", "max-num-seqs", "ignored"),
        (
            "method `deepseek_mtp` is deprecated and replaced with mtp.",
            "speculative-config.method",
            "deprecated",
        ),
    ],
)
def test_a_line_about_a_setting_is_noticed(line: str, setting: str | None, kind: str) -> None:
    (found,) = VLLM.warnings(of(f"(APIServer pid=7) WARNING 11-29 16:08:00 [x.py:1] {line}"))
    assert (found.setting, found.kind, found.message) == (setting, kind, line)


@pytest.mark.parametrize(
    "line,words",
    [
        ("Resolved architecture: Qwen3ForCausalLM", "settings resolved"),
        (
            "Loading safetensors checkpoint shards:  50% Completed | 2/4 [00:01<00:01]",
            "loading weights, shard 2/4",
        ),
        ("Capturing CUDA graphs (PIECEWISE):  10%|#  | 7/67 [00:01]", "capturing CUDA graphs 7/67"),
        ("GPU KV cache size: 699,008 tokens", "KV cache of 699,008 tokens allocated"),
        ("EngineCore encountered a fatal error.", "the engine core died"),
        ("nothing that tells", "reading its settings"),
    ],
)
def test_progress_is_told(line: str, words: str) -> None:
    args = "(APIServer pid=7) INFO 11-29 16:08:00 [x.py:1] non-default args: {'port': 1}"
    assert VLLM.progress(of(args, f"(EngineCore pid=9) INFO 11-29 16:08:00 [x.py:1] {line}")) == words


def test_several_api_servers_are_one_start_with_the_main_process_for_the_settings() -> None:
    log = recorded("two-api-servers")
    settings = values(VLLM.args_log(log))
    assert settings["api-server-count"] == 2
    assert settings["speculative-config.num_speculative_tokens"] == 7
    assert values(VLLM.draft_runner(log))["speculative-config.num_speculative_tokens"] == 7
    assert VLLM.ready_line(log) == "Application startup complete."
    assert VLLM.progress(log) == "start-up is over"


def test_replicas_are_as_many_as_were_asked_for_whatever_each_core_says_of_itself() -> None:
    log = recorded("data-parallel")
    assert any("EngineCore_DP1 pid=" in entry.message for entry in log.entries)
    assert values(VLLM.args_log(log))["data-parallel-size"] == 2
    assert "data-parallel-size" not in values(VLLM.effective(log))
    assert values(VLLM.draft_runner(log))["speculative-config.num_speculative_tokens"] == 7
    assert VLLM.ready_line(log) == "Application startup complete."


ASKED = "(APIServer pid=7) INFO 11-29 16:08:00 [x.py:1] non-default args: {'attention_backend': 'FLASHINFER'}"


@pytest.mark.parametrize(
    "line,name",
    [
        (
            "Using FLASH_ATTN attention backend out of potential backends: ['FLASH_ATTN', 'FLASHINFER'].",
            "FLASH_ATTN",
        ),
        ("Using TRITON_ATTN attention backend out of potential backends: ('TRITON_ATTN',).", "TRITON_ATTN"),
        ("Using ROCM_ATTN backend out of potential backends: ['ROCM_ATTN'].", "ROCM_ATTN"),
        ("Using AttentionBackendEnum.FLASHINFER backend.", "FLASHINFER"),
        ("Using CPU_MLA backend.", "CPU_MLA"),
        ("Using ROCM_AITER_FA backend (selected via --attention-backend).", "ROCM_AITER_FA"),
        ("Using Flash Attention backend on V1 engine.", "FLASH_ATTN"),
        ("Using Triton backend on V1 engine.", "TRITON_ATTN"),
        ("Using Triton MLA backend on V1 engine.", "TRITON_MLA"),
        ("Using FlashInfer backend on V1 engine.", "FLASHINFER"),
        ("Using Torch SDPA backend.", "TORCH_SDPA"),
    ],
)
def test_the_attention_backend_in_use_is_read_in_all_wordings(line: str, name: str) -> None:
    said = f"(Worker_TP0 pid=9) INFO 11-29 16:08:00 [cuda.py:482] {line}"
    assert values(VLLM.args_log(of(ASKED, said)))["attention-backend"] == name


@pytest.mark.parametrize(
    "line",
    [
        "Using backend AttentionBackendEnum.TORCH_SDPA for vit attention",
        "Using Flash Attention backend for ViT model.",
        "Using FLASH_ATTN MLA prefill backend.",
        "Using 'MARLIN' WNA16 MoE backend.",
        "Reset SSM cache type to float32 for accelerated GDN mamba backend 'none'.",
    ],
)
def test_backends_of_other_things_are_not_taken_for_it(line: str) -> None:
    said = f"(Worker_TP0 pid=9) INFO 11-29 16:08:00 [cuda.py:482] {line}"
    assert values(VLLM.args_log(of(ASKED, said)))["attention-backend"] == "FLASHINFER"


def test_a_backend_that_was_replaced_is_no_legal_rewrite() -> None:
    assert not VLLM.is_rewrite("attention-backend", "FLASHINFER", "TRITON_ATTN", {})
    assert VLLM.is_rewrite("attention-backend", None, "TRITON_ATTN", {})
    assert VLLM.same("attention-backend", "flash_attn", "FLASH_ATTN")


def test_a_core_that_was_killed_is_told_although_the_server_ends_in_order() -> None:
    log = recorded("core-killed")
    assert VLLM.progress(log) == "the engine core died"
    assert [entry.message for entry in log.entries][-1].startswith("/usr/lib/python3.11/multiprocessing")


def test_a_quiet_uvicorn_is_ready_by_the_line_before() -> None:
    args = "INFO 11-29 16:08:00 [x.py:1] non-default args: {'uvicorn_log_level': 'warning'}"
    start = "INFO 11-29 16:08:00 [x.py:1] Starting vLLM server on http://127.0.0.1:8000"
    assert VLLM.ready_line(of(args, start)) == "Starting vLLM server on http://127.0.0.1:8000"
    assert VLLM.ready_line(of(args.replace("warning", "info"), start)) is None
    assert VLLM.ready_line(recorded("dflash-trained")) == "Application startup complete."


@given(
    st.lists(
        st.text(max_size=80)
        | st.sampled_from(
            [
                "non-default args: {'a': ",
                "args: Namespace(",
                "Initializing a V1 LLM engine (v1) with config: ",
                "Engine 1: Avg",
            ]
        )
    )
)
def test_any_log_is_read(lines: list[str]) -> None:
    log = of(*lines)
    for read in (
        VLLM.args_log,
        VLLM.draft_runner,
        VLLM.effective,
        VLLM.decode_lines,
        VLLM.warnings,
        VLLM.ready_line,
        VLLM.progress,
    ):
        read(log)
