"""A command that is printed is the one that was typed: it can be pasted in the same shell, however pytest was started."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from pytest_dflash.own_command import called

ROOT = Path(__file__).parents[1]
ARGS = ("--host=gpu1", "suites/")
PYTHON = "/opt/x/bin/python"


def nowhere(_: str) -> None:
    """PATH finds nothing."""


@pytest.fixture
def program(tmp_path: Path) -> str:
    """A script that can be executed, as pip writes it."""
    path = tmp_path / "pytest"
    path.write_text(f"#!{PYTHON}\n")
    path.chmod(0o755)
    return str(path)


def told(*before: str, find: Callable[[str], str | None] = nowhere) -> Sequence[str]:
    return called(ARGS, ARGS, (*before, *ARGS), find)


@pytest.mark.parametrize(
    "before",
    [
        ("python", "-m", "pytest"),
        (PYTHON, "-X", "dev", "-m", "pytest"),
        ("python3", "-m", "coverage", "run", "-m", "pytest"),
        ("python", "run_gate.py"),
    ],
)
def test_a_module_and_a_script_are_called_as_they_were_typed(before: tuple[str, ...]) -> None:
    assert told(*before) == before


def test_the_interpreter_that_the_kernel_put_before_a_script_was_not_typed(program: str) -> None:
    assert told(PYTHON, program) == (program,)
    assert told(PYTHON, program, "run", "-m", "pytest") == (program, "run", "-m", "pytest")


def test_what_path_finds_is_called_by_its_name(program: str) -> None:
    assert told(PYTHON, program, find=lambda _: program) == ("pytest",)
    assert told(PYTHON, program, find=lambda _: program.replace("/pytest", "//pytest")) == ("pytest",)
    assert told(PYTHON, program, find=lambda _: "/usr/bin/pytest") == (program,)


def test_a_program_beside_us_that_path_does_not_search_keeps_its_folder(
    program: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(Path(program).parent)
    assert told(PYTHON, "./pytest") == ("./pytest",)


@pytest.mark.parametrize(
    "args, heard, original",
    [
        (ARGS, ("-n2",), (PYTHON, "run.py", "-n2")),
        (ARGS, (), (PYTHON, "-c", "code")),
        (ARGS, ARGS, (PYTHON, "-", *ARGS)),
        ((), (), (PYTHON,)),
        (ARGS, ARGS, ()),
    ],
    ids=["own arguments", "a worker", "standard input", "a file as input", "no original"],
)
def test_what_another_program_made_is_not_guessed(
    args: Sequence[str], heard: Sequence[str], original: Sequence[str]
) -> None:
    assert called(args, heard, original, nowhere) == ()


def environment(path: str = "") -> Mapping[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    return kept | {"PYTEST_ADDOPTS": "-p no:cacheprovider"} | ({"PATH": path} if path else {})


def starts(folder: Path) -> Iterator[tuple[str, str]]:
    """Each way to start it, and PATH."""
    beside, system = Path(sys.executable).parent, os.environ["PATH"]
    yield f"{os.path.relpath(beside, folder)}/pytest", system
    yield f"{shlex.quote(str(beside))}/pytest", system
    yield f"{shlex.quote(sys.executable)} -m pytest", system
    yield "pytest", f"{beside}:{system}"
    yield "python -m pytest", f"{beside}:{system}"


@pytest.mark.slow
def test_what_to_type_next_can_be_typed(tmp_path: Path) -> None:
    for begin, path in starts(tmp_path):
        asked = f"{begin} --dflash-explain=gpu.count"
        ran = subprocess.run(
            asked, shell=True, cwd=tmp_path, env=environment(path), capture_output=True, text=True, check=True
        )
        last = ran.stdout.splitlines()[-1]
        expected = "pytest" if path != os.environ["PATH"] and begin.endswith("/pytest") else begin
        assert last.startswith(f"next: {expected} --host=rehearsal {ROOT}/suites/ -k gpu.count"), begin


@pytest.mark.slow
@pytest.mark.parametrize(
    "given, suites",
    [
        ((), f"{ROOT}/suites/"),
        (("--pyargs", "pytest_dflash.suites"), "--pyargs pytest_dflash.suites"),
        (("my checks/",), "'my checks/'"),
    ],
)
def test_the_suites_are_named_as_they_were_typed(
    pytester: pytest.Pytester, given: Sequence[str], suites: str
) -> None:
    ran = pytester.runpytest_subprocess("--dflash-explain=gpu.count", *given)
    assert f" --host=rehearsal {suites} -k gpu.count" in ran.outlines[-1]


def test_a_folder_of_that_name_is_what_a_person_means(pytester: pytest.Pytester) -> None:
    pytester.mkdir("suites")
    ran = pytester.runpytest_inprocess("--dflash-explain=gpu.count")
    assert " -m pytest --host=rehearsal suites/ -k gpu.count" in ran.outlines[-1]
