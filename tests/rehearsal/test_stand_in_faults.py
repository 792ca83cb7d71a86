from __future__ import annotations

import json
import socket
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping

import pytest

from pytest_dflash.rehearsal.faults import FAULTS, listing
from pytest_dflash.rehearsal.host import StandInHost


def prop(host: StandInHost, name: str) -> str:
    return host.tool("systemctl", "show", "-p", name, "--value", host.unit).strip()


def log(host: StandInHost) -> str:
    return host.tool("journalctl", "-a", "-o", "cat", f"_SYSTEMD_INVOCATION_ID={prop(host, 'InvocationID')}")


def running_argv(host: StandInHost) -> bytes:
    return (host.root / "proc" / prop(host, "MainPID") / "cmdline").read_bytes()


def is_open(host: StandInHost) -> bool:
    with socket.socket() as attempt:
        return attempt.connect_ex(("127.0.0.1", host.port)) == 0


def stale_journal(host: StandInHost) -> None:
    assert "draft runner" not in log(host)
    assert "The server is fired up" in log(host)
    assert "draft_window_size=2048" in host.tool("journalctl", "-a", "-o", "cat", "-u", host.unit)
    assert is_open(host)


def nothing_logged_yet(host: StandInHost) -> None:
    assert log(host).splitlines()[-1].endswith("Load weight begin. avail mem=94.02 GB")
    assert prop(host, "ActiveState") == "active"
    assert not is_open(host)


def edited_not_reloaded(host: StandInHost) -> None:
    assert "draft-window-size 2048" in host.unit_file.read_text("utf-8")
    assert "draft-window-size" not in prop(host, "ExecStart")
    assert prop(host, "NeedDaemonReload") == "yes"
    assert "draft_window_size=None, compact_cache=False" in log(host)


def reloaded_not_restarted(host: StandInHost) -> None:
    assert "draft-window-size 2048" in prop(host, "ExecStart")
    assert prop(host, "NeedDaemonReload") == "no"
    assert b"draft-window-size" not in running_argv(host)


def active_not_serving(host: StandInHost) -> None:
    assert prop(host, "ActiveState") == "active"
    assert "The server is fired up" in log(host)
    assert not is_open(host)
    assert str(host.port) not in host.tool("ss", "-ltnpH")


def wrong_flag(host: StandInHost) -> None:
    assert b"--chunked-prefill-size\x004096\0" in running_argv(host)
    assert "'chunked_prefill_size': 4096" in log(host)
    assert "chunked_prefill_size=4096" in log(host)


def window_dropped(host: StandInHost) -> None:
    assert "'speculative_draft_window_size': 2048" in log(host)
    assert "draft_window_size=None, compact_cache=False" in log(host)
    assert "--speculative-draft-window-size has no effect with speculative_algorithm=DFLASH" in log(host)


def package_version(host: StandInHost) -> None:
    (found,) = host.site_packages.glob("flashinfer_python-*")
    assert "Version: 0.5.3\n" in (found / "METADATA").read_text("utf-8")


def gpu_missing(host: StandInHost) -> None:
    assert len(host.tool("nvidia-smi", "-L").splitlines()) == 7


def endpoint_dead(host: StandInHost) -> None:
    url = f"http://127.0.0.1:{host.port}"
    assert json.load(urllib.request.urlopen(f"{url}/v1/models", timeout=5))["data"][0]["id"] == "Kimi-K2.6"
    with pytest.raises(urllib.error.HTTPError, match="500"):
        urllib.request.urlopen(f"{url}/v1/completions", data=b'{"prompt": "x"}', timeout=5)


def left_behind(host: StandInHost) -> None:
    assert "zzz-dflash-0badcafe.conf" in prop(host, "DropInPaths")


def foreign_traffic(host: StandInHost) -> None:
    found = json.load(urllib.request.urlopen(f"http://127.0.0.1:{host.port}/v1/loads", timeout=5))
    assert found["loads"][0]["num_running_reqs"] == 3


SHOWS: Mapping[str, Callable[[StandInHost], None]] = {
    "stale-journal": stale_journal,
    "nothing-logged-yet": nothing_logged_yet,
    "edited-not-reloaded": edited_not_reloaded,
    "reloaded-not-restarted": reloaded_not_restarted,
    "active-not-serving": active_not_serving,
    "wrong-flag": wrong_flag,
    "window-dropped": window_dropped,
    "package-version": package_version,
    "gpu-missing": gpu_missing,
    "endpoint-dead": endpoint_dead,
    "left-behind": left_behind,
    "foreign-traffic": foreign_traffic,
}


@pytest.mark.parametrize("name", SHOWS)
def test_a_fault_is_staged_as_its_title_says(name: str, start_host: Callable[..., StandInHost]) -> None:
    SHOWS[name](start_host([name]))


def test_faults_can_be_combined(start_host: Callable[..., StandInHost]) -> None:
    host = start_host(["window-dropped", "endpoint-dead", "gpu-missing"])

    window_dropped(host)
    endpoint_dead(host)
    gpu_missing(host)


def test_the_listing_has_one_line_a_fault_with_four_columns() -> None:
    lines = listing().splitlines()

    assert [line.split("\t")[0] for line in lines] == list(FAULTS)
    assert all(line.count("\t") == 3 for line in lines)
    assert set(SHOWS) <= set(FAULTS)
    assert "gpu-missing\tread\tgpu.count\tnvidia-smi lists seven of eight GPUs" in lines
