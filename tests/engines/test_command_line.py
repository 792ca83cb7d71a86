"""Wrappers, shells and words."""

from __future__ import annotations

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_dflash.engines.command_line import commands
from pytest_dflash.engines.shell import simple_commands
from pytest_dflash.engines.words import typed

SERVER = "python3 -m sglang.launch_server --port 30000"


@pytest.mark.parametrize(
    "line",
    [
        SERVER,
        f"env -u B A=1 {SERVER}",
        f"/usr/bin/env -S '{SERVER}'",
        f"A=1 B=2 {SERVER}",
        f"numactl -N 0 --membind=0 {SERVER}",
        f"/usr/bin/python3 /opt/conda/bin/conda run -n k26 {SERVER}",
        f"/bin/sh /usr/bin/docker run --rm --gpus all image:1 {SERVER}",
        f"numactl --cpunodebind 0 -m 0 -- {SERVER}",
        f"nice -n 5 {SERVER}",
        f"nice -10 {SERVER}",
        f"ionice -c 2 -n 0 {SERVER}",
        f"taskset -c 0-31 {SERVER}",
        f"taskset 0xff {SERVER}",
        f"stdbuf -oL -e L {SERVER}",
        f"timeout -k 5 1h {SERVER}",
        f"sudo -E -u sglang A=1 {SERVER}",
        f"chrt -f 10 {SERVER}",
        f"bash -c '{SERVER}'",
        f"/bin/bash -lc 'exec {SERVER}'",
        f"-bash -c '{SERVER}'",
        f"bash -o pipefail -ec '{SERVER} 2>&1 | tee -a log'",
        f"sh -c 'numactl -N 1 {SERVER}'",
        "uv run --no-sync --project /srv/x -m sglang.launch_server --port 30000",
        f"uv run --with torch {SERVER}",
        f"conda run -n sglang --no-capture-output {SERVER}",
        f"docker run --rm --gpus all -p 30000:30000 -v /a:/b --ipc=host -e A=1 image:tag {SERVER}",
        f"podman exec -it name {SERVER}",
        f"docker run -p30000:30000 -it image {SERVER}",
        "docker run --entrypoint python3 image -m sglang.launch_server --port 30000",
        f"su - sglang -c '{SERVER}'",
        f"gosu sglang {SERVER}",
        f"nohup setsid tini -- {SERVER}",
    ],
)
def test_a_wrapper_is_looked_through(line: str) -> None:
    found = [" ".join(command.argv) for command in commands(shlex.split(line))]
    assert [one for one in found if one.split()[0].startswith("python")] in (
        [SERVER],
        [SERVER.replace("python3", "python")],
    )


def test_the_wrappers_are_named() -> None:
    (found,) = commands(["bash", "-lc", f"numactl -N 0 {SERVER}"])
    assert found.notes == ("bash -c", "numactl")


def test_a_shell_that_expands_variables_is_noted() -> None:
    (found,) = commands(["sh", "-c", "python -m x --port $PORT"])
    assert "the shell expands variables here" in found.notes
    (found,) = commands(["sh", "-c", "python -m x --name '$5'"])
    assert found.notes == ("sh -c",)


def test_a_shell_that_runs_a_file_is_left_alone() -> None:
    (found,) = commands(["bash", "-e", "/opt/start.sh", "-c", "x"])
    assert found.argv[0] == "bash"


def test_a_script_falls_into_its_simple_commands() -> None:
    script = 'cd "/a b" && ulimit -n 9; A=1 python x --a "1 2" \\\n --b \'{"c": 1}\' 8>err >out 2>&1 # end\n| tee log'
    assert simple_commands(script) == (
        ("cd", "/a b"),
        ("ulimit", "-n", "9"),
        ("A=1", "python", "x", "--a", "1 2", "--b", '{"c": 1}'),
        ("tee", "log"),
    )


@pytest.mark.parametrize(
    "text, value",
    [
        ("8", 8),
        ("-1", -1),
        ("007", "007"),
        ("0.9", 0.9),
        ("1.10", "1.10"),
        ("x", "x"),
        ("true", "true"),
        ("[1, 2]", [1, 2]),
        ("[x]", "[x]"),
    ],
)
def test_a_word_becomes_the_value_that_gives_the_word_back(text: str, value: object) -> None:
    assert typed(text) == value


@given(st.lists(st.text()))
def test_any_words_are_taken_apart_without_an_exception(words: list[str]) -> None:
    commands(words)


@given(st.text())
def test_any_script_is_taken_apart_without_an_exception(script: str) -> None:
    commands(["bash", "-c", script])


@given(st.lists(st.text(alphabet=st.characters(exclude_characters="\0"), min_size=1), min_size=1))
def test_quoted_words_come_back_as_they_were(words: list[str]) -> None:
    assert simple_commands(shlex.join(["run", *words])) == (("run", *words),)
