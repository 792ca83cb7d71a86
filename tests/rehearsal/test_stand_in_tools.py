from __future__ import annotations

import json

import pytest

from pytest_dflash.rehearsal.host import StandInHost
from pytest_dflash.rehearsal.tools import UNKNOWN
from pytest_dflash.rehearsal.tools.busctl import object_path

BUS = ("org.freedesktop.systemd1", "/org/freedesktop/systemd1/unit/sglang_2dk26_2dddtree_2eservice")


@pytest.mark.parametrize(
    "tool, argv",
    [
        ("systemctl", ["frobnicate"]),
        ("systemctl", ["show", "--output=json", "x"]),
        ("systemctl", []),
        ("busctl", ["tree"]),
        ("busctl", ["--json=short", "get-property", *BUS, "org.freedesktop.systemd1.Service", "Nice"]),
        ("journalctl", ["--since", "6 min ago"]),
        ("journalctl", ["-o", "export"]),
        ("journalctl", ["-I"]),
        ("nvidia-smi", ["-q"]),
        ("nvidia-smi", ["--query-gpu=name", "--format=csv"]),
        ("nvcc", ["--help"]),
        ("ss", ["-tulpn"]),
        ("df", ["-h", "/"]),
        ("systemd-detect-virt", ["--vm"]),
    ],
)
def test_what_was_never_recorded_is_refused_loudly(healthy: StandInHost, tool: str, argv: list[str]) -> None:
    status, stdout, stderr = healthy.ask(tool, *argv)

    assert (status, stdout) == (UNKNOWN, "")
    assert stderr.startswith(f"stand-in {tool}: unknown ")


def show(host: StandInHost, *names: str) -> dict[str, str]:
    text = host.tool("systemctl", "show", "--no-pager", "-p", ",".join(names), "--", host.unit)
    return dict(line.split("=", 1) for line in text.splitlines())


def test_show_tells_of_the_running_unit(healthy: StandInHost) -> None:
    said = show(
        healthy, "LoadState", "ActiveState", "SubState", "Result", "NRestarts", "DropInPaths", "NeedDaemonReload",
        "ControlGroup", "FragmentPath", "ExecMainStartTimestampMonotonic", "ExecMainExitTimestampMonotonic",
    )  # fmt: skip

    assert int(said.pop("ExecMainStartTimestampMonotonic")) > 0
    assert said == {
        "LoadState": "loaded",
        "ActiveState": "active",
        "SubState": "running",
        "Result": "success",
        "NRestarts": "0",
        "DropInPaths": "",
        "NeedDaemonReload": "no",
        "ControlGroup": f"/system.slice/{healthy.unit}",
        "FragmentPath": str(healthy.unit_file),
        "ExecMainExitTimestampMonotonic": "0",
    }


def test_show_without_names_leaves_empty_properties_out(healthy: StandInHost) -> None:
    text = healthy.tool("systemctl", "show", healthy.unit)

    assert "DropInPaths" not in text
    assert len(text.splitlines()) > 150


def test_a_unit_that_is_not_there(healthy: StandInHost) -> None:
    assert "LoadState=not-found" in healthy.tool("systemctl", "show", "-p", "LoadState", "other.service")
    assert healthy.ask("systemctl", "is-active", "other.service")[:2] == (3, "inactive\n")
    assert healthy.ask("systemctl", "cat", "other.service")[0] == 1


def test_busctl_tells_argv_exactly(healthy: StandInHost) -> None:
    interface = "org.freedesktop.systemd1.Service"
    text = healthy.tool(
        "busctl",
        "--json=short",
        "get-property",
        *BUS,
        interface,
        "ExecStart",
        "Environment",
        "EnvironmentFiles",
    )
    command, environment, files = (json.loads(line) for line in text.splitlines())

    assert [command["type"], environment["type"], files["type"]] == ["a(sasbttttuii)", "as", "a(sb)"]
    argv = command["data"][0][1]
    assert argv[1:3] == ["-m", "sglang.launch_server"]
    assert argv[argv.index("--model-path") + 1] == str(healthy.root / "srv/models/Kimi-K2.6")
    assert environment["data"] == [f"CUDA_HOME={healthy.root}/usr/local/cuda"]
    assert files["data"] == [[str(healthy.root / "etc/sglang/k26.env"), False]]


def test_object_paths_escape_what_is_no_letter_or_digit() -> None:
    assert object_path("sglang-k26-ddtree.service") == BUS[1]
    assert object_path("0é.service") == "/org/freedesktop/systemd1/unit/_30_c3_a9_2eservice"


def entries(host: StandInHost, *argv: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in host.tool("journalctl", "-o", "json", *argv).splitlines()]


def test_without_all_a_long_message_is_null(healthy: StandInHost) -> None:
    invocation = healthy.tool("systemctl", "show", "-p", "InvocationID", "--value", healthy.unit).strip()
    match = f"_SYSTEMD_INVOCATION_ID={invocation}"

    short = [entry["MESSAGE"] for entry in entries(healthy, match)]
    whole = [entry["MESSAGE"] for entry in entries(healthy, "-a", match)]

    assert short.count(None) == 1
    (arguments,) = [message for message in whole if isinstance(message, str) and "server_args={" in message]
    assert len(arguments) > 15_000


def test_a_progress_bar_comes_as_a_list_of_bytes(healthy: StandInHost) -> None:
    lists = [entry["MESSAGE"] for entry in entries(healthy, "-a") if isinstance(entry["MESSAGE"], list)]

    assert lists
    assert all(bytes(message).startswith(b"Multi-thread loading shards") for message in lists)


def test_the_managers_lines_are_found_by_invocation_id_only(healthy: StandInHost) -> None:
    invocation = healthy.tool("systemctl", "show", "-p", "InvocationID", "--value", healthy.unit).strip()

    own = entries(healthy, f"_SYSTEMD_INVOCATION_ID={invocation}")
    both = entries(healthy, f"_SYSTEMD_INVOCATION_ID={invocation}", "+", f"INVOCATION_ID={invocation}")

    assert all(entry["_PID"] != "1" for entry in own)
    assert [entry["MESSAGE"] for entry in both if entry["_PID"] == "1"] == [
        f"Started {healthy.unit} - SGLang server with DFlash speculative decoding."
    ]


def test_output_fields_keeps_the_addresses_of_an_entry(healthy: StandInHost) -> None:
    (entry,) = entries(healthy, "-n", "1", "--output-fields=PRIORITY", "_PID=1")

    assert set(entry) == {"PRIORITY", "__CURSOR", "__REALTIME_TIMESTAMP", "__MONOTONIC_TIMESTAMP", "_BOOT_ID"}


def test_the_kernels_lines_are_of_this_boot(healthy: StandInHost) -> None:
    boots = {entry["_BOOT_ID"] for entry in entries(healthy, "-k", "-b")}

    assert len(boots) == 1
    assert boots < {entry["_BOOT_ID"] for entry in entries(healthy)}


def test_nvidia_smi_answers_by_position(healthy: StandInHost) -> None:
    text = healthy.tool(
        "nvidia-smi", "--query-gpu=index,name,pcie.link.gen.max", "--format=csv,noheader,nounits"
    )

    assert text.splitlines()[7] == "7, NVIDIA RTX PRO 6000 Blackwell Server Edition, 5"


def test_nvidia_smi_names_a_field_that_it_does_not_know(healthy: StandInHost) -> None:
    status, stdout, _ = healthy.ask("nvidia-smi", "--query-gpu=index,colour", "--format=csv,noheader,nounits")

    assert (status, stdout.strip()) == (2, 'Field "colour" is not a valid field to query.')


def test_one_scheduler_of_the_unit_computes_on_each_gpu(healthy: StandInHost) -> None:
    text = healthy.tool(
        "nvidia-smi", "--query-compute-apps=pid,process_name", "--format=csv,noheader,nounits"
    )
    rows = [line.split(", ") for line in text.splitlines()]
    group = healthy.root / "sys/fs/cgroup/system.slice" / healthy.unit / "cgroup.procs"

    assert [title for _, title in rows] == [f"sglang::scheduler_TP{rank}" for rank in range(8)]
    assert {pid for pid, _ in rows} < set(group.read_text("ascii").split())


def test_ss_shows_the_units_port_with_its_owner(healthy: StandInHost) -> None:
    pid = healthy.tool("systemctl", "show", "-p", "MainPID", "--value", healthy.unit).strip()
    lines = healthy.tool("ss", "-ltnpH").splitlines()

    (mine,) = [line for line in lines if f"127.0.0.1:{healthy.port} " in line]
    assert mine.startswith("LISTEN ")
    assert f'users:(("python",pid={pid},fd=' in mine
    assert [line for line in lines if line is not mine] == [line for line in lines if '"sshd"' in line]


def test_df_is_of_a_roomy_host(healthy: StandInHost) -> None:
    space = healthy.tool("df", "-P", "-k", "/dev/shm").splitlines()[1].split()
    inodes = healthy.tool("df", "-P", "-i", "/").splitlines()[1].split()

    assert (space[0], space[4], space[5]) == ("tmpfs", "1%", "/dev/shm")
    assert int(inodes[3]) > 1_000_000
