from __future__ import annotations

import subprocess
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from pytest_dflash.facts.bundle import files


@given(st.binary())
def test_any_bytes_are_taken_apart(stdout: bytes) -> None:
    assert all(name.isalpha() for _, name in files(stdout))


def test_head_is_understood_with_every_byte_and_missing_files(tmp_path: Path) -> None:
    whole = bytes(range(256)) * 3
    for pid, content in ((1, whole), (2, b""), (3, b"no line end")):
        (tmp_path / f"a b/proc/{pid}").mkdir(parents=True)
        (tmp_path / f"a b/proc/{pid}/environ").write_bytes(content)
    paths = [str(tmp_path / f"a b/proc/{pid}/environ") for pid in (1, 9, 2, 3)]
    run = subprocess.run(["head", "-v", "-c", "262144", *paths], capture_output=True, check=False)
    assert files(run.stdout) == {(1, "environ"): whole, (2, "environ"): b"", (3, "environ"): b"no line end"}


def test_the_first_of_two_equal_headers_counts() -> None:
    stdout = b"==> /proc/1/stat <==\nreal\n==> /proc/1/stat <==\nforged"
    assert files(stdout) == {(1, "stat"): b"real"}
