from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from pytest_dflash.facts.probe import Reply
from pytest_dflash.facts.reading import Absent, Silent, Value
from pytest_dflash.facts.toolkit import TOOLKIT, Toolkit

Ask = Callable[..., Toolkit]


def compiler(path: Path, release: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\necho 'Cuda compilation tools, release {release}, V{release}.88'\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def ask() -> Iterator[Ask]:
    """Asks for the toolkit of a process with the given environment."""
    with ExitStack() as stack:

        def answer(**environ: str) -> Toolkit:
            process = stack.enter_context(subprocess.Popen(["/bin/sleep", "60"], env=environ))
            stack.callback(process.kill)
            variables = {
                "R": "",
                "MAIN_PID": str(process.pid),
                "PIDS": str(process.pid),
                "PATH": os.environ["PATH"],
            }
            run = subprocess.run(
                ["/bin/sh", "-c", TOOLKIT.script], env=variables, capture_output=True, check=False, timeout=60
            )
            reading = TOOLKIT.parse(Reply(run.stdout, run.stderr, run.returncode))
            assert isinstance(reading, Value)
            assert isinstance(reading.value, Toolkit)
            return reading.value

        yield answer


def test_the_compiler_of_the_services_own_path_is_found(ask: Ask, tmp_path: Path) -> None:
    nvcc = compiler(tmp_path / "a b/bin/nvcc", "13.0")
    toolkit = ask(PATH=f"{tmp_path}/none:{nvcc.parent}")
    assert toolkit.version == Value("13.0", f"{nvcc} --version")
    assert isinstance(toolkit.nvcc, Value)
    assert toolkit.nvcc.value.found_by == "PATH"


def test_cuda_home_outranks_path_and_the_other_one_is_kept(ask: Ask, tmp_path: Path) -> None:
    home = compiler(tmp_path / "home/bin/nvcc", "13.0")
    other = compiler(tmp_path / "other/nvcc", "12.8")
    toolkit = ask(CUDA_HOME=f"{tmp_path}/home/", PATH=str(other.parent))
    assert isinstance(toolkit.nvcc, Value)
    assert (toolkit.nvcc.value.path, toolkit.nvcc.value.found_by) == (str(home), "CUDA_HOME")
    assert (toolkit.others[0].path, toolkit.others[0].release) == (
        str(other),
        Value("12.8", f"{other} --version"),
    )


def test_a_folder_and_a_file_that_cannot_be_run_are_no_compiler(ask: Ask, tmp_path: Path) -> None:
    (tmp_path / "one/nvcc").mkdir(parents=True)
    (tmp_path / "two").mkdir()
    (tmp_path / "two/nvcc").write_text("")
    toolkit = ask(PATH=f"{tmp_path}/one:{tmp_path}/two")
    assert not isinstance(toolkit.nvcc, Value) or toolkit.nvcc.value.found_by == "default"


def test_what_another_user_owns_is_not_run(ask: Ask, tmp_path: Path) -> None:
    if os.getuid() != 0:
        pytest.skip("needs root, to give a file to another user")
    nvcc = compiler(tmp_path / "bin/nvcc", "13.0")
    nvcc.write_text(f"#!/bin/sh\ntouch {tmp_path}/was-run\n")
    os.chown(nvcc, 65534, 65534)
    (tmp_path / "version.json").write_text('{"cuda_nvcc": {"name": "CUDA NVCC", "version": "12.9.41"}}')
    toolkit = ask(PATH=str(nvcc.parent))
    assert toolkit.version == Value("12.9", f"{nvcc} --version")
    assert not (tmp_path / "was-run").exists()


def test_a_compiler_that_tells_no_release_is_silence(ask: Ask, tmp_path: Path) -> None:
    nvcc = compiler(tmp_path / "nvcc", "x")
    assert ask(PATH=str(tmp_path)).version == Silent(
        f"`{nvcc} --version` told no release: 'Cuda compilation tools, release x, Vx.88'", str(nvcc)
    )


def test_build_tools_are_looked_for_on_the_services_own_path(ask: Ask, tmp_path: Path) -> None:
    ninja = compiler(tmp_path / "ninja", "1")
    toolkit = ask(PATH=str(tmp_path), TRITON_PTXAS_PATH="/opt/ptxas", SECRET="x")
    assert toolkit.tools["ninja"] == Value(str(ninja), str(ninja))
    assert toolkit.tools["gcc"] == Absent(f"PATH of pid {toolkit.pid}")
    assert toolkit.variables == {"PATH": str(tmp_path), "TRITON_PTXAS_PATH": "/opt/ptxas"}
