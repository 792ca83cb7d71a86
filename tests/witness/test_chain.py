"""The six readings of a setting."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pytest_dflash.facts.journal import Journal
from pytest_dflash.facts.reading import Absent, Reading, Silent, Value
from pytest_dflash.facts.systemd import DiskFile, LoadedCommand, UnitFiles
from pytest_dflash.findings import Json
from pytest_dflash.witness.chain import WITNESSES, Chain
from tests.witness.small_engine import BEFORE, PATH, WINDOW, chain_of, healthy, log, process, unit_text


def readings(chain: Chain, setting: str = WINDOW) -> dict[str, Reading[Json]]:
    return {each.witness: each.reading for each in chain.readings(setting)}


def why(reading: Reading[Json]) -> str:
    """Why a reading is silent; "" when it is not."""
    return reading.why if isinstance(reading, Silent) else ""


def test_the_witnesses_stand_in_order_of_propagation() -> None:
    assert tuple(readings(chain_of(healthy()))) == WITNESSES


def test_only_the_witnesses_that_carry_a_setting_are_asked() -> None:
    assert tuple(readings(chain_of(healthy()), "model")) == WITNESSES[:5]


def test_every_reading_names_a_place_to_look_at() -> None:
    places = {name: reading.where for name, reading in readings(chain_of(healthy())).items()}
    assert places == {
        "unit_file": f"{PATH}:4",
        "loaded_unit": "systemctl show",
        "process_argv": "pid 4121",
        "server_args_log": "journal, invocation 3f2c…: +11.4 s",
        "server_info": "GET /info",
        "draft_runner_log": "journal, invocation 3f2c…: +11.4 s",
    }


def test_a_continued_command_names_the_line_on_which_the_flag_stands() -> None:
    chain = chain_of(healthy(), unit_files=Value(unit_text(f"/opt/engine --model /m \\\n  --{WINDOW} 2048")))
    assert readings(chain)["unit_file"] == Value("2048", f"{PATH}:5")


def test_an_older_spelling_is_told() -> None:
    chain = chain_of(healthy(), process=Value(process("/opt/engine", "--old-draft-window", "2048")))
    assert readings(chain)["process_argv"] == Value("2048", "pid 4121, as old-draft-window")


def test_a_flag_inside_a_shell_command_is_found_with_its_line() -> None:
    chain = chain_of(
        healthy(), unit_files=Value(unit_text(f'/bin/bash -lc "exec /opt/engine --{WINDOW} 2048"'))
    )
    assert readings(chain)["unit_file"] == Value("2048", f"{PATH}:4")


def test_a_drop_in_wins_and_is_named() -> None:
    files = UnitFiles(
        unit_text("/opt/engine").fragment,
        (
            DiskFile(
                "/run/systemd/system/engine.service.d/z.conf",
                f"[Service]\nExecStart=\nExecStart=/opt/engine --{WINDOW} 7\n",
            ),
        ),
    )
    found = readings(chain_of(healthy(), unit_files=Value(files)))["unit_file"]
    assert found == Value("7", "/run/systemd/system/engine.service.d/z.conf:3")


def test_a_variable_in_the_command_is_put_in() -> None:
    files = unit_text(f"/opt/engine --{WINDOW} ${{W}}", "Environment=W=2048")
    loaded = LoadedCommand((("/opt/engine", f"--{WINDOW}", "${W}"),), {"W": "2048"}, ())
    found = readings(chain_of(healthy(), unit_files=Value(files), loaded=Value(loaded)))
    assert isinstance(found["unit_file"], Value)
    assert isinstance(found["loaded_unit"], Value)
    assert (found["unit_file"].value, found["loaded_unit"].value) == ("2048", "2048")


def test_a_variable_from_an_unreadable_file_is_silent_and_never_empty() -> None:
    files = unit_text(f"/opt/engine --{WINDOW} ${{W}}", "EnvironmentFile=/etc/engine.env")
    chain = chain_of(healthy(), unit_files=Value(replace(files, unreadable=("/etc/engine.env",))))
    found = readings(chain)["unit_file"]
    assert isinstance(found, Silent)
    assert found.why == "its command uses a variable: /etc/engine.env could not be read and may set W"


def test_a_wrapper_script_hides_the_command_line_and_is_silent() -> None:
    loaded = LoadedCommand((("/opt/start.sh",),), {}, ())
    found = readings(chain_of(healthy(), unit_files=Value(unit_text("/opt/start.sh")), loaded=Value(loaded)))
    for name in ("unit_file", "loaded_unit"):
        assert "/opt/start.sh" in why(found[name])


def test_a_unit_without_any_command_has_no_flags() -> None:
    found = readings(chain_of(healthy(), loaded=Value(LoadedCommand((), {}, ()))))
    assert found["loaded_unit"] == Absent("systemctl show")


def test_an_unreadable_drop_in_leaves_the_disk_silent() -> None:
    files = replace(unit_text("/opt/engine"), unreadable=("/etc/systemd/system/engine.service.d/a.conf",))
    found = readings(chain_of(healthy(), unit_files=Value(files)))["unit_file"]
    assert isinstance(found, Silent)
    assert "a.conf could not be read and may change the unit" in found.why


def test_a_config_file_that_was_not_read_makes_a_missing_flag_silent_and_not_absent() -> None:
    chain = chain_of(healthy(), process=Value(process("/opt/engine", "--config", "/etc/e.yaml")))
    assert isinstance(readings(chain)["process_argv"], Silent)


def test_a_log_without_the_line_is_silent_and_not_absent() -> None:
    found = readings(chain_of(healthy(), journal=Value(log("ready"))))
    for name in ("server_args_log", "draft_runner_log"):
        assert "in the log of this invocation" in why(found[name])


def test_lines_of_another_invocation_are_not_heard() -> None:
    journal = Value(log(f'args {{"{WINDOW}": null}}', invocation=BEFORE))
    found = readings(chain_of(healthy(), journal=journal))["server_args_log"]
    assert isinstance(found, Silent)
    assert "speak of another process" in found.why


@pytest.mark.parametrize("name", ["unit_files", "loaded", "process", "journal", "info"])
@pytest.mark.parametrize("reading", [Silent("no permission"), Absent()])
def test_a_source_that_is_not_there_is_silent_with_a_reason(name: str, reading: Silent | Absent) -> None:
    found = [
        each
        for each in chain_of(healthy(), **{name: reading}).readings(WINDOW)
        if isinstance(each.reading, Silent)
    ]
    assert found
    assert all(isinstance(each.reading, Silent) and each.reading.why for each in found)


def test_settings_are_those_that_any_witness_names() -> None:
    chain = chain_of(healthy(), info=Value({"only-here": 1}))
    assert chain.settings() == {"model", WINDOW, "only-here"}


def variable(name: str, **changes: object) -> dict[str, Reading[Json]]:
    return {each.witness: each.reading for each in chain_of(healthy(), **changes).environment(name)}


def test_an_environment_file_overrides_environment() -> None:
    files = replace(
        unit_text("/opt/engine", "Environment=LEVEL=PHB", "EnvironmentFile=-/etc/engine.env"),
        environment_files=(DiskFile("/etc/engine.env", "LEVEL=SYS\n"),),
    )
    loaded = LoadedCommand((("/opt/engine",),), {"LEVEL": "PHB"}, ("/etc/engine.env",))
    found = variable("LEVEL", unit_files=Value(files), loaded=Value(loaded))
    assert found["unit_file"] == Value("SYS", "/etc/engine.env")
    assert found["loaded_unit"] == Value("SYS", "/etc/engine.env, as on disk")


def test_a_later_environment_file_wins_whatever_the_order_in_which_they_were_read() -> None:
    files = replace(
        unit_text("/opt/engine", "EnvironmentFile=/etc/z.env", "EnvironmentFile=/etc/a.env"),
        environment_files=(DiskFile("/etc/a.env", "LEVEL=a"), DiskFile("/etc/z.env", "LEVEL=z")),
    )
    assert variable("LEVEL", unit_files=Value(files))["unit_file"] == Value("a", "/etc/a.env")


def test_a_file_that_no_longer_belongs_to_the_unit_sets_nothing() -> None:
    files = replace(unit_text("/opt/engine"), environment_files=(DiskFile("/etc/old.env", "LEVEL=SYS"),))
    assert isinstance(variable("LEVEL", unit_files=Value(files))["unit_file"], Absent)


def test_an_unreadable_environment_file_leaves_a_variable_open() -> None:
    files = replace(
        unit_text("/opt/engine", "Environment=LEVEL=PHB", "EnvironmentFile=/etc/engine.env"),
        unreadable=("/etc/engine.env",),
    )
    found = variable("LEVEL", unit_files=Value(files))["unit_file"]
    assert isinstance(found, Silent)
    assert found.why == "/etc/engine.env could not be read and may set LEVEL"


def test_the_environment_of_the_process_decides_and_may_be_unreadable() -> None:
    known = process("/opt/engine", environ=Value({"LEVEL": "SYS"}))
    assert variable("LEVEL", process=Value(known))["process_argv"] == Value("SYS", "pid 4121")
    assert variable("OTHER", process=Value(known))["process_argv"] == Absent("pid 4121")
    hidden = process("/opt/engine", environ=Silent("Permission denied"))
    assert variable("LEVEL", process=Value(hidden))["process_argv"] == Silent("Permission denied")


@pytest.mark.parametrize(
    "journal, gap, silent",
    [
        (log("ready"), None, None),
        (
            log("ready", reaches_start=False),
            "the journal does not reach back to the start",
            "server_args_log",
        ),
        (log("ready", invocation=BEFORE), "its lines are of invocation aaaa1111…", "server_args_log"),
        (log("loading"), "the start-up of this invocation is not over", "ready_line"),
        (
            replace(log("ready"), whole=False, gap="journald suppressed 31 messages"),
            "journald suppressed 31 messages, and its start-up lines are among them",
            "server_args_log",
        ),
        (replace(log("args {}", "ready"), whole=False, gap="the middle was left out"), None, None),
    ],
)
def test_a_start_is_whole_when_the_log_reaches_from_its_first_line_to_the_ready_line(
    journal: Journal, gap: str | None, silent: str | None
) -> None:
    found = chain_of(healthy(), journal=Value(journal)).gap_in_start()
    if gap is None:
        assert found is None
    else:
        assert found is not None
        assert found.why.startswith(gap)
        assert found.where == silent


def test_a_specifier_that_only_the_host_resolves_is_no_drift() -> None:
    chain = chain_of(healthy(), unit_files=Value(unit_text(f"/opt/engine --model /%b/m --{WINDOW} 2048")))
    assert why(readings(chain, "model")["unit_file"]) == "%b is resolved by the host only"
    assert readings(chain)["unit_file"] == Value("2048", f"{PATH}:4")


def test_a_variable_with_such_a_specifier_is_silent() -> None:
    files = unit_text("/opt/engine", "Environment=CACHE=/%b/cache LEVEL=SYS")
    assert why(variable("CACHE", unit_files=Value(files))["unit_file"]).startswith("CACHE has a specifier")
    assert variable("LEVEL", unit_files=Value(files))["unit_file"] == Value("SYS", f"{PATH}:4")


def test_a_missing_optional_environment_file_sets_nothing_and_hides_nothing() -> None:
    files = replace(
        unit_text("/opt/engine", "Environment=LEVEL=SYS", "EnvironmentFile=-/etc/default/engine"),
        missing=("/etc/default/engine",),
    )
    assert variable("LEVEL", unit_files=Value(files))["unit_file"] == Value("SYS", f"{PATH}:4")


def test_the_log_of_a_process_that_has_ended_says_nothing_of_now_but_its_warnings_are_heard() -> None:
    chain = chain_of(healthy(), process=Absent("the unit's cgroup"))
    heard = readings(chain)
    for witness in ("server_args_log", "draft_runner_log"):
        assert why(heard[witness]) == "the process that wrote the log has ended: its lines say nothing of now"
    assert isinstance(heard["unit_file"], Value)
    assert isinstance(chain.warnings(), Value)
