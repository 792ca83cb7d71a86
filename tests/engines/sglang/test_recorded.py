"""What real starts of several versions say, and one dirty log."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_dflash.engines.registry import dialect
from pytest_dflash.facts.journal import Entry, Journal
from pytest_dflash.facts.reading import Absent, Reading, Value

CASES = Path(__file__).parents[1] / "cases"
NAMES = sorted(folder.name for folder in CASES.glob("sglang-*"))
RUN = sorted(folder.name for folder in CASES.iterdir() if (folder / "argv.txt").exists())
SGLANG = dialect("sglang")


def expected(case: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((CASES / case / "expected.json").read_text())
    return found


def journal(case: str) -> Journal:
    lines = (CASES / case / "log.txt").read_text().splitlines()
    entries = tuple(Entry(n, n, 4121, 6, line) for n, line in enumerate(lines))
    return Journal("1f2e", entries, reaches_start=True, whole=True)


def argv(case: str) -> list[str]:
    return (CASES / case / "argv.txt").read_text().splitlines()


def values(reading: Reading[Any]) -> dict[str, Any]:
    assert isinstance(reading, Value), reading
    return dict(reading.value.values)


@pytest.mark.parametrize("case", NAMES)
def test_the_logged_settings_are_read(case: str) -> None:
    reading = SGLANG.args_log(journal(case))
    wanted = expected(case)["args_log"]
    assert {key: values(reading).get(key, "missing") for key in wanted} == wanted
    assert isinstance(reading, Value)
    assert reading.value.complete
    assert reading.value.spelled.items() >= expected(case).get("spelled", {}).items()


@pytest.mark.parametrize("case", [name for name in NAMES if "draft_runner" in expected(name)])
def test_the_draft_runner_is_read(case: str) -> None:
    reading = SGLANG.draft_runner(journal(case))
    wanted = expected(case)["draft_runner"]
    if wanted is None:
        assert isinstance(reading, Absent)
        return
    assert {key: values(reading).get(key, "missing") for key in wanted} == wanted
    assert isinstance(reading, Value)
    assert expected(case).get("where", "DFLASH") in reading.where


@pytest.mark.parametrize("case", NAMES)
def test_the_engine_says_when_it_is_ready(case: str) -> None:
    ready = expected(case).get("ready", False)
    assert (SGLANG.ready_line(journal(case)) is not None) is ready
    assert SGLANG.progress(journal(case)) == ("start-up is over" if ready else "settings resolved")


@pytest.mark.parametrize("case", RUN)
def test_a_healthy_start_alarms_nobody(case: str) -> None:
    assert [each for each in SGLANG.warnings(journal(case)) if each.alarming] == []


@pytest.mark.parametrize("case", RUN)
def test_the_info_document_is_read(case: str) -> None:
    document = json.loads((CASES / case / "info.json").read_text())
    wanted = expected(case)["info"]
    assert {key: values(SGLANG.from_info(document)).get(key, "missing") for key in wanted} == wanted
    assert SGLANG.version(document) == expected(case)["version"]


@pytest.mark.parametrize("case", RUN)
def test_a_healthy_host_has_no_drift_from_argv_to_log_to_info(case: str) -> None:
    asked = SGLANG.from_argv(argv(case), {}, "0.5.23")
    logged = values(SGLANG.args_log(journal(case)))
    answered = values(SGLANG.from_info(json.loads((CASES / case / "info.json").read_text())))
    assert asked.complete
    assert set(asked.values) <= set(logged)
    assert [
        k for k, v in logged.items() if not SGLANG.is_rewrite(k, asked.values.get(k), v, asked.values)
    ] == []
    assert [k for k, v in logged.items() if not SGLANG.is_rewrite(k, v, answered.get(k), logged)] == []


@pytest.mark.parametrize("case", ["sglang-0.5.11", "sglang-0.5.14", "sglang-0.5.18", "sglang-0.5.19"])
def test_what_an_older_version_fills_in_by_itself_is_no_drift(case: str) -> None:
    line = "sglang serve --model-path /srv/models/target --host 127.0.0.1 --device cpu --speculative-algorithm dflash"
    line += " --speculative-draft-model-path /srv/models/dflash --speculative-draft-window-size 2048"
    asked = SGLANG.from_argv(line.split(), {}, expected(case)["version"]).values
    logged = values(SGLANG.args_log(journal(case)))
    assert [k for k, v in logged.items() if not SGLANG.is_rewrite(k, asked.get(k), v, asked)] == []


def test_the_runner_of_a_start_without_window_did_not_get_one() -> None:
    logged = values(SGLANG.draft_runner(journal("sglang-0.5.23-no-window")))
    assert not SGLANG.same("speculative-draft-window-size", 2048, logged["speculative-draft-window-size"])
    assert not SGLANG.is_rewrite("speculative-draft-window-size", 2048, None, {})


def test_the_recorded_decode_line_is_read() -> None:
    (line,) = SGLANG.decode_lines(journal("sglang-0.5.23-window"))
    assert (line.running, line.accept_len, line.accept_rate, line.graph) == (1, 1.8, 0.11, False)
    assert (line.tokens_per_s, line.queued) == (5.05, 0)


def test_the_pool_that_the_scheduler_settled_on_is_read() -> None:
    assert values(SGLANG.effective(journal("sglang-0.5.23-window")))["max-total-num-tokens"] == 8192
