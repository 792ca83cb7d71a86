from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pytest_dflash.findings import Json
from pytest_dflash.profile.loader import load
from pytest_dflash.profile.recorder import Recorded, RecordedGpu, record
from pytest_dflash.profile.schema import Profile

SEEN = Recorded(
    host="10.1.2.200",
    unit="sglang-k26-ddtree.service",
    engine="sglang",
    served_model="Kimi-K2.6",
    driver="580.65.06",
    cuda_toolkit="12.9",
    compute_capability="12.0",
    packages={"torch": "2.9.1+cu128", "odd": "unknown"},
    gpus=[RecordedGpu(name="RTX", pcie_generation=5, pcie_width=16, power_limit_w=600.0)] * 8,
    flags={"tp-size": 8, "trust-remote-code": True, "json-model-override-args": {"a": [1, "x"]}},
    environment={"NCCL_P2P_LEVEL": "SYS", "HOME": "/root", "INVOCATION_ID": "0f"},
    window_tokens=2048,
    window_via="flag",
    bind="127.0.0.1",
    key_required=True,
)


@pytest.fixture
def read(tmp_path: Path) -> Callable[[Recorded], Profile]:
    def read(seen: Recorded) -> Profile:
        path = tmp_path / "p.toml"
        path.write_text(record(seen), encoding="utf-8")
        return load(path).profile

    return read


def test_what_is_recorded_can_be_loaded(read: Callable[[Recorded], Profile]) -> None:
    profile = read(SEEN)
    assert profile.service.model_dump(exclude_defaults=True) == {
        "unit": "sglang-k26-ddtree.service",
        "engine": "sglang",
        "served_model": "Kimi-K2.6",
    }
    assert profile.stack.driver == ">=580.65.06"
    assert profile.stack.packages == {"torch": ">=2.9.1"}
    assert profile.gpu.count == 8
    assert profile.gpu.power_limit_w == 600
    assert profile.flags == SEEN.flags
    assert profile.environment == {"NCCL_P2P_LEVEL": "SYS"}
    assert (profile.window.tokens, profile.window.via) == (2048, "flag")
    assert (profile.exposure.bind, profile.exposure.key_required) == ("127.0.0.1", True)


def test_nobody_vouches_for_it_yet(read: Callable[[Recorded], Profile]) -> None:
    assert record(SEEN).startswith("# What 10.1.2.200 showed. It says what is, not what should be")
    assert not read(SEEN).reviewed


def test_the_answer_is_for_a_person_to_say(read: Callable[[Recorded], Profile]) -> None:
    assert read(SEEN).endpoint.expect is None
    assert '# expect = "(?i)ready"' in record(SEEN)


def test_secrets_are_left_out_and_said_to_be() -> None:
    flags: dict[str, Json] = {
        "api-key": "sesame-sesame",
        "model-path": "https://u:sesame-sesame@h/x",
        "json": {"token": "sesame"},
    }
    text = record(replace(SEEN, flags=flags, environment={"SGLANG_API_KEY": "sesame"}))
    assert "sesame" not in text
    assert "# api-key: not written, it is a secret" in text
    assert "# SGLANG_API_KEY: not written, it is a secret" in text


def test_gpus_that_differ_are_remarked_upon() -> None:
    text = record(replace(SEEN, gpus=[RecordedGpu(name="A"), RecordedGpu(name="B")]))
    assert "count = 2" in text
    assert "# name: differs between the GPUs: A, B" in text


def test_what_the_host_did_not_say_is_not_written() -> None:
    text = record(Recorded(host="a", unit="a.service", engine="sglang"))
    for table in ("[stack]", "[gpu]", "[flags]", "[environment]", "[window]", "[exposure]"):
        assert table not in text.splitlines()


def test_a_version_that_is_none_is_remarked_upon() -> None:
    assert "# odd: found unknown, which no specifier can be compared with" in record(SEEN)


ODD = st.text(max_size=12)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats() | ODD,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(ODD, inner, max_size=3),
    max_leaves=6,
)
MAYBE = st.none() | ODD
KEYS = st.builds("{}.{}".format, st.sampled_from(["flags", "environment", "stack.packages", "window"]), ODD)
GPUS = st.builds(
    RecordedGpu,
    name=MAYBE,
    pcie_generation=st.none() | st.integers(),
    pcie_width=st.none() | st.integers(-1, 64),
    power_limit_w=st.none() | st.floats(),
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=150, deadline=None)
@given(
    seen=st.builds(
        Recorded,
        host=ODD,
        unit=st.just("a.service"),
        engine=st.just("sglang"),
        served_model=MAYBE,
        url=MAYBE,
        driver=MAYBE,
        cuda_toolkit=MAYBE | st.sampled_from(["v12.9", " 12.9 ", "1!2.0rc1.post2.dev3+local.7"]),
        compute_capability=MAYBE,
        packages=st.dictionaries(ODD, ODD, max_size=2),
        gpus=st.lists(GPUS, max_size=2),
        flags=st.dictionaries(ODD | st.sampled_from(["a-b", "a_b", "api-key"]), VALUES, max_size=3),
        environment=st.dictionaries(ODD | st.just("NCCL_DEBUG"), ODD, max_size=3),
        window_tokens=st.none() | st.integers(),
        window_via=ODD,
        bind=MAYBE,
        key_required=st.none() | st.booleans(),
        doubts=st.dictionaries(KEYS, ODD, max_size=3),
        wrong=st.lists(ODD, max_size=2),
    )
)
def test_whatever_a_host_says_the_loader_accepts(seen: Recorded, read: Callable[[Recorded], Profile]) -> None:
    assert not read(seen).reviewed


def test_what_disk_and_process_say_differently_is_asked_at_the_value(
    read: Callable[[Recorded], Profile],
) -> None:
    doubt = "the unit file says 64, which is not in force: which is meant?"
    keys = ("flags.tp-size", "window.tokens", "environment.NCCL_P2P_LEVEL", "stack.packages.torch")
    seen = replace(SEEN, doubts=dict.fromkeys(keys, doubt))
    for line in ("tp-size = 8", "tokens = 2048", 'NCCL_P2P_LEVEL = "SYS"', 'torch = ">=2.9.1"'):
        assert f"{line}  # {doubt}\n" in record(seen)
    assert read(seen) == read(SEEN)


def test_what_only_the_disk_has_is_asked_without_a_value(read: Callable[[Recorded], Profile]) -> None:
    seen = replace(
        SEEN,
        doubts={"flags.nnodes": "which?", "environment.NCCL_DEBUG": "which?", "environment.PAGER": "which?"},
    )
    text = record(seen)
    assert "\n# nnodes: which?\n" in text
    assert "\n# NCCL_DEBUG: which?\n" in text
    assert "PAGER" not in text
    assert read(seen) == read(SEEN)


def test_what_was_wrong_with_the_host_stands_on_top(read: Callable[[Recorded], Profile]) -> None:
    seen = replace(SEEN, wrong=["1. drift: tp-size\nx = 1", "   do: " + "mend it " * 99])
    head = record(seen).split("[service]")[0].splitlines()
    assert head[2] == "reviewed = false"
    assert head[4].startswith(
        "# While this was recorded, the host was not well or contradicted itself. Mend it"
    )
    assert head[6] == "#   1. drift: tp-size x = 1"
    assert len(head[7]) < 320
    assert read(seen) == read(SEEN)
