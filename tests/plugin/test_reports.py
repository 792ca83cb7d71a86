"""The files of a run: strict, escaped, without secrets, and where a person wants them."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from tests.plugin.conftest import PROFILE, Project

CANARY = "canary-Zx81-not-for-eyes"
HOSTILE = "<script>alert(1)</script>\x1b[2J\u202e\ud800"
FINDING = {
    "check", "param", "nodeid", "host", "service", "invocation_id", "level", "outcome", "summary", "expected",
    "observed", "between", "cause", "remedy", "evidence", "measures", "duration_s",
}  # fmt: skip
RUN = {
    "started", "ended", "duration_s", "allow", "faults", "verdict", "exit_code", "plugin", "profiles", "complete",
}  # fmt: skip


@pytest.fixture
def with_key(project: Project, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.setenv("DFLASH_TEST_KEY", CANARY)
    project.profile('[endpoint]\napi_key_env = "DFLASH_TEST_KEY"\n')
    return project


def test_no_secret_reaches_terminal_or_file(with_key: Project) -> None:
    with_key.checks(
        f"""
KEY = {CANARY!r}

@pytest.fixture
def chatty():
    print("before", KEY)
    yield
    print("after", KEY)

@check("exposure.bind")
def test_told(host_run, chatty):
    print("during", KEY)
    return failed(f"found {{KEY}}", observed=[KEY], remedy=f"hide {{KEY}}",
                  evidence=(Evidence(source="unit_file", reading="value", value={{"key": KEY}}, where=KEY),))

@check("exposure.key_hidden")
def test_broken(host_run, chatty):
    mine = KEY
    raise RuntimeError(f"no {{mine}}")

@check("exposure.key_required")
def test_skipped(host_run, chatty):
    pytest.skip(KEY)

def test_of_somebody_else(chatty):
    mine = KEY
    assert mine == "other"

def test_of_somebody_else_skipped():
    pytest.skip(KEY)
"""
    )
    run = with_key.run("-vvv", "--showlocals", "-rA", "-o", "junit_logging=all")
    assert run.code == 1
    written = [path.read_text() for path in run.folder.rglob("*") if path.is_file()]
    assert len(written) == 4
    for text in (run.out, run.err, *written):
        assert CANARY not in text
    assert "****" in run.out


def test_hostile_text_is_data_everywhere(project: Project) -> None:
    project.checks(
        f"""
TEXT = {HOSTILE!r}

@check("systemd.active")
@pytest.mark.parametrize("word", ["<script>alert(2)</script>"])
def test_it(host_run, word):
    return failed(TEXT, expected=TEXT, observed={{TEXT: float("nan")}}, cause=TEXT, remedy=TEXT, param=TEXT,
                  evidence=(Evidence(source=TEXT, reading="silent", why=TEXT),
                            Evidence(source="x", reading="value", value=TEXT, where=TEXT)))
"""
    )
    run = project.run()
    assert run.code == 1
    page = (run.folder / "report.html").read_text()
    assert "<script>alert" not in page
    assert "\x1b[2J" not in run.out
    assert "\u202e" not in run.out
    assert r"\x1b[2J" in run.out
    ET.parse(run.folder / "junit.xml")
    text = (run.folder / "findings.json").read_bytes().decode("utf-8", "strict")
    json.loads(text, parse_constant=lambda word: pytest.fail(f"{word} is not JSON"))


def test_the_page_needs_nothing_from_elsewhere(project: Project) -> None:
    project.checks(project.finding("fail"))
    page = (project.run().folder / "report.html").read_text()
    assert not re.search(r"""(?:src|href)=["'](?:https?:|assets/)[^"']*\.(?:js|css|png)""", page)
    assert re.search(r"REJECT</span> the host must not take traffic", page)


def test_the_keys_are_those_of_the_contract(project: Project) -> None:
    project.checks(project.finding("fail"))
    document = project.run("--dflash-allow=read").document
    assert set(document) >= {"schema", "run", "hosts", "findings"}
    assert document["schema"] == 1
    assert set(document["run"]) >= RUN
    assert document["run"]["allow"] == ["read"]
    (finding,) = document["findings"]
    assert set(finding) >= FINDING
    assert (finding["host"], finding["service"], finding["level"]) == ("10.1.2.200", "engine.service", "read")
    (profile,) = document["run"]["profiles"]
    assert set(profile) >= {"path", "sha256", "reviewed"}


def test_files_that_a_person_names_go_there(project: Project) -> None:
    project.checks(project.finding("pass"))
    run = project.run("--html=mine.html", "--junitxml=mine.xml", "--dflash-report-dir=there")
    assert run.code == 0
    assert {path.name for path in (project.path / "there").iterdir()} == {"findings.json", "ctrf.json"}
    assert (project.path / "mine.html").exists()
    assert (project.path / "mine.xml").exists()
    assert not (project.path / "reports").exists()


def test_latest_points_at_the_last_run_and_no_two_runs_share_a_folder(project: Project) -> None:
    project.checks(project.finding("pass"))
    folders = [project.run().folder for _ in range(3)]
    assert len(set(folders)) == 3
    assert (project.path / "reports" / "latest").readlink() == Path(folders[-1].name)


def test_a_failure_is_one_sentence_and_a_table_and_no_traceback(project: Project) -> None:
    project.checks(project.finding("fail"))
    out = project.run().out
    assert "FAILED test_checks.py::test_it[10.1.2.200] - it is not so" in out
    assert "Traceback" not in out
    assert "return failed(" not in out
    assert "next: mend it" in out


def test_what_broke_a_check_is_unproven_with_its_traceback(project: Project) -> None:
    project.checks('@check("host.xid")\ndef test_it(host_run):\n    raise KeyError("gone")\n')
    run = project.run()
    assert run.code == 10
    assert "the check itself broke: KeyError: 'gone'" in run.out
    assert 'raise KeyError("gone")' in run.out


@pytest.mark.parametrize(
    "body, outcome",
    [
        ("pass", "unproven"),
        ("return True", "unproven"),
        ('return "fine"', "unproven"),
        ("return [passed('a'), 3]", "unproven"),
        ("return [passed('a'), failed('b')]", "fail"),
        ("return []", "unproven"),
        ("assert 1 == 2", "fail"),
        ("pytest.fail('no')", "fail"),
        ("pytest.xfail('no')", "unproven"),
        ("raise SystemExit(0)", "unproven"),
    ],
)
def test_only_a_judgement_passes(project: Project, body: str, outcome: str) -> None:
    project.checks(f'@check("host.xid")\ndef test_it(host_run):\n    {body}\n')
    run = project.run()
    assert run.outcomes[-1] == outcome
    assert run.code == {"fail": 1, "unproven": 10}[outcome]


def test_an_xfail_mark_does_not_turn_a_failure_good(project: Project) -> None:
    project.checks("@pytest.mark.xfail\n" + project.finding("fail"))
    run = project.run()
    assert (run.code, run.words) == (1, {"failed": 1})


def test_the_header_says_which_value_came_from_where(project: Project) -> None:
    project.pytester.makeini("[pytest]\naddopts = --dflash-allow=probe\n")
    project.checks(project.finding("pass"))
    run = project.run("--dflash-expect=window.tokens=4096", "--dflash-ready-timeout=7")
    for line in (
        "dflash hosts: 10.1.2.200 (--host)",
        "reviewed (found in the rootdir)",
        "dflash expect: window.tokens=4096 (--dflash-expect)",
        "dflash allow: probe (--dflash-allow in addopts or PYTEST_ADDOPTS)",
        "dflash ready timeout: 7 s (--dflash-ready-timeout)",
        "(default)",
    ):
        assert line in run.out
    assert "dflash hosts" not in project.run("-q").out


def test_the_header_names_the_ini_file(project: Project) -> None:
    project.profile(name="mine.toml", text=PROFILE + "ready_timeout_s = 60\n")
    project.pytester.makeini("[pytest]\ndflash_profile = mine.toml\ndflash_report_dir = out\n")
    project.checks(project.finding("pass"))
    out = project.run().out
    assert re.search(
        r"dflash profile: .*mine\.toml, sha256 [0-9a-f]{12}, reviewed \(ini dflash_profile in .*\)", out
    )
    assert re.search(r"dflash ready timeout: 60 s \(service\.ready_timeout_s in .*mine\.toml\)", out)
    assert re.search(r"dflash reports: .*/out \(ini dflash_report_dir in .*\)", out)


def test_junit_keeps_identity_expectation_and_measures(project: Project) -> None:
    project.checks(
        """
@check("gpu.ecc")
def test_one(host_run):
    return passed("so", param="GPU-1", expected=0, observed={"a": "<&"}, measures={"errors": 0.5})

@check("gpu.mig")
def test_two(host_run):
    return [passed("so", param="GPU-1"), failed("no", param="GPU-2", expected=[1])]
"""
    )
    run = project.run()
    one, two = ET.parse(run.folder / "junit.xml").getroot().iter("testcase")
    told = {p.get("name"): p.get("value") for p in one.iter("property")}
    assert told == {
        "check": "gpu.ecc",
        "outcome": "pass",
        "host": "10.1.2.200",
        "service": "engine.service",
        "level": "read",
        "param": "GPU-1",
        "expected": "0",
        "observed": '{"a": "<&"}',
        "measure.errors": "0.5",
    }
    told = {p.get("name"): p.get("value") for p in two.iter("property")}
    assert (told["outcome"], told["outcome[GPU-1]"], told["outcome[GPU-2]"]) == ("fail", "pass", "fail")
    assert told["expected[GPU-2]"] == "[1]"


def test_metrics_go_where_they_are_wanted(project: Project) -> None:
    project.checks(project.finding("fail"))
    project.run("--dflash-metrics=dflash.prom")
    assert 'dflash_run_verdict{verdict="reject"} 1' in (project.path / "dflash.prom").read_text()


def test_a_folder_for_metrics_that_is_not_there_is_a_usage_error(project: Project) -> None:
    project.checks(project.finding("fail"))
    run = project.run("--dflash-metrics=no/such/dflash.prom")
    assert run.code == 4
    assert "--dflash-metrics: " in run.err


def test_github_gets_its_summary_and_annotations(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    step = project.path / "step.md"
    step.write_text("before\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(step))
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    project.checks(project.finding("fail"))
    run = project.run()
    assert step.read_text().startswith("before\n## REJECT")
    assert "\n::error title=systemd.active on 10.1.2.200::it is not so Do: mend it" in run.out


def test_a_summary_that_cannot_be_written_changes_no_verdict(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(project.path))
    project.checks(project.finding("pass"))
    run = project.run()
    assert run.code == 0
    assert "cannot be written: Is a directory" in run.out


def test_the_last_words_are_verdict_report_and_next_step(project: Project) -> None:
    project.checks(project.finding("fail"))
    lines = project.run("-q").out.rstrip().splitlines()
    places = [
        next(n for n, line in enumerate(lines) if word in line) for word in ("FAILED ", "dflash: reject")
    ]
    assert places == sorted(places)
    assert lines[-2].startswith("next: mend it")


def test_checks_newer_than_the_gate_decide_nothing(project: Project) -> None:
    project.profile('[gate]\nchecks_as_of = "0.1"\n')
    project.checks(
        project.finding("pass")
        + '@check("gpu.mig", since="0.2")\ndef test_new(host_run):\n    return failed("no")\n'
        + '@check("gpu.ecc", since="0.2")\ndef test_newer(host_run):\n    return unproven("nobody says")\n'
    )
    run = project.run()
    assert (run.code, run.verdict) == (0, "accept")
    assert sorted(run.outcomes) == ["not_run", "pass", "waived"]


def test_a_gate_of_no_version_is_a_usage_error(project: Project) -> None:
    project.profile('[gate]\nchecks_as_of = "yesterday"\n')
    project.checks(project.finding("pass"))
    run = project.run()
    assert run.code == 4
    assert 'gate.checks_as_of: must be major and minor number of a version, such as "0.1"' in run.err
