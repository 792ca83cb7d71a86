"""Whole runs against hosts that mean harm: they end, they stay small, and nothing that was said is obeyed."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from tests.hostile.staged import HOSTS, LATER, MARK

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]
MOST_S = 240.0
"""Seconds, of which a healthy run takes six. Some wait for several deadlines of 30 s, and this machine is shared."""
MOST_MB = 400
"""Memory of the run's own process; a healthy run takes a third of it."""
OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]")
"""What a terminal, a log viewer or a browser acts on instead of showing it; tab and newline are ours."""
COMMAND = re.compile(rf"^(?:::set-output|::error file={MARK}|::warning::{MARK}|##vso)", re.MULTILINE)
"""What GitHub's or Azure's runner would obey, at the start of a line; `::error title=` is ours."""
REVERSING = re.compile("[\u202a-\u202e\u2066-\u2069]")
BAD_IN_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f]")


class Page(HTMLParser):
    """What a browser would run of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.acting: list[str] = []
        self.inside = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.inside = tag
        self.acting += [
            f"{name}={value}"
            for name, value in attrs
            if MARK in name or (name.startswith("on") and value != "location.reload()")  # pytest-html's own
        ]

    def handle_data(self, data: str) -> None:
        # The data of a report is a JSON text in an attribute; what stands in a script itself is the page's own.
        if self.inside == "script" and f"alert('{MARK}')" in data:
            self.acting.append(data[:200])

    def handle_endtag(self, tag: str) -> None:
        self.inside = ""


def told(folder: Path) -> Iterator[tuple[str, str]]:
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not path.is_symlink():
            yield str(path.relative_to(folder)), path.read_bytes().decode("utf-8", "surrogateescape")


def hostile_run(name: str, folder: Path) -> tuple[dict[str, Any], dict[str, str], float, int]:
    """findings.json, every text that was said or written, seconds and MB."""
    peak, summary = folder / "peak", folder / "out" / "summary.md"
    summary.parent.mkdir()
    begun = time.monotonic()
    ran = subprocess.run(
        [
            sys.executable, "-m", "pytest", "-p", "tests.hostile.staged", "-p", "no:cacheprovider", "-vv", "-rA",
            "--host=rehearsal", f"--dflash-fault={name}", "--dflash-allow=probe", "--dflash-ready-timeout=60",
            f"--dflash-report-dir={folder / 'out'}", f"--junitxml={folder / 'out' / 'junit.xml'}",
            f"--dflash-metrics={folder / 'out' / 'metrics'}", "suites",
        ],
        capture_output=True, timeout=600, check=False, cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), "DFLASH_PEAK": str(peak), "GITHUB_ACTIONS": "true",
             "GITHUB_STEP_SUMMARY": str(summary)},
    )  # fmt: skip
    took = time.monotonic() - begun
    texts = dict(told(folder / "out"))
    texts |= {
        "stdout": ran.stdout.decode("utf-8", "surrogateescape"),
        "stderr": ran.stderr.decode("utf-8", "surrogateescape"),
    }
    assert (folder / "out" / "findings.json").exists(), texts["stdout"][-3000:] + texts["stderr"][-3000:]
    document = json.loads((folder / "out" / "findings.json").read_text("utf-8"))
    return document, texts, took, int(peak.read_text()) // 1024


@pytest.mark.parametrize("name", [*HOSTS, *LATER])
def test_a_run_against_a_host_that_means_harm(
    name: str, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    document, texts, took, mb = hostile_run(name, tmp_path)
    record_property("hostile", [name, round(took), mb])
    assert took < MOST_S
    assert mb < MOST_MB
    broke = [each["summary"] for each in document["findings"] if "the check itself broke" in each["summary"]]
    assert broke == []
    for where, text in texts.items():
        assert BAD_IN_XML.findall(text) == [], where
        if not where.endswith(".json"):
            assert REVERSING.findall(text) == [], where
        if where in {"stdout", "stderr"} or where.endswith((".md", "metrics")):
            assert OBEYED.findall(text) == [], where
            assert COMMAND.findall(text) == [], where
        if where.endswith(".html"):
            page = Page()
            page.feed(text)
            assert page.acting == [], where
