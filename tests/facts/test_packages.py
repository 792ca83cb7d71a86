from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from importlib.metadata import version
from pathlib import Path

import pytest

from pytest_dflash.facts.packages import PACKAGES, Packages, normalised
from pytest_dflash.facts.probe import Reply
from pytest_dflash.facts.reading import Reading, Silent, Value

SERVER = """
import json, sys
from importlib.metadata import distributions
found = {}
for one in distributions():
    found.setdefault(one.metadata["Name"], one.version)
print(json.dumps(found), flush=True)
sys.stdin.read()
"""

Serve = Callable[..., tuple[int, Mapping[str, str]]]


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Serve]:
    """Starts a Python that says what it sees itself, and waits."""
    (tmp_path / "wait_here.py").write_text(SERVER)
    with ExitStack() as stack:

        def start(*argv: str, executable: str | None = None, **environ: str) -> tuple[int, Mapping[str, str]]:
            environment = {"PATH": os.environ["PATH"], "PYTHONDONTWRITEBYTECODE": "1"} | environ
            process = stack.enter_context(
                subprocess.Popen(
                    argv,
                    executable=executable,
                    cwd=tmp_path,
                    env=environment,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                )
            )
            stack.callback(process.kill)
            assert process.stdout
            return process.pid, {
                normalised(key): value for key, value in json.loads(process.stdout.readline()).items()
            }

        yield start


def reading_of(*pids: int, **variables: str) -> Reading[Packages]:
    given = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "R": "", "MAIN_PID": str(pids[0])}
    environment = given | {"PIDS": " ".join(map(str, pids))} | variables
    run = subprocess.run(
        ["/bin/sh", "-c", PACKAGES.script], env=environment, capture_output=True, check=False, timeout=60
    )
    assert run.stderr == b""
    return PACKAGES.parse(Reply(run.stdout, run.stderr, run.returncode))


def packages(*pids: int, **variables: str) -> Packages:
    reading = reading_of(*pids, **variables)
    assert isinstance(reading, Value), reading
    return reading.value


def install(folder: Path, name: str, version: str, *, told: str | None = None) -> None:
    info = folder / f"{name}-{version}.dist-info"
    info.mkdir(parents=True)
    info.joinpath("METADATA").write_text(
        f"Metadata-Version: 2.4\nName: {name}\nVersion: {told or version}\n\nVersion: body\n"
    )


def environment_of(folder: Path, *, shared: bool = False) -> Path:
    """A virtual environment by hand: a link, pyvenv.cfg and its site-packages."""
    site = folder / f"lib/python{sys.version_info.major}.{sys.version_info.minor}/site-packages"
    site.mkdir(parents=True)
    (folder / "bin").mkdir()
    base = Path(sys.executable).resolve()
    (folder / "bin/python").symlink_to(base)
    (folder / "pyvenv.cfg").write_text(
        f"home = {base.parent}\ninclude-system-site-packages = {str(shared).lower()}\n"
    )
    return site


def test_the_list_is_what_the_interpreter_itself_sees(serve: Serve) -> None:
    pid, seen = serve(sys.executable, "-m", "wait_here")
    found = packages(pid)
    assert found.versions == seen
    assert found.interpreter == sys.executable
    assert found.versions["pytest"] == version("pytest")


@pytest.mark.parametrize("switches", [(), ("-I",), ("-E", "-s"), ("-X", "utf8", "-W", "ignore")], ids=str)
@pytest.mark.parametrize("shared", [False, True])
def test_search_paths_are_those_of_python(
    serve: Serve, tmp_path: Path, switches: tuple[str, ...], *, shared: bool
) -> None:
    site = environment_of(tmp_path / "venv", shared=shared)
    added = tmp_path / "added by pth"
    install(site, "torch", "2.9.1+cu130")
    install(site, "sglang", "0.5.5")
    install(tmp_path / "first", "sglang", "0.5.23")
    install(added, "kernels", "1.0")
    site.joinpath("more.pth").write_text(f"# a comment\nimport os\n{added}\nrelative\n\n/nowhere\n")
    install(site / "relative", "near", "3")
    install(tmp_path / "home/.local/lib" / site.parent.name / "site-packages", "private", "1")
    server = str(tmp_path / "wait_here.py")
    pid, seen = serve(
        str(tmp_path / "venv/bin/python"),
        *switches,
        server,
        PYTHONPATH=f"{tmp_path}/first:",
        HOME=f"{tmp_path}/home",
    )
    found = packages(pid)
    assert found.versions == seen
    assert found.versions["torch"] == "2.9.1+cu130"


def test_metadata_outranks_the_folders_name_and_the_body_is_not_read(serve: Serve, tmp_path: Path) -> None:
    site = environment_of(tmp_path / "venv")
    install(site, "Flash_Infer.Python", "0.6", told="0.6.16")
    (site / "bare-1.2.dist-info").mkdir()
    pid, _ = serve(str(tmp_path / "venv/bin/python"), str(tmp_path / "wait_here.py"))
    assert packages(pid).versions["flash-infer-python"] == "0.6.16"
    assert packages(pid).versions["bare"] == "1.2"


def test_a_launcher_and_a_worker_are_not_taken_for_the_service(serve: Serve, tmp_path: Path) -> None:
    """`conda run` is a Python of the base environment; multiprocessing's helpers run `-c`."""
    environment_of(tmp_path / "venv")
    server = str(tmp_path / "wait_here.py")
    (tmp_path / "conda").write_text(SERVER)
    launcher, _ = serve(sys.executable, str(tmp_path / "conda"), "run", "python")
    helper, _ = serve(sys.executable, "-c", SERVER)
    service, _ = serve(str(tmp_path / "venv/bin/python"), server)
    assert packages(launcher, helper, service).pid == service
    assert packages(launcher, helper).pid == helper


def test_a_process_that_renamed_itself_does_not_say_which_environment_it_runs(
    serve: Serve, tmp_path: Path
) -> None:
    """An engine's workers overwrite their command line, and where only they are seen nothing is missing."""
    environment_of(tmp_path / "venv")
    python = str(tmp_path / "venv/bin/python")
    worker, _ = serve("sglang::scheduler_TP0", "-c", SERVER, executable=python)
    found = reading_of(worker)
    assert isinstance(found, Silent)
    assert f"pid {worker} calls itself sglang::scheduler_TP0, so which environment it runs" in found.why


def test_a_name_without_a_path_is_found_on_the_services_own_path(serve: Serve, tmp_path: Path) -> None:
    install(environment_of(tmp_path / "venv"), "torch", "2.9.1")
    python = tmp_path / "venv/bin/python"
    pid, _ = serve(
        "python",
        str(tmp_path / "wait_here.py"),
        executable=str(python),
        PATH=f"{python.parent}:/usr/bin:/bin",
    )
    found = packages(pid)
    assert found.interpreter == str(python)
    assert found.versions["torch"] == "2.9.1"


def test_a_relative_interpreter_is_found_from_the_working_folder(serve: Serve, tmp_path: Path) -> None:
    install(environment_of(tmp_path / "venv"), "torch", "2.9.1")
    pid, _ = serve("venv/bin/python", str(tmp_path / "wait_here.py"))
    assert packages(pid).interpreter == str(tmp_path / "venv/bin/python")
    assert packages(pid).versions["torch"] == "2.9.1"


def test_versions_that_an_interrupted_upgrade_left_are_named(serve: Serve, tmp_path: Path) -> None:
    site = environment_of(tmp_path / "venv")
    install(site, "torch", "2.8.0")
    install(site, "torch", "2.9.1")
    pid, _ = serve(str(tmp_path / "venv/bin/python"), str(tmp_path / "wait_here.py"))
    assert packages(pid).duplicates == {"torch": ("2.8.0", "2.9.1")}


def test_an_unreadable_environment_is_noted(serve: Serve, tmp_path: Path) -> None:
    """The stand-in's /proc without `environ` is what somebody without privileges sees."""
    install(environment_of(tmp_path / "venv"), "torch", "2.9.1")
    pid, _ = serve(str(tmp_path / "venv/bin/python"), str(tmp_path / "wait_here.py"))
    folder = tmp_path / "proc" / str(pid)
    folder.mkdir(parents=True)
    (folder / "cmdline").symlink_to(f"/proc/{pid}/cmdline")
    found = packages(pid, R=str(tmp_path))
    assert found.versions["torch"] == "2.9.1"
    assert found.notes == ("its environment is not readable, so PYTHONPATH is not known; try --sudo",)


@pytest.mark.parametrize(
    "name", ["FlashInfer-Python", "flashinfer_python", "flashinfer.python", "flashinfer__python"]
)
def test_names_are_compared_as_pep_503_says(name: str) -> None:
    assert normalised(name) == "flashinfer-python"


def test_the_systems_own_python_is_searched_as_debian_lays_it_out(serve: Serve, tmp_path: Path) -> None:
    """dist-packages, and a name found on the default PATH where neither exe nor environment may be read."""
    python = Path("/usr/bin/python3")
    if not (python.exists() and Path("/usr/lib/python3/dist-packages").is_dir()):
        pytest.skip("needs Debian's python3: apt-get install python3")
    pid, seen = serve("python3", str(tmp_path / "wait_here.py"), executable=str(python), PATH="/usr/bin:/bin")
    assert packages(pid).versions == seen
    folder = tmp_path / "proc" / str(pid)
    folder.mkdir(parents=True)
    (folder / "cmdline").symlink_to(f"/proc/{pid}/cmdline")
    hidden = packages(pid, R=str(tmp_path))
    assert Path(hidden.interpreter).name == "python3"
    assert hidden.versions == seen or not seen
