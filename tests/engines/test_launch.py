"""Which command starts a server, through Python and its options."""

from __future__ import annotations

import pytest

from pytest_dflash.engines.launch import Program, launch


def given(program: Program) -> tuple[str, ...] | None:
    return program.words if program.base == "serve.py" or program.name == "its.server" else None


@pytest.mark.parametrize(
    "line, words",
    [
        ("/opt/serve.py --a 1", ("--a", "1")),
        ("/venv/bin/python3.11 -u -X dev /opt/serve.py", ()),
        ("pypy3 -m its.server -x", ("-x",)),
        ("env A=1 numactl -N 0 python -m its.server -x", ("-x",)),
        ("python -c serve.py", None),
        ("python -m", None),
        ("python", None),
        ("cat /opt/serve.py", None),
        ("", None),
    ],
)
def test_the_server_is_found_behind_python_and_wrappers(line: str, words: tuple[str, ...] | None) -> None:
    found = launch(line.split(), given)
    assert (found.words if found else None) == words


@pytest.mark.parametrize("script, certain", [("serve.py -p $PORT", False), ("serve.py -p 1", True)])
def test_words_that_a_shell_replaces_are_not_certain(script: str, certain: bool) -> None:  # noqa: FBT001 - a case
    found = launch(["bash", "-c", script], given)
    assert found is not None
    assert found.certain(found.words) is certain
