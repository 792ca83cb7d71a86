"""No key reaches the terminal, a file or a log, wherever it stood on the host and however much is asked to be shown."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults import canary

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]
LOUD = (
    "-vvv",
    "--showlocals",
    "--tb=long",
    "-rA",
    "--log-level=DEBUG",
    "--log-cli-level=DEBUG",
    "-p",
    "no:cacheprovider",
)
CASES = {
    "all its keys lie about": ("canaries", canary.GIVEN, ""),
    "the key is wrong": ("canaries", "canaryWrong5eC0ffee00", ""),
    "the model is asked to say the key": ("canaries", canary.GIVEN, f"Reply with the word {canary.GIVEN}"),
    "answers tell keys": ("canaries-in-answers", canary.GIVEN, ""),
}


def told(folder: Path) -> Iterator[tuple[str, str]]:
    """Every file below, with its text."""
    for path in folder.rglob("*"):
        if path.is_file():
            yield str(path.relative_to(folder)), path.read_bytes().decode("utf-8", "replace")


@pytest.mark.parametrize("case", CASES)
def test_no_key_is_told_anywhere(case: str, tmp_path: Path) -> None:
    fault, key, prompt = CASES[case]
    reports, logs = tmp_path / "reports", tmp_path / "logs"
    logs.mkdir()
    options = [
        *LOUD,
        "--host=rehearsal",
        f"--dflash-fault={fault}",
        "--dflash-allow=probe",
        "--dflash-expect=endpoint.api_key_env=DFLASH_CANARY",
        "--dflash-expect=exposure.key_required=true",
        "--dflash-expect=window.tokens=1234",
        f"--dflash-report-dir={reports}",
        f"--junitxml={logs / 'junit.xml'}",
        f"--dflash-metrics={logs / 'metrics'}",
        f"--log-file={logs / 'log.txt'}",
        "--log-file-level=DEBUG",
        *([f"--dflash-expect=endpoint.prompt={prompt}"] if prompt else []),
    ]
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "tests.faults.canary", *options, "suites"],
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
        cwd=ROOT,
        env={
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "DFLASH_CANARY": key,
            "GITHUB_ACTIONS": "true",
            "GITHUB_STEP_SUMMARY": str(logs / "summary.md"),
        },
    )
    if prompt and ran.returncode == 4:  # refused: a profile holds no key
        assert "secret" in ran.stderr + ran.stdout
    else:
        assert (reports / "findings.json").exists(), ran.stdout[-3000:] + ran.stderr[-3000:]
        assert "exposure.key_hidden" in (reports / "findings.json").read_text("utf-8")
    texts = [("stdout", ran.stdout), ("stderr", ran.stderr), *told(reports), *told(logs)]
    leaks = [
        f"{name}: …{text[max(0, at - 80) : at + 40]}…"
        for name, text in texts
        for secret in (*canary.KEYS, key)
        if (at := text.find(secret)) >= 0
    ]
    assert leaks == []
