"""vLLM's command line, as its own parser reads it."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_dflash.engines.dialect import Settings
from pytest_dflash.engines.registry import dialect, recognise

VLLM = dialect("vllm")
SPEC = {"method": "dflash", "model": "/srv/models/dflash", "num_speculative_tokens": 7}
FLAT = {f"speculative-config.{key}": value for key, value in SPEC.items()}


def read(*words: str, files: dict[str, str] | None = None) -> Settings:
    return VLLM.from_argv(["vllm", "serve", "M", *words], files or {}, None)


@pytest.mark.parametrize(
    "line",
    [
        "vllm serve M",
        "/opt/vllm/bin/python /opt/vllm/bin/vllm serve M",
        "python3 -u -m vllm.entrypoints.openai.api_server --model M",
        "python -m vllm.entrypoints.cli.main serve M",
        "uv run vllm serve M",
        "numactl -m 0 vllm serve M",
        "docker run --gpus all vllm/vllm-openai python3 -m vllm.entrypoints.openai.api_server --model M",
    ],
)
def test_a_server_is_recognised(line: str) -> None:
    found = recognise(line.split())
    assert found is not None
    assert found.name == "vllm"


@pytest.mark.parametrize(
    "line", ["vllm bench serve", "VLLM::EngineCore", "python -c vllm", "vllm", "python -m vllm chat"]
)
def test_what_only_looks_like_a_server_is_not(line: str) -> None:
    assert recognise(line.split()) is None


def test_a_json_flag_is_its_keys() -> None:
    found = read("--speculative-config", json.dumps(SPEC))
    assert found.values == {"model": "M", **FLAT}
    assert found.spelled["speculative-config.method"] == "speculative-config"


def test_the_whole_of_a_json_flag_can_be_had_again() -> None:
    found = read("--speculative-config", json.dumps(SPEC), "-cc.pass_config.fuse_norm=true")
    assert found.inside("speculative-config") == SPEC
    assert found.inside("compilation-config") == {"pass_config": {"fuse_norm": True}}
    assert found.inside("max-model-len") == {}


@pytest.mark.parametrize(
    "words",
    [
        ["-sc", json.dumps(SPEC)],
        [f"--speculative-config={json.dumps(SPEC)}"],
        [f"--speculative_config={json.dumps(SPEC)}"],
        [word for key, value in SPEC.items() for word in (f"--speculative-config.{key}", str(value))],
        [f"-sc.{key}={value}" for key, value in SPEC.items()],
        ["--spec-method=dflash", "--spec-model", "/srv/models/dflash", "--spec-tokens", "7"],
        ["--speculative-config", '{"method": "dflash", "model": "/srv/models/dflash"}', "--spec-tokens", "7"],
        [
            "--speculative-config",
            '{"num-speculative-tokens": 7, "method": "dflash", "model": "/srv/models/dflash"}',
        ],
    ],
)
def test_every_spelling_of_speculation_says_the_same(words: list[str]) -> None:
    assert read(*words).values == {"model": "M", **FLAT}


def test_dotted_keys_replace_the_json_beside_them_as_the_engine_does() -> None:
    found = read("--speculative-config.num_speculative_tokens=3", "--speculative-config", json.dumps(SPEC))
    assert found.values == {"model": "M", "speculative-config.num_speculative_tokens": 3}


def test_dotted_lists_grow() -> None:
    found = read("--compilation-config.custom_ops+=+rms_norm,none", "--compilation-config.custom_ops+", "x")
    assert found.values["compilation-config.custom_ops"] == ["+rms_norm", "none", "x"]


@pytest.mark.parametrize(
    "words,setting,value",
    [
        (["-tp", "8"], "tensor-parallel-size", 8),
        (["--tensor-parallel-size=8"], "tensor-parallel-size", 8),
        (["--tensor_parallel_size", "8"], "tensor-parallel-size", 8),
        (["--tensor-par", "8"], "tensor-parallel-size", 8),
        (["--max-model-len", "8k"], "max-model-len", 8000),
        (["--max-model-len", "8K"], "max-model-len", 8192),
        (["--max-model-len", "-1"], "max-model-len", -1),
        (["--max-num-batched-tokens", "25.6k"], "max-num-batched-tokens", 25600),
        (["--enable-prefix-caching"], "enable-prefix-caching", True),
        (["--no-enable-prefix-caching"], "enable-prefix-caching", False),
        (["--enable-prefix-caching", "--no-enable-prefix-caching"], "enable-prefix-caching", False),
        (["-O3"], "optimization-level", 3),
        (["--served-model-name", "a", "b"], "served-model-name", ["a", "b"]),
        (["--gpu-memory-utilization", "0.90"], "gpu-memory-utilization", 0.9),
        (["--a-fork's-flag", "x"], "a-fork's-flag", "x"),
        (["--port", "1", "--port", "2"], "port", 2),
    ],
)
def test_a_flag_is_read(words: list[str], setting: str, value: object) -> None:
    assert read(*words).values[setting] == value


def test_a_config_file_stands_before_the_command_line() -> None:
    text = "port: 9000\nmax-model-len: 4096\nenable-prefix-caching: false\nspeculative-config:\n  method: dflash\n"
    found = read("--config", "/etc/vllm.yaml", "--port", "8001", files={"/etc/vllm.yaml": text})
    assert found.complete
    assert found.values == {
        "model": "M", "port": 8001, "max-model-len": 4096, "enable-prefix-caching": False,
        "speculative-config.method": "dflash",
    }  # fmt: skip


def test_a_config_file_that_was_not_read_leaves_it_open() -> None:
    found = read("--config", "/etc/vllm.yaml")
    assert not found.complete
    assert found.where == "command line, without /etc/vllm.yaml"


def test_a_profile_may_spell_a_setting_in_several_ways() -> None:
    names = (
        "speculative-config.num_speculative_tokens",
        "speculative_config.num-speculative-tokens",
        "spec-tokens",
    )
    assert {VLLM.setting(name, None) for name in names} == {"speculative-config.num_speculative_tokens"}
    assert VLLM.setting("tp", None) == "tensor-parallel-size"


def test_the_budget_counts_draft_tokens() -> None:
    assert (VLLM.budget_flag, VLLM.budget_flag_offset) == ("speculative-config.num_speculative_tokens", 0)


def test_a_flag_of_another_version_is_refused_in_words() -> None:
    assert VLLM.removed("swap-space", "0.32.0") == (
        "vLLM 0.19.1 does not know --swap-space any more, and 0.32.0 refuses to start with it"
    )
    assert VLLM.removed("swap-space", "0.15.1") is None
    assert VLLM.removed("spec-tokens", "0.15.1") is not None
    assert VLLM.removed("spec-tokens", None) is None
    assert VLLM.removed("port", "0.32.0+cpu") is None


@given(st.lists(st.text(max_size=30)))
def test_any_words_are_read(words: list[str]) -> None:
    VLLM.from_argv(["vllm", "serve", *words], {}, None)


@given(st.text(), st.sampled_from(["speculative-config", "dtype", "port", "served-model-name", "x"]))
def test_any_values_compare(text: str, setting: str) -> None:
    assert VLLM.same(setting, text, text)
    VLLM.is_rewrite(setting, text, None, {})
