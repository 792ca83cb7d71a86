"""The profile of docs/profile.md is one that the loader takes."""

from __future__ import annotations

import re
from pathlib import Path

from pytest_dflash.profile.loader import load
from pytest_dflash.profile.schema import Profile

PAGE = Path(__file__).parents[2] / "docs" / "profile.md"


def block() -> str:
    found = re.search(r"```toml\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    assert found
    return found[1]


def test_the_profile_on_the_page_is_valid_and_its_host_pattern_overrides(tmp_path: Path) -> None:
    (tmp_path / "base.toml").write_text("")
    path = tmp_path / "dflash.toml"
    path.write_text(block())
    assert load(path, host="gpu1").profile.gpu.count == 8
    assert load(path, host="gpu2a").profile.gpu.count == 4


def test_the_page_names_every_table() -> None:
    text = PAGE.read_text("utf-8")
    for name in Profile.model_fields:
        assert re.search(rf"\[\[?{name}|^{name} =", text, re.MULTILINE), f"{name} is not on the page"
