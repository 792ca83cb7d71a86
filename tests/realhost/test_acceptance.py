"""The acceptance run as a user runs it, against a real systemd host over real ssh."""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from tests.realhost.services import Service

ROOT = Path(__file__).parents[2]
PROFILE = """
reviewed = true
[service]
unit = "sglang-k26-ddtree.service"
engine = "sglang"
served_model = "{served}"
ready_timeout_s = {ready}
[endpoint]
prompt = "Reply with the word ready."
[flags]
speculative-algorithm = "DFLASH"
host = "127.0.0.1"
enable-metrics = true
[environment]
NCCL_P2P_LEVEL = "SYS"
[window]
tokens = {window}
via = "flag"
[exposure]
bind = "127.0.0.1"
"""


def run(
    service: Service,
    folder: Path,
    *options: str,
    user: str = "root",
    ready: float = 120,
    within_s: float = 400,
) -> dict[str, Any]:
    """findings.json of a run against the service's host, as a user runs it."""
    folder.mkdir(exist_ok=True)
    profile = folder / "dflash.toml"
    if not profile.exists():
        profile.write_text(PROFILE.format(served=service.served, window=service.window, ready=ready))
    # Loads take minutes on a CPU: they are asked for where they are meant.
    allowed = any(each.startswith("--dflash-allow") for each in options)
    ran = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(ROOT / "suites")),
            *(() if allowed else ("--dflash-allow=probe",)),
            f"--host={user}@{service.machine.name}",
            f"--ssh-config={service.machine.ssh_config}",
            f"--dflash-profile={profile}",
            f"--dflash-report-dir={folder}",
            *options,
        ],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
        cwd=ROOT,
    )
    found = folder / "findings.json"
    assert found.exists(), ran.stdout[-4000:] + ran.stderr[-2000:]
    document: dict[str, Any] = json.loads(found.read_text())
    document["stdout"] = ran.stdout
    assert document["run"]["exit_code"] == ran.returncode, ran.stdout[-4000:]
    return document


def outcomes(document: dict[str, Any]) -> dict[str, str]:
    """The outcome of each check; with several findings the worst."""
    order = ["fail", "unproven", "blocked", "waived", "pass", "not_run", "not_applicable"]
    found: dict[str, str] = {}
    for each in document["findings"]:
        worst = min(found.get(each["check"], "not_applicable"), each["outcome"], key=order.index)
        found[each["check"]] = worst
    return found


def finding(document: dict[str, Any], check: str) -> dict[str, Any]:
    """The first finding of a check."""
    return dict(next(each for each in document["findings"] if each["check"] == check))


def red(document: dict[str, Any]) -> set[str]:
    """Checks that failed or are unproven."""
    return {check for check, outcome in outcomes(document).items() if outcome in {"fail", "unproven"}}


@pytest.fixture(scope="module")
def healthy(mini_host: Service, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return run(mini_host, tmp_path_factory.mktemp("healthy"))


def test_a_healthy_host_is_accepted(healthy: dict[str, Any]) -> None:
    assert red(healthy) == set(), healthy["stdout"][-3000:]


def test_the_window_is_followed_through_all_six_witnesses(healthy: dict[str, Any]) -> None:
    window = finding(healthy, "window.reaches_draft_runner")
    assert window["outcome"] == "pass"
    assert [each["source"] for each in window["evidence"]] == [
        "unit_file", "loaded_unit", "process_argv", "server_args_log", "server_info", "draft_runner_log",
    ]  # fmt: skip
    assert all(each["value"] == 2048 for each in window["evidence"])
    assert window["evidence"][0]["where"].startswith("/etc/systemd/system/sglang-k26-ddtree.service:")


def test_all_facts_come_by_one_connection_and_at_most_three_commands(healthy: dict[str, Any]) -> None:
    (host,) = healthy["hosts"]
    assert host["connections"] == 1
    assert 1 <= host["commands"] <= 3


def test_the_completion_is_asked_through_the_tunnel(healthy: dict[str, Any]) -> None:
    assert outcomes(healthy)["endpoint.completion"] == "pass"
    assert outcomes(healthy)["endpoint.same_process"] == "pass"


def test_the_identity_is_that_of_the_unit(healthy: dict[str, Any], mini_host: Service) -> None:
    (host,) = healthy["hosts"]
    assert host["invocation_id"] == mini_host.show("InvocationID")
    assert str(host["main_pid"]) == mini_host.show("MainPID")


def test_reading_sends_passive_routes_only(mini_host: Service, tmp_path: Path) -> None:
    before = mini_host.machine.sh(f"journalctl -u {mini_host_unit()} -o cat -a | grep -c 'POST /' || true")
    document = run(mini_host, tmp_path, "--dflash-allow=read")
    after = mini_host.machine.sh(f"journalctl -u {mini_host_unit()} -o cat -a | grep -c 'POST /' || true")
    assert before == after
    log = mini_host.machine.sh(f"journalctl -u {mini_host_unit()} -o cat -a -n 40")
    assert "GET /v1/models" in log
    assert outcomes(document)["endpoint.completion"] == "not_run"
    assert outcomes(document)["window.reaches_draft_runner"] == "pass"


def mini_host_unit() -> str:
    return "sglang-k26-ddtree.service"


CONFUSIONS: dict[str, tuple[set[str], tuple[str, str] | None, str]] = {
    "edited_not_reloaded": ({"systemd.reloaded"}, ("unit_file", "loaded_unit"), "fail"),
    "reloaded_not_restarted": ({"systemd.restarted"}, ("loaded_unit", "process_argv"), "fail"),
    "nothing_logged_yet": ({"endpoint.serves"}, None, "unproven"),
    "previous_process": ({"endpoint.serves", "systemd.stable"}, None, "unproven"),
    "active_not_serving": ({"endpoint.serves"}, None, "pass"),
}


def confused(service: Service, name: str) -> AbstractContextManager[None]:
    with_window = name in {"edited_not_reloaded", "reloaded_not_restarted"}
    state = getattr(service, name)
    return state(2 * service.window) if with_window else state()  # type: ignore[no-any-return]  # by name


def assert_named(name: str, document: dict[str, Any]) -> None:
    """A run tells this confusion by its checks, and between which two witnesses the window was lost."""
    checks, between, window = CONFUSIONS[name]
    assert checks <= red(document), document["stdout"][-3000:]
    found = finding(document, "window.reaches_draft_runner")
    assert found["outcome"] == window
    assert found["between"] == (list(between) if between else None)


@pytest.mark.parametrize("name", list(CONFUSIONS))
def test_a_confusion_made_for_real_is_named_with_its_witnesses(
    name: str, mini_host: Service, tmp_path: Path
) -> None:
    with confused(mini_host, name):
        document = run(mini_host, tmp_path, "--dflash-ready-timeout=5")
    assert_named(name, document)
    assert document["run"]["exit_code"] in {1, 10}


def test_a_written_profile_passes_once_it_is_reviewed(mini_host: Service, tmp_path: Path) -> None:
    path = tmp_path / "dflash.toml"
    ran = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", f"--host=root@{mini_host.machine.name}"),
            *(f"--ssh-config={mini_host.machine.ssh_config}", f"--dflash-write-profile={path}"),
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        cwd=ROOT,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    path.write_text(path.read_text().replace("reviewed = false", "reviewed = true"))
    document = run(mini_host, tmp_path)
    assert red(document) == set(), document["stdout"][-3000:]
    assert outcomes(document)["window.reaches_draft_runner"] == "pass"


def test_an_unprivileged_user_gets_unproven_with_the_reason_and_never_a_wrong_pass(
    mini_host: Service, tmp_path: Path
) -> None:
    document = run(mini_host, tmp_path, user="visitor", ready=5)
    found = outcomes(document)
    assert found["flags.environment"] == "unproven"
    assert "fail" not in {
        each["outcome"] for each in document["findings"] if each["check"].startswith("flags.")
    }
    variable = finding(document, "flags.environment")
    assert "root" in variable["summary"] + str(variable["remedy"])
    who = finding(document, "endpoint.same_process")
    assert who["outcome"] in {"unproven", "blocked"}  # whose port it is, only root sees


def test_with_sudo_an_ordinary_user_sees_everything(mini_host: Service, tmp_path: Path) -> None:
    document = run(mini_host, tmp_path, "--sudo", user="admin")
    assert red(document) == set(), document["stdout"][-3000:]
