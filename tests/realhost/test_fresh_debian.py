"""The README's first screen on a fresh Debian: git, make and python3, no root, no pip, nothing else.

Runs what is committed. This machine's way to packages (pip's and apt's configuration) is lent to it.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.realhost.tree import FRESH, tree

ROOT = Path(__file__).parents[2]
PROJECT = "/home/person/a folder/pytest-dflash"
PERSON = 1000
MEETING_THE_SYSTEM = ("docs", "endpoint", "examples", "facts", "profile", "report", "ssh", "triage")


def _pip() -> dict[str, str]:
    """pip's settings on this machine, as environment variables."""
    said = subprocess.run(
        [str(ROOT / ".venv/bin/python"), "-m", "pip", "config", "list"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    found = re.findall(r"^(?:global|install|:env:)\.([a-z-]+)='(.*)'$", said, re.MULTILINE)
    return {f"PIP_{name.replace('-', '_').upper()}": value for name, value in found}


def _mounts(settings: dict[str, str]) -> list[str]:
    """Files and folders of this machine that the settings name, and apt's and the network's own."""
    named = [Path(word.removeprefix("file://")) for value in settings.values() for word in value.split()]
    named = [path.parent if path.name == "simple" else path for path in named if path.is_absolute()]
    always = [Path("/etc/hosts"), Path("/etc/apt/apt.conf.d"), Path("/etc/ssl/certs")]
    return [f"--bind-ro={path}" for path in {*named, *always} if path.exists()]


@pytest.fixture(scope="module")
def fresh(real_host_tools: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[str]]:
    """The command that runs a shell script on the fresh Debian, as a person without rights, in a clone."""
    home = tmp_path_factory.mktemp("home")
    clone = home / Path(PROJECT).relative_to("/home/person")
    clone.parent.mkdir()
    subprocess.run(["git", "clone", "-q", "--no-hardlinks", str(ROOT), str(clone)], check=True)
    subprocess.run(["chown", "-R", f"{PERSON}:{PERSON}", str(home)], check=True)
    settings = _pip()
    command = [
        *("setpriv", "--pdeathsig", "TERM", "systemd-nspawn"),
        "--quiet",
        "--register=no",
        "--as-pid2",
        "--console=pipe",
        "--volatile=overlay",
    ]
    command += [] if Path("/run/systemd/system").is_dir() else ["--keep-unit"]
    command += [f"--directory={tree(FRESH)}", f"--machine=fresh-{os.getpid()}", "--timezone=off"]
    command += [
        "--resolv-conf=replace-host",
        "--user=person",
        *_mounts(settings),
        f"--bind={home}:/home/person",
    ]
    command += [f"--setenv={name}={value}" for name, value in settings.items()]
    yield [*command, "/bin/sh", "-euc"]
    shutil.rmtree(home, ignore_errors=True)


def _run(fresh: list[str], script: str) -> str:
    # The container's own complaints are not the project's: they stay on stderr.
    run = subprocess.run(
        [*fresh, f"exec 2>&1; cd '{PROJECT}'; {script}"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        timeout=900,
    )
    said = run.stdout.decode("utf-8", "replace")
    assert run.returncode == 0, said[-6000:] + run.stderr.decode("utf-8", "replace")
    return said


def test_it_really_has_neither_pip_nor_rights(fresh: list[str]) -> None:
    said = _run(fresh, "! python3 -m pip -V; ! python3 -m ensurepip; ! python3 -m venv x; id -u")
    assert "No module named pip" in said
    assert str(PERSON) in said.splitlines()[-1]


def test_make_test_does_its_own_set_up_and_passes(fresh: list[str]) -> None:
    """What meets the system and the tools around: the arithmetic on values is the same everywhere, and takes minutes."""
    part = " ".join(f"tests/{folder}" for folder in MEETING_THE_SYSTEM)
    assert " passed" in _run(fresh, f"make test PYTEST='.venv/bin/pytest {part}'")


def test_make_rehearsal_works_and_leaves_a_pytest_that_can(fresh: list[str]) -> None:
    assert " passed" in _run(fresh, "make rehearsal")
    assert "--host" in _run(fresh, ".venv/bin/pytest --help")


def test_set_up_says_nothing_where_nothing_is_to_do(fresh: list[str]) -> None:
    assert _run(fresh, "setup/venv.sh") == ""


def test_a_moved_project_gets_its_own_venv_again(fresh: list[str]) -> None:
    said = _run(
        fresh,
        "cd ..; mv pytest-dflash moved; moved/setup/venv.sh; moved/.venv/bin/pytest --version; mv moved pytest-dflash",
    )
    assert "making .venv" in said
