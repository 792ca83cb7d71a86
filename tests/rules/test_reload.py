"""Disk against manager, by the states that a real systemd 252 was seen in."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from pytest_dflash.facts.reading import Silent, Value
from pytest_dflash.facts.systemd import DiskFile, UnitFiles
from pytest_dflash.findings import Outcome
from pytest_dflash.rules.reload import reloaded
from tests.rules.healthy_host import ARGV, PATH, drop_in, files, loaded, unit

OTHER = "/opt/engine --draft-window 16 --port 30000"
OTHER_ARGV = tuple(OTHER.split())
MEMORY = drop_in("10-e1.conf", "Environment=A=1")
MEMORY_PATH = MEMORY.path

STATES: dict[str, tuple[dict[str, Any], dict[str, Any], Any, str]] = {
    # state: unit, files, loaded, what the summary must hold ("": healthy)
    "a healthy": ({}, {}, loaded(), ""),
    "c edited": (
        {"need_daemon_reload": True},
        {"command": OTHER},
        loaded(),
        "only on disk: 16; only loaded: 32",
    ),
    "c2 touched": ({"need_daemon_reload": True}, {}, loaded(), ""),
    "c3 put back with an old date": ({}, {}, loaded(OTHER_ARGV), "only on disk: 32; only loaded: 16"),
    "c4 put back and reloaded": ({}, {}, loaded(), ""),
    "d reloaded, not restarted": ({}, {"command": OTHER}, loaded(OTHER_ARGV), ""),
    "e0 an empty drop-in folder": ({}, {}, loaded(), ""),
    "e1 a new drop-in folder": (
        {},
        {"drop_ins": (MEMORY,)},
        loaded(),
        f"{MEMORY_PATH} is on disk and not loaded",
    ),
    "e2 drop-in reloaded": (
        {"drop_in_paths": (MEMORY_PATH,)},
        {"drop_ins": (MEMORY,)},
        loaded(environment={"A": "1"}),
        "",
    ),
    "e3 a second file in a loaded folder": (
        {"drop_in_paths": (MEMORY_PATH,), "need_daemon_reload": True},
        {"drop_ins": (MEMORY, drop_in("20-e3.conf", "Environment=B=2"))},
        loaded(environment={"A": "1"}),
        "20-e3.conf is on disk and not loaded",
    ),
    "e4 a loaded drop-in edited": (
        {"drop_in_paths": (MEMORY_PATH,), "need_daemon_reload": True},
        {"drop_ins": (drop_in("10-e1.conf", "Environment=A=2"),)},
        loaded(environment={"A": "1"}),
        "Environment A: on disk '2', loaded '1'",
    ),
    "e5 a loaded drop-in removed": (
        {"drop_in_paths": (MEMORY_PATH,), "need_daemon_reload": True},
        {},
        loaded(environment={"A": "1"}),
        "is loaded, and on disk it is gone or hidden",
    ),
    "e6 a new drop-in in /run": (
        {},
        {"drop_ins": (drop_in("50-run.conf", "MemoryMax=1G", folder="/run/systemd/system/llm.service.d"),)},
        loaded(),
        "/run/systemd/system/llm.service.d/50-run.conf is on disk and not loaded",
    ),
    "f1 a drop-in replaces ExecStart, loaded": (
        {"drop_in_paths": (f"{PATH}.d/50-exec.conf",)},
        {"drop_ins": (drop_in("50-exec.conf", "ExecStart=", f"ExecStart={OTHER}"),)},
        loaded(OTHER_ARGV),
        "",
    ),
    "f2 a drop-in empties ExecStart, loaded": (
        {
            "drop_in_paths": (f"{PATH}.d/50-exec.conf",),
            "load_state": "bad-setting",
            "need_daemon_reload": True,
        },
        {"drop_ins": (drop_in("50-exec.conf", "ExecStart="),)},
        replace(loaded(), value=replace(loaded().value, exec_start=())),
        "",
    ),
    "f3 a drop-in adds a second ExecStart, loaded": (
        {
            "drop_in_paths": (f"{PATH}.d/50-exec.conf",),
            "load_state": "bad-setting",
            "need_daemon_reload": True,
        },
        {"drop_ins": (drop_in("50-exec.conf", "ExecStart=/bin/true"),)},
        loaded(ARGV, ("/bin/true",)),
        "",
    ),
}


@pytest.mark.parametrize("state", STATES)
def test_a_state_seen_on_a_real_manager_is_judged(state: str) -> None:
    of_unit, on_disk, held, said = STATES[state]
    judgement = reloaded(unit(**of_unit), files(**on_disk), held)
    assert (judgement.outcome is Outcome.FAIL) is bool(said), judgement.summary
    assert said in judgement.summary
    if said:
        assert judgement.between == ("unit_file", "loaded_unit")
        assert judgement.remedy
    else:
        assert judgement.outcome is Outcome.PASS


ODD: dict[str, tuple[dict[str, Any], dict[str, Any], Any]] = {
    "a variable in the command": (
        {},
        {"command": "/opt/engine $ARGS ${MODEL}"},
        loaded(("/opt/engine", "$ARGS", "${MODEL}")),
    ),
    "prefixes of the command": ({}, {"command": "-!/opt/engine --x"}, loaded(("/opt/engine", "--x"))),
    "another argv[0]": ({}, {"command": "@/opt/engine llm --x"}, loaded(("llm", "--x"))),
    "doubled slashes": ({}, {"command": "/opt//engine --x"}, loaded(("/opt/engine", "--x"))),
    "several commands of a oneshot": (
        {},
        {"command": "/bin/one\nExecStart=/bin/two"},
        loaded(("/bin/one",), ("/bin/two",)),
    ),
    "a specifier of the host in the command": (
        {},
        {"command": "/opt/engine %q"},
        loaded(("/opt/engine", "box")),
    ),
    "an optional environment file": (
        {},
        {"command": "/opt/engine\nEnvironmentFile=-/etc/llm.env"},
        loaded(("/opt/engine",), environment_files=("/etc/llm.env",)),
    ),
    "an environment file by a specifier": (
        {},
        {"command": "/opt/engine\nEnvironmentFile=/etc/%q.env"},
        loaded(("/opt/engine",), environment_files=("/etc/box.env",)),
    ),
    "a variable by a specifier": (
        {},
        {"command": "/opt/engine\nEnvironment=A=%q"},
        loaded(("/opt/engine",), environment={"A": "box"}),
    ),
    "a masked drop-in that is listed": (
        {"drop_in_paths": ("/etc/systemd/system/llm.service.d/10-a.conf",)},
        {"masked": ("/etc/systemd/system/llm.service.d/10-a.conf",)},
        loaded(),
    ),
    "a drop-in for all services, by the other name of /lib": (
        {"drop_in_paths": ("/usr/lib/systemd/system/service.d/10-timeout-abort.conf",)},
        {
            "drop_ins": (
                drop_in(
                    "10-timeout-abort.conf",
                    "TimeoutStopFailureMode=abort",
                    folder="/lib/systemd/system/service.d",
                ),
            )
        },
        loaded(),
    ),
    "an unreadable environment file": (
        {},
        {"command": "/opt/engine\nEnvironmentFile=/etc/llm.env", "unreadable": ("/etc/llm.env",)},
        loaded(("/opt/engine",), environment_files=("/etc/llm.env",)),
    ),
    "plain settings that agree": (
        {
            "properties": {
                "User": "llm",
                "LimitNOFILE": "1048576",
                "MemoryMax": "1073741824",
                "Restart": "always",
            }
        },
        {"command": "/opt/engine\nUser=llm\nLimitNOFILE=65536:1M\nMemoryMax=1G\nRestart=always"},
        loaded(("/opt/engine",)),
    ),
    "settings that cannot be compared": (
        {"properties": {"MemoryMax": "1000", "Restart": "no", "WorkingDirectory": "/root"}},
        {"command": "/opt/engine\nMemoryMax=50%%\nRestart=allways\nWorkingDirectory=~"},
        loaded(("/opt/engine",)),
    ),
}


@pytest.mark.parametrize("name", ODD)
def test_an_odd_unit_is_not_accused(name: str) -> None:
    of_unit, on_disk, held = ODD[name]
    judgement = reloaded(unit(**of_unit), files(**on_disk), held)
    assert judgement.outcome is Outcome.PASS, judgement.summary


def test_a_touched_file_is_told_and_not_accused() -> None:
    judgement = reloaded(unit(need_daemon_reload=True), files(), loaded())
    assert judgement.outcome is Outcome.PASS
    assert judgement.summary == (
        "the manager holds what is on disk (NeedDaemonReload=yes, yet commands, environment and plain settings agree: "
        "a file was only touched, or a setting was changed that is not compared)"
    )


@pytest.mark.parametrize(
    "line, held, said",
    [
        ("User=llm", {"User": "root"}, f"User ({PATH}:2): on disk llm, loaded root"),
        ("LimitMEMLOCK=infinity", {"LimitMEMLOCK": "8388608"}, "on disk infinity, loaded 8388608"),
        ("MemoryMax=2G", {"MemoryMax": "1073741824"}, "on disk 2147483648, loaded 1073741824"),
        ("Restart=always", {"Restart": "no"}, "on disk always, loaded no"),
    ],
)
def test_an_edited_plain_setting_is_noticed(line: str, held: dict[str, str], said: str) -> None:
    judgement = reloaded(unit(properties=held), files(line), loaded())
    assert judgement.outcome is Outcome.FAIL
    assert said in judgement.summary


def test_a_transient_unit_has_nothing_to_compare() -> None:
    judgement = reloaded(unit(properties={"Transient": "yes"}), files(command="/x"), loaded())
    assert judgement.outcome is Outcome.NOT_APPLICABLE


def test_a_generated_unit_whose_source_was_written_is_unproven() -> None:
    source = {"SourcePath": "/etc/containers/systemd/llm.container"}
    assert reloaded(unit(properties=source), files(), loaded()).outcome is Outcome.PASS
    judgement = reloaded(unit(properties=source, need_daemon_reload=True), files(), loaded())
    assert judgement.outcome is Outcome.UNPROVEN
    assert "/etc/containers/systemd/llm.container, which was written since" in judgement.summary
    assert judgement.remedy == "`systemctl daemon-reload` runs the generator; then run this again"


def test_a_drop_in_that_cannot_be_read_leaves_it_open() -> None:
    judgement = reloaded(unit(), files(unreadable=(f"{PATH}.d/secret.conf",)), loaded())
    assert judgement.outcome is Outcome.UNPROVEN
    assert "it could not be read, and it may change every setting" in judgement.summary


@pytest.mark.parametrize("silent", ["unit", "files", "command"])
def test_silence_is_unproven(silent: str) -> None:
    readings: dict[str, Any] = {"unit": unit(), "files": files(), "command": loaded()}
    judgement = reloaded(**{**readings, silent: Silent("`busctl` is not there")})
    assert judgement.outcome is Outcome.UNPROVEN
    assert judgement.summary.endswith("`busctl` is not there")


def test_a_unit_without_a_file_differs_from_a_loaded_command() -> None:
    nothing = Value(UnitFiles(None))
    assert reloaded(unit(), nothing, loaded()).summary.endswith("ExecStart: 0 on disk, 1 loaded")


def test_the_same_words_in_another_order_differ() -> None:
    swapped = UnitFiles(DiskFile(PATH, "[Service]\nExecStart=/opt/engine --port 30000 --draft-window 32\n"))
    judgement = reloaded(unit(), Value(swapped), loaded())
    assert judgement.summary.endswith("the same words in another order or number")
