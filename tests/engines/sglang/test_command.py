"""Command lines as settings."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_dflash.engines.registry import dialect
from pytest_dflash.engines.sglang import flags

SGLANG = dialect("sglang")


def read(*words: str, version: str | None = None, **files: str) -> dict[str, object]:
    return dict(SGLANG.from_argv(["sglang", "serve", *words], files, version).values)


@pytest.mark.parametrize(
    "line, setting, value",
    [
        ("--tp-size 8", "tp-size", 8),
        ("--tp 8", "tp-size", 8),
        ("--tensor-parallel-size=8", "tp-size", 8),
        ("--tp 4 --tp-size 8", "tp-size", 8),
        ("--model /m", "model-path", "/m"),
        ("--served-model-name 1.10", "served-model-name", "1.10"),
        ("--mem-fraction-static 0.90", "mem-fraction-static", 0.9),
        ("--schedule-conservativeness 1", "schedule-conservativeness", 1.0),
        ("--random-seed -1", "random-seed", -1),
        ("--trust-remote-code --port 1", "trust-remote-code", True),
        ("--no-enable-tf32-matmul", "enable-tf32-matmul", False),
        ("--enable-tf32-matmul", "enable-tf32-matmul", True),
        ("--cuda-graph-bs 1 2 4 --port 1", "cuda-graph-bs-decode", [1, 2, 4]),
        ("--cuda-graph-bs-decode [1,2]", "cuda-graph-bs-decode", [1, 2]),
        ('--json-model-override-args {"a":1}', "json-model-override-args", {"a": 1}),
        ("--json-model-override-args {broken", "json-model-override-args", "{broken"),
        ("--speculative-draft-win 2048", "speculative-draft-window-size", 2048),
        ("--speculative-draft-model /d", "speculative-draft-model-path", "/d"),
        ("--speculative-ddtree-budget 31", "speculative-ddtree-budget", 31),
        ("--speculative-dflash-enable-ddtree --port 1", "speculative-dflash-enable-ddtree", True),
        ("--a-fork-knows-this 7", "a-fork-knows-this", 7),
        ("--a-fork-knows-this a b", "a-fork-knows-this", ["a", "b"]),
        ("--a-fork-knows-this", "a-fork-knows-this", True),
        ("--a-fork-knows-this=x=y", "a-fork-knows-this", "x=y"),
        ("--watchdog-timeout ''", "watchdog-timeout", "''"),
        ("--tp-size", "tp-size", True),
    ],
)
def test_a_flag_is_read_as_the_engine_reads_it(line: str, setting: str, value: object) -> None:
    assert read(*line.split())[setting] == value


@pytest.mark.parametrize(
    "version", [None, "0.5.11", "0.5.12.post1", "0.5.19", "0.5.23", "0.0.0.dev1+g1", "no version"]
)
def test_the_window_has_one_name_whatever_its_spelling(version: str | None) -> None:
    found = SGLANG.from_argv(
        ["python", "-m", "sglang.launch_server", "--speculative-dflash-draft-window-size", "2048"],
        {},
        version,
    )
    assert found.values == {"speculative-draft-window-size": 2048}
    assert found.spelled == {"speculative-draft-window-size": "speculative-dflash-draft-window-size"}


def test_the_last_spelling_counts() -> None:
    found = SGLANG.from_argv(["sglang", "serve", "--tp", "4", "--tp-size", "8"], {}, None)
    assert found.spelled == {}


def test_a_config_file_comes_before_the_command_line() -> None:
    text = "tp-size: 4\nport: 1\ntrust-remote-code: true\nenable-metrics: false\ncuda-graph-bs: [1, 2]\n"
    text += "random-seed: -3\njson-model-override-args: {a: 1}\n"
    found = SGLANG.from_argv(["sglang", "serve", "--config", "c.yaml", "--tp", "8"], {"c.yaml": text}, None)
    assert found.values == {
        "tp-size": 8,
        "port": 1,
        "trust-remote-code": True,
        "cuda-graph-bs-decode": [1, 2],
        "random-seed": -3,
        "json-model-override-args": {"a": 1},
    }
    assert found.complete
    assert found.where == "command line and c.yaml"


@pytest.mark.parametrize("text", [None, "- a\n- b", "a: [", "\x00", "!!python/object:x {}"])
def test_a_config_file_that_cannot_be_read_leaves_the_settings_incomplete(text: str | None) -> None:
    files = {} if text is None else {"c.yaml": text}
    found = SGLANG.from_argv(["sglang", "serve", "--config", "c.yaml", "--tp", "8"], files, None)
    assert found.values == {"tp-size": 8}
    assert not found.complete
    assert found.where == "command line, without c.yaml"


def test_a_shell_variable_leaves_the_settings_incomplete() -> None:
    assert not SGLANG.from_argv(["bash", "-c", "sglang serve --port $PORT"], {}, None).complete
    assert SGLANG.from_argv(["bash", "-c", "sglang serve --port 1 | tee $LOG"], {}, None).complete


def test_a_command_line_without_a_server_says_so() -> None:
    found = SGLANG.from_argv(["/opt/start.sh"], {}, None)
    assert (found.values, found.complete, found.where) == ({}, False, "no SGLang server in this command line")


_TEXT = st.text(alphabet=st.characters(min_codepoint=33, max_codepoint=126), min_size=1).filter(
    lambda text: not text.startswith("--")
)
_NAMES = st.sampled_from(sorted({f.setting for f in flags.table().values()}))


@st.composite
def _asked(draw: st.DrawFn) -> dict[str, object]:
    def value(setting: str) -> object:
        kind = flags.kind(setting)
        return draw(
            {
                "int": st.integers(-(10**9), 10**9),
                "float": st.floats(0, 1),
                "switch": st.just(value=True),
                "toggle": st.booleans(),
                "list": st.lists(st.integers(0, 99), min_size=1),
                "json": st.dictionaries(st.text(), st.integers()),
            }.get(kind, _TEXT)
        )

    return {setting: value(setting) for setting in draw(st.sets(_NAMES, max_size=8)) - {"config"}}


def _words(setting: str, value: object, *, joined: bool) -> list[str]:
    flag = f"--{setting}"
    if isinstance(value, bool):
        return [flag if value else f"--no-{setting}"]
    if isinstance(value, list):
        return [flag, *map(str, value)]
    text = json.dumps(value) if isinstance(value, dict) else str(value)
    return [f"{flag}={text}"] if joined else [flag, text]


@given(_asked(), st.booleans(), st.sampled_from([None, "0.5.5", "0.5.19", "0.5.23"]))
def test_settings_written_as_a_command_line_come_back(
    asked: dict[str, object], joined: object, version: str | None
) -> None:
    words = [word for setting, value in asked.items() for word in _words(setting, value, joined=bool(joined))]
    found = SGLANG.from_argv(["sglang", "serve", *words], {}, version)
    assert set(found.values) == set(asked)
    assert all(SGLANG.same(name, value, found.values[name]) for name, value in asked.items())  # type: ignore[arg-type]  # JSON by construction


@given(st.lists(st.text()))
def test_any_words_are_read_without_an_exception(words: list[str]) -> None:
    SGLANG.from_argv(["sglang", "serve", *words], {}, "0.5.23")


@given(st.text())
def test_any_config_text_is_read_without_an_exception(text: str) -> None:
    SGLANG.from_argv(["sglang", "serve", "--config", "c.yaml"], {"c.yaml": text}, None)
