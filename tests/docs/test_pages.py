"""What the pages name is there, and every option is named; what they say to try turns red."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_dflash import catalogue, plugin
from pytest_dflash.findings import AREAS
from pytest_dflash.profile.schema import Profile
from pytest_dflash.rehearsal.faults import FAULTS
from pytest_dflash.rehearsal.oddities import ODDITIES
from pytest_dflash.report.cards import cards

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
TEXTS = {page.relative_to(ROOT).as_posix(): page.read_text("utf-8") for page in PAGES}
ALL = "\n".join(TEXTS.values())
CHECK = re.compile(rf"`((?:{'|'.join(AREAS)})\.[a-z][a-z0-9_]*)(?:\[[^`]*\])?`")
COMMAND = re.compile(r"^\$ (.*?)(?:\s+#.*)?$", re.MULTILINE)
REJECT, UNDECIDED = 1, 10
FOREIGN = ("other-release",)
"""Faults that a page makes itself."""


def options() -> set[str]:
    parser = pytest.Parser(_ispytest=True)
    plugin.pytest_addoption(parser)
    return {name for option in parser.getgroup("dflash").options for name in option.names()}


def keys_of_a_profile() -> set[str]:
    """`table.key` of all tables."""
    schema = Profile.model_json_schema(by_alias=True)
    tables = {
        name: told.get("$ref") or told.get("items", {}).get("$ref")
        for name, told in schema["properties"].items()
    }
    return {
        f"{name}.{key}"
        for name, reference in tables.items()
        if reference
        for key in schema["$defs"][reference.rpartition("/")[2]].get("properties", {})
    }


def commands() -> Iterator[tuple[str, str]]:
    """Every command of a console block, with its page."""
    for page, text in TEXTS.items():
        for block in re.findall(r"```console\n(.*?)```", text, re.DOTALL):
            yield from ((page, command) for command in COMMAND.findall(block))


@pytest.mark.parametrize("page", TEXTS)
def test_a_page_names_options_that_are_there(page: str) -> None:
    assert set(re.findall(r"--dflash-[a-z]+(?:-[a-z]+)*", TEXTS[page])) <= options()


def test_every_option_is_named_on_a_page() -> None:
    assert [name for name in options() if name not in ALL] == []


@pytest.mark.parametrize("page", TEXTS)
def test_a_page_names_checks_that_are_there(page: str) -> None:
    known = set(catalogue.entries()) | keys_of_a_profile()
    modules = {f"{area}.{end}" for area in AREAS for end in ("py", "md", "toml")}
    assert set(CHECK.findall(TEXTS[page])) - known - modules - OWN == set()


OWN = {"flags.site_prefill", "host.release", "endpoint.greeting"}
"""Checks that a page makes itself."""


@pytest.mark.parametrize("page", TEXTS)
def test_a_page_names_faults_and_targets_that_are_there(page: str) -> None:
    staged = set(re.findall(r"--dflash-fault[= ]([a-z][a-z0-9-]+)", TEXTS[page]))
    assert staged - {"list", *FOREIGN} <= set(FAULTS) | set(ODDITIES)
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert set(re.findall(r"`make ([a-z-]+)`|\$ make ([a-z-]+)", TEXTS[page])) <= {
        pair for name in targets for pair in ((name, ""), ("", name))
    }


REHEARSED = [
    (page, command)
    for page, command in commands()
    if "pytest --host=rehearsal suites/" in command and "--dflash-fault" in command
]


def test_the_pages_show_faults_to_try() -> None:
    assert len(REHEARSED) >= 6


@pytest.mark.slow
@pytest.mark.parametrize(
    "page, command", REHEARSED, ids=[f"{page}-{n}" for n, (page, _) in enumerate(REHEARSED)]
)
def test_what_a_page_says_to_try_is_not_accepted(page: str, command: str, tmp_path: Path) -> None:
    words = shlex.split(command)
    # A page may run more than its fault needs, and a test has seconds; the tree is noticed by requests only.
    level = "load" if "tree" in words else "probe"
    ran = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            *words[1:],
            f"--dflash-allow={level}",
            f"--dflash-report-dir={tmp_path}",
        ],
        cwd=ROOT,
        env={k: v for k, v in os.environ.items() if not k.startswith("PYTEST")}
        | {"PYTEST_ADDOPTS": "-p no:cacheprovider"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert ran.returncode in (REJECT, UNDECIDED), ran.stdout + ran.stderr
    assert re.search(r"dflash: (reject|undecided)", ran.stdout)
    assert (tmp_path / "report.html").is_file()


def test_the_sample_report_is_of_today_s_checks_and_of_no_machine() -> None:
    text = (ROOT / "docs" / "sample.json").read_text("utf-8")
    sample = json.loads(text)
    assert {each["check"] for each in sample["findings"]} == set(catalogue.entries()), (
        "record it anew: make sample"
    )
    assert sample["run"]["faults"] == re.findall(r"`([a-z-]+)`", TEXTS["docs/sample.md"])
    assert sample["run"]["complete"]
    assert len(cards(sample["findings"])) == 5
    assert not re.search(r"/tmp/|/home/|dfl-rehearsal", text)
    assert f"{ROOT}/" not in text


def test_the_picture_of_the_report_is_a_webp() -> None:
    picture = (ROOT / "docs" / "report.webp").read_bytes()
    assert picture[:4] + picture[8:12] == b"RIFFWEBP"
