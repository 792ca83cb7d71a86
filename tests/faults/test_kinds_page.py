"""docs/kinds.md names checks that exist."""

from __future__ import annotations

import re
from pathlib import Path

from pytest_dflash.findings import AREAS
from tests.faults import matrix

PAGE = Path(__file__).parents[2] / "docs" / "kinds.md"


def test_every_check_on_the_page_exists() -> None:
    named = set(re.findall(rf"`((?:{'|'.join(AREAS)})\.[a-z_]+)`", PAGE.read_text("utf-8")))
    assert named - matrix.checks() == set()
