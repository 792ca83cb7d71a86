"""The examples for CI: their scripts are run as they stand, against the rehearsal, and leave what they promise."""

from __future__ import annotations

import os
import re
import subprocess
import textwrap
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
SUITES = "--pyargs pytest_dflash.suites"


def github() -> tuple[str, list[str], dict[str, Any]]:
    steps = loaded("github-actions.yml")["jobs"]["accept"]["steps"]
    (script,) = [step["run"] for step in steps if "run" in step]
    (kept,) = [step["with"]["path"] for step in steps if "upload-artifact" in step.get("uses", "")]
    return script, [f"{kept}report.html", f"{kept}junit.xml"], {"GITHUB_STEP_SUMMARY": "summary.md"}


def gitlab() -> tuple[str, list[str], dict[str, Any]]:
    job = loaded("gitlab-ci.yml")["accept"]
    reports = job["artifacts"]["reports"]
    return "\n".join(job["script"]), [*reports.values(), f"{job['artifacts']['paths'][0]}report.html"], {}


def jenkins() -> tuple[str, list[str], dict[str, Any]]:
    text = (EXAMPLES / "Jenkinsfile").read_text()
    script = re.search(r"sh '''(.*?)'''", text, re.DOTALL)
    junit = re.search(r"junit '([^']+)'", text)
    assert script is not None
    assert junit is not None
    assert all(text.count(left) == text.count(right) for left, right in ("{}", "()", "[]"))
    return textwrap.dedent(script.group(1)), [junit.group(1), "report/report.html"], {}


def loaded(name: str) -> dict[str, Any]:
    document = yaml.safe_load((EXAMPLES / name).read_text())
    assert isinstance(document, dict)
    return document


@pytest.mark.slow
@pytest.mark.parametrize("example", [github, gitlab, jenkins])
def test_the_script_accepts_the_rehearsal_and_leaves_its_artefacts(example: Any, tmp_path: Path) -> None:
    script, artefacts, more = example()
    assert SUITES in script
    # The package is installed here already, and its suites lie beside it: only these two words are not run as they stand.
    script = script.replace(SUITES, str(ROOT / "suites")).replace(
        "python3 -m venv .venv", "mkdir -p .venv/bin; touch .venv/bin/activate"
    )
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "pip").write_text("#!/bin/sh\nexit 0\n")
    (tools / "pip").chmod(0o755)
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST", "DFLASH", "GITHUB"))}
    environment |= {
        "PATH": f"{tools}:{ROOT}/.venv/bin:{os.environ['PATH']}",
        "DFLASH_HOST": "rehearsal",
        "PYTEST_ADDOPTS": "--dflash-allow=probe",  # loads are tried where a core is to be had
        **more,
    }
    work = tmp_path / "work"
    work.mkdir()
    done = subprocess.run(
        ["bash", "-euc", script],
        cwd=work,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    for name in (*artefacts, *more.values()):
        assert (work / name).stat().st_size > 0, name


def test_each_example_is_named_and_run() -> None:
    named = re.findall(r"\]\(([^)]+)\)", (EXAMPLES / "README.md").read_text())
    assert set(named) == {path.name for path in EXAMPLES.iterdir()} - {"README.md"}
    assert len(named) == 3
