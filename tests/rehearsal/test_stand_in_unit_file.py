"""Which file is a unit's, and what its instances make of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_dflash.rehearsal import unit_file


@pytest.mark.parametrize(
    "unit, file",
    [("a.service", "a.service"), ("a@b.service", "a@.service"), ("a@b.c@d.service", "a@.service")],
)
def test_instances_share_a_file(unit: str, file: str) -> None:
    assert unit_file.template(unit) == file


def test_an_instance_reads_its_template_and_the_drop_ins_of_both(tmp_path: Path) -> None:
    (tmp_path / "a@.service").write_text("[Service]\nExecStart=/bin/echo %i 100%%\nNice=1\n")
    for folder, text in (("a@.service.d", "Nice=2"), ("a@b.service.d", "Nice=3")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / f"{text[-1]}.conf").write_text(f"[Service]\n{text}\n")
    loaded = unit_file.load((tmp_path,), "a@b.service")
    assert loaded.commands({}) == (("/bin/echo", "b", "100%"),)
    assert loaded.last("Nice") == "3"
